"""A repository as a run will meet it: its label, policy, branches, and what its rules would refuse.

It is read with a token that reads alone, for this one repository; the token is revoked at once.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from app.core.bounds import read_policy
from app.core.branches import branch_name
from app.core.policy import POLICY_PATH, Policy
from app.doctor.finding import Check, Found, Scene, fault, unseen, well, worth_knowing
from app.settings import api_url, bounds_settings, web_address
from worker.doctor.app import lacking
from worker.github.app import AppIdentity, InstallationView
from worker.github.asking import InstallationToken
from worker.github.connection import connect
from worker.github.errors import Forbidden, GitHubError, NotFound
from worker.github.rules import Offer, asks_for_signatures, unmet
from worker.github.standing import RepositoryStanding
from worker.github.views import RepositoryRef, RepositoryView
from worker.settings import mint_settings

READS = {"metadata": "read", "contents": "read", "issues": "read"}
_BRANCH = branch_name(0, "r-doctor", "0" * 64)
_MESSAGES = ("Say hello, and not helo", "fix: say hello, and not helo")
"""What a commit of ours says, plainly and by the conventional form: one of them has to pass."""


@dataclass(frozen=True, slots=True)
class _Look:
    """One repository being looked at. `word` is the label's, as this installation has it."""

    name: str
    here: RepositoryStanding
    view: RepositoryView
    word: str
    scene: Scene

    @property
    def page(self) -> str:
        return f"{web_address(api_url(self.scene.env))}/{self.name}"


def repository_check(full_name: str, word: str) -> Check:
    """All that can be known of one repository; `word` is the trigger label."""
    return Check(f"repository {full_name}", "mint", _look(full_name, word), ("app",))


def _look(full_name: str, word: str) -> Callable[[Scene], Iterator[Found]]:
    def look(scene: Scene) -> Iterator[Found]:
        settings = mint_settings({**scene.env, "COUNTERSIGN_MINT_LINES_FD": "3"})
        key = scene.left["key"]
        assert isinstance(key, str)
        with AppIdentity(api_url(scene.env), settings.app_id, key) as identity:
            try:
                installation = identity.installation(full_name)
            except NotFound:
                what = f"The App is not installed on {full_name}, or there is no such repository."
                do = f"Open {web_address(api_url(scene.env))}/apps and install the App there (an owner may)."
                yield fault(what, "GitHub tells us nothing of it, and shows us nothing.", do)
                return
            refusal = _closed(installation)
            if refusal is not None:
                yield refusal
                return
            yield from _read(identity, installation, full_name, (word, scene))

    return look


def _closed(installation: InstallationView) -> Found | None:
    page = installation.html_url or "the installation's page"
    if installation.suspended_at is not None:
        why = "GitHub sends no deliveries from there and cuts no token."
        return fault("The installation is suspended.", why, f"Open {page} and choose \"Unsuspend\".")
    missing = [name for name in lacking(installation.permissions) if name in READS]
    if missing:
        why = f"the installation has not granted {', '.join(missing)}"
        return unseen(why, f"Open {page} and review its permissions.")
    return None


def _read(
    identity: AppIdentity, installation: InstallationView, full_name: str, told: tuple[str, Scene]
) -> Iterator[Found]:
    word, scene = told
    try:
        with ExitStack() as ending:
            token = identity.mint_named(installation.id, full_name.partition("/")[2], READS)
            ending.callback(identity.revoke, token)
            connection = ending.enter_context(connect(api_url(scene.env), InstallationToken(token.value)))
            here = RepositoryStanding(connection, RepositoryRef(token.repository_ids[0], full_name))
            view = here.repository()
            yield from _all_of(_Look(view.full_name, here, view, word, scene))
    except GitHubError as trouble:
        yield unseen(trouble.reason, trouble.remedy)


def _all_of(look: _Look) -> Iterator[Found]:
    view = look.view
    if view.archived or view.disabled:
        why = "Nobody can write there: no comment, no branch."
        state = "archived" if view.archived else "disabled"
        yield fault(f"{look.name} is {state}.", why, f"gh repo unarchive {look.name}")
        return
    if not view.has_issues:
        why = "A run begins with a label on an issue."
        yield fault(f"{look.name} has no issues.", why, f"gh repo edit {look.name} --enable-issues")
    yield from _label(look)
    yield from _policy(look)
    yield from _rules(look)
    if view.private:
        why = "Where the plan has none, the policy's `without_draft` decides: a plain pull request, or none."
        what = "It is private: GitHub's Free and Pro plans have no drafts there (fact 139), and the API does not tell."
        yield worth_knowing(what, why, f"Put `without_draft: open` into {POLICY_PATH} if the plan has none.")


def _label(look: _Look) -> Iterator[Found]:
    if look.here.has_label(look.word):
        yield well(f"It has the label `{look.word}`")
    else:
        why = "Setting it is how a run begins."
        yield fault(f"{look.name} has no label `{look.word}`.", why, f"gh label create {look.word} --repo {look.name}")


def _policy(look: _Look) -> Iterator[Found]:
    branch = look.view.default_branch
    if not look.here.has_branch(branch):
        why = "A plan is made from a commit of the default branch."
        yield fault(f"The default branch {branch or '(none)'} is not there.", why, f"Push a commit to {look.page}.")
        return
    content = look.here.file(POLICY_PATH, branch)
    if content is None:
        yield well(f"There is no {POLICY_PATH} on {branch}: the defaults hold")
    else:
        yield from _of_policy(content, look)
    if not look.here.has_folder(".github/workflows", branch):
        why = "GitHub itself then checks no draft; the box's checks are told in it."
        yield worth_knowing("It has no workflows of GitHub Actions.", why)


def _of_policy(content: bytes, look: _Look) -> Iterator[Found]:
    why = "While it has a fault nobody may set the label or approve here."
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        yield fault(f"{POLICY_PATH} is no UTF-8 text.", why, "Write it again as UTF-8.")
        return
    read = read_policy(text, bounds_settings(look.scene.env))
    if isinstance(read, Policy):
        yield well(f"{POLICY_PATH} on {look.view.default_branch} can be used")
        return
    for complaint in read:
        yield fault(f"{POLICY_PATH}: {complaint}", why, f"countersign policy check {POLICY_PATH}     (in a checkout)")


def _rules(look: _Look) -> Iterator[Found]:
    try:
        rules = look.here.rules(_BRANCH)
    except Forbidden as trouble:
        yield unseen(trouble.reason, trouble.remedy)
        return
    refusals = [unmet(rules, Offer(_BRANCH, (message,), {})) for message in _MESSAGES]
    why = "The work of an approved plan cannot be pushed, and the run ends without a draft."
    page = f"{look.page}/rules"
    if all(refusals):
        for sentence in dict.fromkeys(refusals[0]):
            do = f"Open {page} and let the App bypass that ruleset, or leave branches `countersign/**` out of it."
            yield fault(sentence, why, do)
    else:
        beside = " (with GitHub's signature, which the App's commits have)" if asks_for_signatures(rules) else ""
        yield well(f"No ruleset refuses a branch `countersign/…`{beside}; older branch protection is not told to Apps")
