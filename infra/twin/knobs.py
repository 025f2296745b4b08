"""The twin's own controls and what can be read of it: clock, faults, deliveries, journal, tokens, objects."""

import base64
from typing import Any

from infra.twin import pulls, shapes_git, shapes_issues, webhooks
from infra.twin.diffs import diff_text
from infra.twin.fields import Fields
from infra.twin.human import Deed
from infra.twin.state import stamp
from infra.twin.wire import Refused, not_found

LONGEST_WAIT = 60.0


def set_clock(fields: Fields) -> Any:
    """Shift the twin's clock by so many seconds against this machine's."""
    fields.forge.world.clock_offset = fields.real("offset")
    return {"now": stamp(fields.forge.world.now())}


def set_tokens(fields: Fields) -> Any:
    """Life in whole seconds and format (`stateless` or `classic`) of tokens minted from now on."""
    world = fields.forge.world
    if fields.values.get("seconds") is not None:
        world.token_seconds = fields.whole("seconds")
    if fields.values.get("format") is not None:
        world.token_format = fields.text("format")
    return {"seconds": world.token_seconds, "format": world.token_format}


def set_ids(fields: Fields) -> Any:
    """The next id of `family` (issue, comment, other)."""
    try:
        fields.forge.world.start_ids(fields.text("family"), fields.whole("first"))
    except (ValueError, KeyError) as problem:
        raise Refused(422, str(problem)) from None
    return {}


def set_rate_limit(fields: Fields) -> Any:
    """Requests per hour for each caller."""
    fields.forge.rates.limit = fields.whole("limit")
    return {}


def set_hook(fields: Fields) -> Any:
    """Where webhooks go, and the secret they are signed with; without `url` none are made."""
    app = fields.forge.world.app
    if app is None:
        raise not_found()
    app.hook_url = fields.maybe_text("url")
    if fields.values.get("secret") is not None:
        app.hook_secret = fields.text("secret")
    if fields.values.get("seconds_to_answer") is not None:
        fields.forge.webhooks.seconds_to_answer = fields.real("seconds_to_answer")
    return {}


def add_fault(fields: Fields) -> Any:
    """Arm a fault (see `faults.Fault`)."""
    try:
        fault = fields.forge.faults.add(dict(fields.values))
    except (TypeError, ValueError) as problem:
        raise Refused(422, str(problem)) from None
    return {"name": fault.name}


def clear_faults(fields: Fields) -> Any:
    """Disarm all faults."""
    fields.forge.faults.clear()
    return {}


def treat_deliveries(fields: Fields) -> Any:
    """Drop, duplicate or hold the next deliveries of an event."""
    times = fields.whole("times") if fields.values.get("times") is not None else None
    rule = webhooks.Rule(
        fields.text("treatment"), fields.maybe_text("event") or "", fields.maybe_text("action") or "", times
    )
    try:
        fields.forge.webhooks.treat(rule)
    except ValueError as problem:
        raise Refused(422, str(problem)) from None
    return {}


def clear_treatments(fields: Fields) -> Any:
    """Deliver normally again."""
    fields.forge.webhooks.clear_rules()
    return {}


def release_deliveries(fields: Fields) -> Any:
    """Send what is held, `first-first` or `last-first`."""
    return {"released": fields.forge.webhooks.release(fields.maybe_text("order") or "first-first")}


def redeliver(fields: Fields) -> Any:
    """Send a recorded delivery again, with its GUID."""
    try:
        return webhooks.item(fields.forge.webhooks.redeliver(fields.whole("delivery_id")))
    except LookupError:
        raise not_found() from None


def deliveries(fields: Fields) -> Any:
    """Every delivery with request and response, oldest first, also the dropped ones (`lost`)."""
    app = fields.forge.world.app
    url = app.hook_url if app else None
    return [webhooks.full(one, url) for one in fields.forge.webhooks.everything()]


def journal(fields: Fields) -> Any:
    """Every request so far."""
    return fields.forge.journal.entries()


def acts(fields: Fields) -> Any:
    """What people did by hand, oldest first, on the same clock as the journal."""
    return fields.forge.journal.acts()


def tokens(fields: Fields) -> Any:
    """Every token ever minted: its hash, reach and life; never its value."""
    world = fields.forge.world
    return [
        {
            "token": one.digest, "installation_id": one.installation_id, "permissions": one.permissions,
            "repository_ids": one.repo_ids, "minted": one.minted.timestamp(), "expires": one.expires.timestamp(),
            "revoked": one.revoked.timestamp() if one.revoked else None,
        }
        for one in world.tokens.values()
    ]


def issue(fields: Fields) -> Any:
    """An issue or pull request as REST shows it."""
    place = fields.place()
    return shapes_issues.issue(fields.forge.world, place.repo, place.issue)


def issues(fields: Fields) -> Any:
    """All issues and pull requests of a repository, oldest first."""
    repo = fields.repo()
    return [shapes_issues.issue(fields.forge.world, repo, one) for one in repo.issues if not one.deleted]


def comments(fields: Fields) -> Any:
    """All comments of an issue, oldest first."""
    place = fields.place()
    return [shapes_issues.comment(fields.forge.world, place.repo, place.issue, one) for one in place.issue.comments]


def all_pulls(fields: Fields) -> Any:
    """All pull requests of a repository, in full, oldest first, with the diff as `diff`."""
    repo, forge = fields.repo(), fields.forge
    shown = []
    for one in repo.issues:
        if one.pull and not one.deleted:
            full = shapes_issues.pull(forge.world, repo, one, pulls.counts(forge, repo, one))
            shown.append({**full, "diff": diff_text(forge.git, repo.id, *pulls.span(forge, repo, one))})
    return shown


def branches(fields: Fields) -> Any:
    """Branch name -> commit."""
    found = fields.forge.git.refs(fields.repo().id)
    return {name.removeprefix("refs/heads/"): sha for name, sha in found.items()}


def branch_files(fields: Fields) -> Any:
    """Path -> {mode, content: base64} at a branch or commit."""
    repo, git = fields.repo(), fields.forge.git
    commit = git.resolve(repo.id, fields.text("branch"))
    if commit is None:
        raise not_found()
    return {
        one.path: {"mode": one.mode, "content": base64.b64encode(git.read_blob(repo.id, one.sha)).decode()}
        for one in git.list_tree(repo.id, commit, "recursive")
        if one.kind == "blob"
    }


def commit(fields: Fields) -> Any:
    """A commit as REST shows it."""
    repo, forge = fields.repo(), fields.forge
    sha = forge.git.resolve(repo.id, fields.text("name"))
    if sha is None:
        raise not_found()
    return shapes_git.commit(forge, repo, forge.git.read_commit(repo.id, sha))


def repo_path(fields: Fields) -> Any:
    """Where the bare repository lies on this machine."""
    repo = fields.repo()
    return {"path": str(fields.forge.git.path(repo.id)), "id": repo.id}


DEEDS: dict[str, Deed] = {
    "set_clock": set_clock, "set_tokens": set_tokens, "set_ids": set_ids, "set_rate_limit": set_rate_limit,
    "set_hook": set_hook, "add_fault": add_fault, "clear_faults": clear_faults, "treat_deliveries": treat_deliveries,
    "clear_treatments": clear_treatments, "release_deliveries": release_deliveries, "redeliver": redeliver,
    "deliveries": deliveries, "journal": journal, "acts": acts, "tokens": tokens, "issue": issue, "issues": issues,
    "comments": comments, "pulls": all_pulls, "branches": branches, "branch_files": branch_files, "commit": commit,
    "repo_path": repo_path,
}
