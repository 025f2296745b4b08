"""The belt table: which belt does which effect, and how far it reaches.

The one source of this. `app.yml`, the mint's rules, the queue routing and the network policies are checked
against it by tests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

Level = Literal["read", "write"]
Permissions = Mapping[str, Level]


class Belt(StrEnum):
    """A role with its own queue, tools, keys and reach."""

    PLANNER = "planner"
    EXECUTOR = "executor"
    PUBLISHER = "publisher"


class EffectKind(StrEnum):
    """What we can owe the world."""

    DRAFT_PLAN = "draft_plan"
    EXECUTE = "execute"
    LOOK_UP_AUTHORITY = "look_up_authority"
    SAY = "say"
    REACT = "react"
    OPEN_DRAFT = "open_draft"
    STAGE_DRAFT = "stage_draft"
    FIND_DRAFT = "find_draft"


class Outside(StrEnum):
    """Somebody outside the installation whom a process may connect to."""

    GITHUB = "GitHub's API"
    CODE = "where repositories are cloned from"
    MODEL = "the model's API"
    DOCUMENTATION = "the operator's documentation hosts"
    SIGN_IN = "GitHub, where people sign in to the pages and are asked about"
    SET_UPS = "hosts of set-up commands in the box, as the operator lists them"


class Inside(StrEnum):
    """A part of the installation that answers others."""

    LEDGER = "ledger"
    BELLS = "bells"
    MINT = "mint"


class Needs(StrEnum):
    """What the mint must find in the ledger before it cuts a token for an effect."""

    OWED = "the effect is owed and claimed by the caller"
    GRANT = "a live Grant, and the approval and its giver's permission read again from GitHub"


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one effect reaches: its belt, the token it may hold for one repository id, and its vendors.

    Only the token of `WATCH`, which reads, is for several: the waiting ones of one installation.
    """

    belt: Belt
    permissions: Permissions
    needs: Needs = Needs.OWED
    where_granted: Permissions = field(default_factory=dict)
    """Permissions used only where the installation has them."""
    where_added: Permissions = field(default_factory=dict)
    """Reading that the App does not ask for by itself, used where an operator has added it to the App."""
    with_workflows: Permissions = field(default_factory=dict)
    """Permissions that the App does not ask for by itself either, used only where the approved plan touches workflow
    files; then the effect is not done without them."""
    model: bool = False
    box: bool = False
    """Commands run, on a snapshot that is fetched for them."""
    documentation: bool = False


def _only(**permissions: Level) -> Permissions:
    return MappingProxyType(permissions)


REACH: Mapping[EffectKind, Reach] = MappingProxyType(
    {
        EffectKind.DRAFT_PLAN: Reach(
            Belt.PLANNER,
            _only(metadata="read", contents="read", issues="read", pull_requests="read"),
            where_granted=_only(checks="read"),
            where_added=_only(statuses="read"),
            model=True,
            box=True,
            documentation=True,
        ),
        EffectKind.EXECUTE: Reach(
            Belt.EXECUTOR, _only(metadata="read", contents="read"), needs=Needs.GRANT, model=True, box=True
        ),
        EffectKind.LOOK_UP_AUTHORITY: Reach(
            Belt.PUBLISHER,
            _only(metadata="read", contents="read", issues="read", pull_requests="read"),
            where_granted=_only(members="read"),
        ),
        EffectKind.SAY: Reach(Belt.PUBLISHER, _only(metadata="read", issues="write", pull_requests="write")),
        EffectKind.REACT: Reach(Belt.PUBLISHER, _only(metadata="read", issues="write")),
        EffectKind.OPEN_DRAFT: Reach(
            Belt.PUBLISHER,
            _only(metadata="read", contents="write", pull_requests="write"),
            needs=Needs.GRANT,
            with_workflows=_only(workflows="write"),
        ),
        EffectKind.STAGE_DRAFT: Reach(Belt.PUBLISHER, _only(metadata="read", contents="read"), needs=Needs.GRANT),
        EffectKind.FIND_DRAFT: Reach(Belt.PUBLISHER, _only(metadata="read", contents="read", pull_requests="read")),
    }
)

WATCH: Reach = Reach(Belt.PUBLISHER, _only(metadata="read", issues="read"))
"""Reading issues of open runs, the reactions on their plan comments, and labels of which nobody was told, in one
installation's repositories: no effect, since nothing is owed."""


@dataclass(frozen=True, slots=True)
class Connections:
    """Whom one process connects to; nobody else is to answer it."""

    inside: frozenset[Inside] = frozenset()
    outside: frozenset[Outside] = frozenset()


def _of_belt(belt: Belt) -> Connections:
    reaches = [reach for reach in REACH.values() if reach.belt is belt]
    asked = {
        Outside.GITHUB: any(reach.permissions for reach in reaches),
        Outside.CODE: any(reach.box for reach in reaches),
        Outside.MODEL: any(reach.model for reach in reaches),
        Outside.DOCUMENTATION: any(reach.documentation for reach in reaches),
        Outside.SET_UPS: any(reach.box for reach in reaches),
    }
    return Connections(frozenset(Inside), frozenset(one for one, wanted in asked.items() if wanted))


CONNECTIONS: Mapping[str, Connections] = MappingProxyType(
    {
        # The design gave it nobody outside. People sign in to the pages through GitHub, which is then asked, with each
        # person's own token, what they may see; no credential of the App's installations goes there. Where no OAuth
        # client is set up, its way out leads to nobody.
        "web": Connections(frozenset({Inside.LEDGER, Inside.BELLS}), frozenset({Outside.SIGN_IN})),
        "mint": Connections(frozenset({Inside.LEDGER}), frozenset({Outside.GITHUB})),
        "beat": Connections(frozenset({Inside.BELLS})),
        **{belt.value: _of_belt(belt) for belt in Belt},
    }
)
"""The network of each process. What a run in the box reaches is narrower still: nothing, or what its plan names."""

EVENTS = (
    "issues",
    "issue_comment",
    "pull_request",
    "label",
    "repository",
    "push",
)
"""What the App subscribes to (github-facts 13). Installation events come by themselves and may not be listed (92)."""


def belt_of(kind: EffectKind) -> Belt:
    """The belt that does this effect."""
    return REACH[kind].belt


def app_permissions() -> dict[str, Level]:
    """What the App must ask for: for each permission, the highest level that any effect always needs."""
    asked: dict[str, Level] = {}
    for reach in (*REACH.values(), WATCH):
        for name, level in {**reach.where_granted, **reach.permissions}.items():
            if asked.get(name) != "write":
                asked[name] = level
    return asked
