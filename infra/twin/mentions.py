"""Who speaks of whom: `#7` in an issue or comment shows on the timeline of issue 7, and in a commit's message too."""

import re
from typing import Any

from infra.twin.forge import Forge
from infra.twin.state import Actor, Happening, Issue, Repo

_MENTION = re.compile(r"(?<![\w/&])(?:([\w.-]+/[\w.-]+))?#(\d{1,9})\b")


def mentioned(forge: Forge, repo: Repo, text: str) -> list[Issue]:
    """The issues and pull requests that a text names, each once, as far as they are there."""
    found: list[Issue] = []
    for name, number in _MENTION.findall(text):
        place = forge.world.repo_named(*name.split("/")) if name else repo
        for issue in place.issues if place else []:
            if str(issue.number) == number and not issue.deleted and all(issue is not one for one in found):
                found.append(issue)
    return found


def cross_reference(forge: Forge, repo: Repo, source: Issue, text: str | None, actor: Actor) -> None:
    """One `cross-referenced` on the timeline of each issue that `source` speaks of, once for each pair."""
    for target in mentioned(forge, repo, text or ""):
        told = [one.details.get("source") for one in target.timeline if one.event == "cross-referenced"]
        if target is not source and (repo.id, source.number) not in told:
            _add(forge, target, "cross-referenced", actor, source=(repo.id, source.number))


def reference_commit(forge: Forge, repo: Repo, sha: str, message: str, actor: Actor) -> None:
    """One `referenced` with the commit on the timeline of each issue that its message names."""
    for target in mentioned(forge, repo, message):
        _add(forge, target, "referenced", actor, commit=(repo.id, sha))


def _add(forge: Forge, target: Issue, event: str, actor: Actor, **details: Any) -> None:
    # Being spoken of does not change an issue: `updated_at` stays.
    now = forge.world.now()
    target.timeline.append(Happening(forge.world.next_id(), event, actor.person, now, actor.via_app, details))
