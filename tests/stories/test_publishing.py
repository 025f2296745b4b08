"""Branch, commit and draft where GitHub is not as one would wish: taken names, no drafts, limits, moved branches."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from app.core.belts import Belt
from app.core.branches import branch_name
from app.core.digest import short
from app.core.run import Built, Closed, Proposed, Published
from app.core.template import HOME
from app.ledger.limits import LIMIT
from tests.fakes.greeting import FILES, GREET, PLAN, calls, planned, planning, script
from tests.fakes.household import Furnishing
from tests.fakes.story import REPO, Story

pytestmark = pytest.mark.needs_userns

Making = Callable[..., Story]
POLICY = ".github/countersign.yml"
SECONDARY = '{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}'


def our_branch(story: Story) -> str:
    state = story.state()
    assert isinstance(state, Proposed)
    return branch_name(1, state.request.run, state.proposal.digest)


# -- branches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", ["a branch", "a branch with an open pull request"])
def test_somebody_elses_branch_of_our_name_is_left_alone(story: Story, more: str) -> None:
    """Case GT-01."""
    story.mira.labels()
    story.plan_is_read()
    taken = our_branch(story)
    theirs = story.control.push_commit(REPO, taken, {"theirs.txt": "mine\n"}, as_login="max")
    if "open" in more:
        story.control.do("open_pull", repo=REPO, title="Mine", head=taken, into="main", as_login="max")
    story.mira.says("/approve")
    assert story.control.branches(REPO)[taken] == theirs
    assert story.draft()["head"]["ref"] == f"{taken}-2"
    story.ends(Published)


@pytest.mark.parametrize("touched", ["the lines of the plan", "another file"])
def test_a_base_branch_that_moves_after_the_plan_is_not_undone(story: Story, touched: str) -> None:
    """Case PL-02: the change is made on the commit that was approved, and GitHub shows what it would do to `main`."""
    story.mira.labels()
    story.plan_is_read()
    state = story.state()
    assert isinstance(state, Proposed)
    path, text = {
        "the lines of the plan": ("greet.sh", GREET.replace("helo", "good day")),
        "another file": ("README.md", "# greet, newly\n"),
    }[touched]
    if touched == "the lines of the plan":
        # Once something was made on the approved commit, what has changed since is for the review.
        story.away = {Belt.EXECUTOR}
        story.mira.says("/approve")
        story.away = {Belt.PUBLISHER}
        story.crank()
        story.control.push_commit(REPO, "main", {path: text}, as_login="max")
        story.away = set()
        story.crank()
    else:
        story.control.push_commit(REPO, "main", {path: text}, as_login="max")
        story.mira.says("/approve")
    pull = story.draft()
    commit = story.control.do("commit", repo=REPO, name=pull["head"]["ref"])
    assert [parent["sha"] for parent in commit["parents"]] == [state.proposal.base_commit]
    assert state.proposal.base_commit[:12] in pull["body"]
    assert pull["changed_files"] == 2
    assert "README" not in pull["diff"] and "good day" not in pull["diff"]
    story.ends(Published)


# -- rules --------------------------------------------------------------------------------------------------------


def ruled(story: Story, kind: str, **parameters: object) -> None:
    story.control.do("add_rule", repo=REPO, pattern="countersign/*", type=kind, parameters=parameters or None)


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("creation", {}, "Nobody may create the branch"),
        ("branch_name_pattern", {"operator": "starts_with", "pattern": "feature/"}, "must start with"),
        ("file_path_restriction", {"restricted_file_paths": ["*.sh"]}, "Nobody may push `greet.sh`"),
        ("commit_message_pattern", {"operator": "contains", "pattern": "JIRA-"}, "The commit's message must contain"),
    ],
)
def test_a_rule_that_refuses_the_branch_is_named_and_the_work_is_kept(
    story: Story, kind: str, parameters: dict[str, object], words: str
) -> None:
    """github-facts 125: GitHub says only that it failed."""
    ruled(story, kind, **parameters)
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    assert story.control.pulls(REPO) == [] and list(story.control.branches(REPO)) == ["main"]
    kept = "The change is kept: its patch and the output of its checks are on the run's page."
    story.ends(Closed, "Ended (failed)", words, "ruleset", "Let the App pass these rules", kept)


def test_a_rule_on_commit_messages_is_met_where_one_of_our_forms_meets_it(story: Story) -> None:
    ruled(story, "commit_message_pattern", operator="regex", pattern=r"^(fix|feat|docs): .+ \(#\d+\)")
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    commit = story.control.do("commit", repo=REPO, name=story.draft()["head"]["ref"])
    assert commit["commit"]["message"].startswith("fix: ")
    story.ends(Published)


def test_a_commit_that_github_does_not_sign_makes_no_branch_where_signatures_are_asked_for(story: Story) -> None:
    """github-facts 115, 116."""
    ruled(story, "required_signatures")
    story.control.change_repo(REPO, web_signing=False)
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    refs = [one for one in story.control.journal() if one["method"] == "POST" and one["path"].endswith("/git/refs")]
    assert refs == [] and list(story.control.branches(REPO)) == ["main"]
    story.ends(Closed, "must be signed", "unsigned", "web commit signing")


# -- no drafts ----------------------------------------------------------------------------------------------------


def test_without_drafts_an_ordinary_pull_request_says_that_nobody_reviewed_it(make_story: Making) -> None:
    """Case GH-01, policy `open`."""
    story = make_story(files=FILES | {POLICY: "without_draft: open\n"}, drafts=False, private=True)
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    pull = story.draft()
    assert pull["draft"] is False
    assert pull["title"].startswith("[not reviewed]") and "nobody has reviewed it" in pull["body"]
    assert tries(story) == 2
    story.ends(Published, "not a draft; please treat it as one")


def test_without_drafts_and_a_word_of_the_policy_the_work_stands_on_its_branch(make_story: Making) -> None:
    """Case GH-01, policy `stop`, which is what holds where the policy says nothing."""
    story = make_story(drafts=False, private=True)
    story.mira.labels()
    story.plan_is_read()
    branch = our_branch(story)
    story.mira.says("/approve")
    assert b"hello" in story.control.branch_files(REPO, branch)["greet.sh"]
    assert (tries(story), story.control.pulls(REPO)) == (1, [])
    link = f"/{REPO}/compare/{branch.replace('/', '%2F')}?expand=1"
    story.ends(Closed, "Ended (failed)", "The work stands on the branch", branch, link)


def test_where_no_pull_request_may_be_opened_the_branch_that_stands_is_linked(story: Story) -> None:
    story.control.fault("POST .*/pulls", status=403, body='{"message": "Resource not accessible by integration"}')
    story.mira.labels()
    story.plan_is_read()
    branch = our_branch(story)
    story.mira.says("/approve")
    assert b"hello" in story.control.branch_files(REPO, branch)["greet.sh"]
    link = f"/{REPO}/compare/{branch.replace('/', '%2F')}?expand=1"
    story.ends(Closed, "Ended (failed)", "Resource not accessible", link)


def test_a_branch_that_github_does_not_see_yet_is_waited_for(story: Story) -> None:
    """github-facts 140: right after a branch was made this passes by itself."""
    error = '{"resource": "PullRequest", "field": "head", "code": "invalid"}'
    unseen = f'{{"message": "Validation Failed", "errors": [{error}]}}'
    story.control.fault("POST .*/pulls", status=422, body=unseen, times=1)
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/approve")
    story.wait_out()
    assert (tries(story), len(story.control.pulls(REPO))) == (2, 1)
    story.ends(Published)


def tries(story: Story) -> int:
    return sum(one["method"] == "POST" and one["path"].endswith("/pulls") for one in story.control.journal())


# -- limits and texts ---------------------------------------------------------------------------------------------


def test_a_limit_met_while_posting_delays_the_plan_and_costs_no_second_planning(story: Story) -> None:
    """Case GH-02: a secondary limit without a time, for longer than a minute."""
    story.control.fault("POST .*/issues/1/comments", status=403, body=SECONDARY, times=4)
    story.mira.labels()
    asked = len(story.model.requests)
    paused = story.ledger.due_at(f"{LIMIT}{story.state().request.installation_id}")
    assert paused is not None and paused > story.now()
    story.wait_out()
    assert len(story.model.requests) == asked
    story.plan_is_read()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_a_plan_that_may_not_be_posted_is_not_posted_again_and_the_run_says_so(story: Story) -> None:
    """Case GH-02: a plain permission 403."""
    refusal = '{"message": "Resource not accessible by integration"}'
    story.away.add(Belt.PLANNER)
    story.mira.labels()
    story.away.clear()
    story.control.fault("POST .*/issues/1/comments", status=403, body=refusal)
    story.crank()
    posts = [one for one in story.control.journal() if one["method"] == "POST" and "/1/comments" in one["path"]]
    assert [one["status"] for one in posts] == [201, 403]
    story.ends(Closed, "The plan could not be posted")


LOG = [f"{n:05d} ☃ E   AssertionError: 'helo' is not 'hello' 😀 @mira fixes #1\n" for n in range(2_990)]


@pytest.fixture
def long_plans(tmp_path: Path) -> Furnishing:
    """The operator's own pack, which is the usual one and lets a plan have 300 steps, in one long reply."""
    pack = tmp_path / "packs" / "greeting" / "1.0.0"
    shutil.copytree(HOME / "bugfix" / "1.0.0", pack)
    sheet = (pack / "template.yaml").read_text().replace("name: bugfix", "name: greeting")
    more = {"steps: 20": "steps: 300", "reply_tokens: 16000": "reply_tokens: 100000", '"2.00"': '"10.00"'}
    for few, many in more.items():
        assert few in sheet
        sheet = sheet.replace(few, many)
    (pack / "template.yaml").write_text(sheet)
    return Furnishing(env={"COUNTERSIGN_TEMPLATES": str(tmp_path / "packs")})


def test_a_plan_that_is_too_long_for_one_comment_is_posted_in_parts(
    make_story: Making, long_plans: Furnishing
) -> None:
    """Case GH-03: 300 steps that hold a log of 200 kB, emoji and all; every part is accepted, and the first one can be
    approved."""
    assert sum(len(line.encode()) for line in LOG) > 200_000
    steps = [
        {"id": n, "kind": "change", "path": "greet.sh", "intent": f"```\n{''.join(LOG[10 * n - 10 : 10 * n])}```"}
        | {"done_when": "It is not said."}
        for n in range(1, 300)
    ]
    whole = planned(steps=[*steps, PLAN["steps"][1] | {"id": 300}])
    turns = planning(calls(("submit_plan", whole)))
    files = dict(FILES) | {".github/countersign.yml": "templates:\n  '': greeting\n"}
    story = make_story(script(turns), files=files, furnishing=long_plans)
    story.mira.labels()
    first = story.next_comment("### Plan, version 1", "/approve", "Continued in")
    parts = [first]
    while [one for one in story.unread() if "Countersign" not in one["body"]]:
        parts.append(story.next_comment())
    assert len(parts) > 3 and all(len(one["body"]) <= 65_536 for one in parts)
    posts = [one for one in story.control.journal() if one["method"] == "POST" and "/1/comments" in one["path"]]
    assert {one["status"] for one in posts} == {201}
    assert [one["body"].count("```") % 2 for one in parts] == [0] * len(parts)
    shown = "\n".join(one["body"] for one in parts)
    assert [n for n in range(1, 301) if f"**{n}. Change**" not in shown] == []
    assert [n for n in range(2_990) if f"{n:05d} ☃" not in shown] == []
    assert "**300. Change**" in parts[-1]["body"]
    state = story.state()
    assert isinstance(state, Proposed) and f"`/approve {short(state.proposal.digest)}`" in first["body"]
    story.away.add(Belt.EXECUTOR)
    story.mira.says(f"/approve {short(state.proposal.digest)}")
    assert "authority_found" in story.kinds() and story.state().name == "approved"
    story.mira.says("/cancel")
    story.away.clear()
    story.ends(Closed, "cancelled")


# -- tokens -------------------------------------------------------------------------------------------------------


def test_a_token_that_aged_out_is_replaced_once_and_the_work_goes_on(story: Story) -> None:
    """Case GH-04."""
    expired = '{"message": "Bad credentials"}'
    story.mira.labels()
    story.plan_is_read()
    story.control.fault("POST .*/git/trees", status=401, body=expired)
    story.mira.says("/approve")
    opened = [one for one in story.ledger.mints() if one.purpose == "open_draft"]
    assert len(opened) == 2
    story.draft()
    story.ends(Published)


def test_a_token_that_is_never_accepted_leads_to_one_new_one_at_a_time_and_then_to_words(story: Story) -> None:
    """Case GH-04: no loop."""
    story.mira.labels()
    story.plan_is_read()
    story.control.fault("POST .*/git/blobs", status=401, body='{"message": "Bad credentials"}', times=99)
    story.mira.says("/approve")
    story.wait_out()
    opened = [one for one in story.ledger.mints() if one.purpose == "open_draft"]
    assert 2 <= len(opened) <= 10
    assert story.control.pulls(REPO) == []
    story.ends(Closed, "Ended (failed)", "credential")


def built(story: Story) -> None:
    """The change is made, and who would open the draft is away."""
    story.mira.labels()
    story.plan_is_read()
    story.away = {Belt.EXECUTOR}
    story.mira.says("/approve")
    story.away = {Belt.PUBLISHER}
    story.crank()
    assert isinstance(story.state(), Built)


def test_work_that_outlasts_the_life_of_a_token_is_published_with_one_of_its_own(story: Story) -> None:
    """Case GH-04: no token is kept through the work, so none of it can age out."""
    built(story)
    before = len(story.control.tokens())
    story.pass_time(timedelta(hours=3))
    story.away = set()
    story.crank()
    fresh = story.control.tokens()[before:]
    assert [one["permissions"].get("contents") for one in fresh].count("write") == 1
    assert [one for one in story.control.journal() if one["status"] == 401] == []
    assert min(one["minted"] for one in fresh) > max(one["expires"] for one in story.control.tokens()[:before])
    story.draft()
    story.ends(Published)


def test_an_approval_that_ends_before_the_draft_is_opened_gives_no_write_token_and_ends_with_words(
    story: Story,
) -> None:
    """Without a sweep in between: who is to write looks at the time first."""
    built(story)
    story.pass_time(timedelta(days=8))
    story.away = set()
    story.crank()
    assert [one for one in story.ledger.mints() if one.purpose == "open_draft"] == []
    assert story.control.pulls(REPO) == []
    story.ends(Closed, "Ended (expired)", "The change is kept", "`/refresh` makes a plan anew")


def test_a_token_that_ages_out_in_mid_draft_is_not_replaced_once_the_approval_does_not_stand(story: Story) -> None:
    """The approver lost the right while the branch was being made: the mint asks again for each token."""
    built(story)
    mira = story.state().request.labeller
    assert mira is not None
    user = {"id": mira.id, "login": "mira", "type": "User"}
    reader = json.dumps({"permission": "read", "role_name": "read", "user": user})
    story.control.fault("POST .*/git/trees", status=401, body='{"message": "Bad credentials"}')
    story.control.fault("GET .*/collaborators/mira/permission", skip=1, status=200, body=reader)
    story.away = set()
    story.crank()
    story.next_comment("The approval does not stand.", "mira has read permission here")
    opened = [one for one in story.ledger.mints() if one.purpose == "open_draft"]
    assert [bool(one.refused) for one in opened] == [False, True]
    assert story.control.pulls(REPO) == [] and set(story.control.branches(REPO)) == {"main"}
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_ids_above_32_bits_are_kept_exactly(make_story: Making, ledger_url: str) -> None:
    """Case LG-01."""
    story = make_story(ledger_url=ledger_url)
    story.control.set_ids("comment", 4_300_000_007)
    story.control.set_ids("other", 2**40)
    number = story.olga.opens_an_issue("The greeting is misspelt again", "greet.sh says helo.")
    assert story.control.issue(REPO, number)["id"] > 2**31
    story.mira.labels(number=number)
    plan = story.next_comment("### Plan, version 1")
    state = story.state(number)
    assert isinstance(state, Proposed)
    assert state.proposal.comment_id == plan["id"] > 4_300_000_007
    word = story.mira.says("/approve", number=number)
    published = story.state(number)
    assert isinstance(published, Published)
    assert published.approval.source_id == word
    assert story.draft()["body"].startswith(f"Fixes #{number}")
    story.ends(Published, number=number)


@pytest.mark.parametrize(
    ("pattern", "status"),
    [("info/refs", 404), ("git-upload-pack", 403), ("POST .*/git/refs", 403)],
    ids=["clone", "fetch", "push"],
)
def test_no_token_is_told_when_something_fails(
    story: Story, caplog: pytest.LogCaptureFixture, pattern: str, status: int
) -> None:
    """Case SE-01: tokens in full and in the forms that git and HTTP give them are looked for wherever text is kept."""
    story.control.fault(pattern, status=status, body='{"message": "Not allowed."}', times=99)
    story.mira.labels()
    if "refs" in pattern and "POST" in pattern:
        story.plan_is_read()
        story.mira.says("/approve")
    story.wait_out()
    texts = [caplog.text, *story.said(), *map(repr, story.ledger.spans(story.view().id)), repr(story.view())]
    texts += [one.outcome for one in story.view().effects]
    kept = [path.read_bytes().decode("latin-1") for path in files_below(story.folder)]
    assert [text for text in [*texts, *kept] if any(canary.search(text) for canary in CANARIES)] == []
    story.ends(Closed, "Ended (failed)")


# How every token of the twin begins, plainly and as the credentials of HTTP's basic form.
CANARIES = [re.compile(r"ghs_[A-Za-z0-9]{4}")] + [
    re.compile(re.escape(base64.b64encode(f"{pad}ghs_".encode()).decode()[1:-3])) for pad in ("x-access-token:", "git:")
]


def files_below(folder: Path) -> list[Path]:
    """What the product keeps on disk; the twin's own folder is GitHub's."""
    below = [path for path in folder.rglob("*") if path.is_file() and "twin" not in path.relative_to(folder).parts]
    assert below
    return below
