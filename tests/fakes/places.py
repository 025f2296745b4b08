"""What can happen to the place where a run lives: the deeds of owners, people and GitHub, and how each is undone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infra.twin.control import tree_of
from tests.fakes.story import REPO, Story

Deeds = tuple[tuple[str, dict[str, Any]], ...]
"""Control calls of the twin, by name and values, in order."""

LESS = {"contents": "read", "issues": "write", "pull_requests": "read", "checks": "read"}
ALL = {"contents": "write", "issues": "write", "pull_requests": "write", "checks": "read", "members": "read"}
SILENT = {"contents": "write", "issues": "read", "pull_requests": "write", "checks": "read"}
OTHER = "acme/other"


@dataclass(frozen=True)
class Change:
    """One thing that happens to a place; `back` undoes it, where that can be."""

    deeds: Deeds
    back: Deeds = ()
    first: Callable[[Story], object] = lambda story: None
    """What must be so before, without which nothing else is different."""


def of_repo(**changes: Any) -> tuple[str, dict[str, Any]]:
    return "change_repo", {"repo": REPO, **changes}


def of_issue(deed: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return deed, {"repo": REPO, "number": 1, "as_login": "mira", **more}


def of_app(deed: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return deed, {"account": "acme", **more}


def permits(permissions: dict[str, str]) -> Deeds:
    return (of_app("set_installation_permissions", permissions=permissions),)


def _admin(story: Story) -> None:
    story.control.set_permission(REPO, "mira", "admin")


def _other(story: Story) -> None:
    story.control.add_repo(OTHER, [], collaborators={"mira": "maintain"})


def _globex(story: Story) -> None:
    story.control.add_user("globex", kind="Organization")


def _globex_with_app(story: Story) -> None:
    _globex(story)
    story.control.install("globex")


ANEW = tree_of({"README.md": "# Begun anew\n"})

CHANGES: dict[str, Change] = {
    "archived": Change((of_repo(archived=True),), (of_repo(archived=False),)),
    "renamed": Change((of_repo(name="hello"),)),
    "transferred, App there": Change((("transfer_repo", {"repo": REPO, "to": "globex"}),), first=_globex_with_app),
    "transferred, no App": Change(
        (("transfer_repo", {"repo": REPO, "to": "globex"}),),
        (("transfer_repo", {"repo": "globex/greet", "to": "acme"}),),
        _globex,
    ),
    "deleted": Change((("delete_repo", {"repo": REPO}),)),
    "private": Change((of_repo(private=True),)),
    "blocked": Change((of_repo(blocked=True),), (of_repo(blocked=False),)),
    "issues off": Change((of_repo(has_issues=False),), (of_repo(has_issues=True),)),
    "issue locked": Change((of_issue("set_lock", state="locked"),), (of_issue("set_lock", state="unlocked"),)),
    "issue transferred": Change((of_issue("transfer_issue", to=OTHER),), first=_other),
    "issue converted": Change((of_issue("convert_to_discussion"),)),
    "issue deleted": Change((of_issue("delete_issue"),), first=_admin),
    "issue closed": Change((of_issue("set_issue_state", state="closed"),)),
    "suspended": Change((of_app("suspend"),), (of_app("unsuspend"),)),
    "uninstalled": Change((of_app("uninstall"),), (of_app("install"),)),
    "taken out": Change((of_app("choose_repos", repos=[]),), (of_app("choose_repos", repos=[REPO]),)),
    "may not write": Change(permits(LESS), permits(ALL)),
    "may not speak": Change(permits(SILENT), permits(ALL)),
    "base renamed": Change((("move_branch", {"repo": REPO, "branch": "main", "to": "trunk"}),)),
    "base deleted": Change((("move_branch", {"repo": REPO, "branch": "main"}),)),
    "base forced": Change((("move_branch", {"repo": REPO, "branch": "main", "files": ANEW}),)),
}

_ISSUE_GONE = ("closed The issue was deleted.", "closed It is gone", "published")
_BASE = ("proposed", "closed ", "published")

ENDS: dict[str, tuple[str, ...]] = {
    "archived": ("closed The repository", "published"),
    "transferred, App there": ("published", "closed GitHub has not shown"),
    "deleted": ("closed The repository was deleted.", "closed GitHub"),
    "blocked": ("closed GitHub has closed", "published"),
    "issue transferred": ("closed The issue moved", "closed It was moved", "published"),
    "issue converted": _ISSUE_GONE,
    "issue deleted": _ISSUE_GONE,
    "issue closed": ("closed The issue was closed.", "closed The issue is closed.", "published"),
    "uninstalled": ("closed The App was uninstalled.", "closed GitHub", "published"),
    "taken out": ("closed The repository was taken", "closed GitHub", "published"),
    "may not write": ("proposed", "closed ", "published"),
    "may not speak": ("closed ", "published"),
    "base renamed": _BASE,
    "base deleted": _BASE,
    "base forced": _BASE,
}
"""What a run comes to, by the beginning of its state and last words; where nothing is named, to its draft."""
