"""What the plans for a tree take to prepare: by kind of environment, its commands and the hosts that they may reach.

It is found before a plan is made, so that an approver sees all of it, and again before one is carried out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.core.clients import client_of
from app.core.fit import is_manifest
from app.core.plan import made_visible
from app.core.policy import Policy
from app.core.verdict import Refused
from worker.box.checks import NamedCheck
from worker.box.clients import NO_REGISTRIES, Registries, registries_of
from worker.box.egress.rules import NotAHost, read_host
from worker.box.environment import CannotPrepare, Workshop
from worker.box.found_setup import FOUND_KINDS, find_set_up
from worker.box.setting_up import KIND as SETUP_KIND

ANEW = "Ask for a plan anew."
_LONGEST = 600

Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Provision:
    """One kind of environment. With `lacking`, which says why, there is none to be had here."""

    commands: Commands = ()
    hosts: tuple[str, ...] = ()
    lacking: str = ""
    registries: Registries = NO_REGISTRIES


@dataclass(frozen=True, slots=True)
class Needed:
    """What a plan names: its set-up commands, its hosts, and what of its checks cannot be prepared, a sentence each."""

    setup: Commands = ()
    hosts: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provisions:
    """All that any plan for the tree could take, by kind."""

    by_kind: Mapping[str, Provision] = field(default_factory=dict)

    def hosts(self) -> tuple[str, ...]:
        """Every host that a set-up of the tree may reach from here."""
        return tuple(sorted({host for one in self.by_kind.values() for host in one.hosts}))

    def commands(self) -> frozenset[tuple[str, ...]]:
        """Every set-up command of the tree."""
        return frozenset(words for one in self.by_kind.values() for words in one.commands)

    def needed(self, checks: Iterable[NamedCheck], paths: Iterable[str]) -> Needed:
        """What a plan with these checks takes; one that touches a package file, also what may be needed after it."""
        changed = any(is_manifest(path) for path in paths)
        wanted: dict[str, str] = {}
        for check in checks:
            kind = check.needs or (check.may_need if changed else "")
            if kind and not check.not_prepared:
                wanted.setdefault(kind, check.name)
        found = [self.by_kind.get(kind, Provision(lacking="Nothing prepares it.")) for kind in sorted(wanted)]
        lacking = [
            _one_line(f"What {wanted[kind]} needs cannot be prepared, so it will not be shown to pass: {one.lacking}")
            for kind, one in zip(sorted(wanted), found, strict=True)
            if one.lacking
        ]
        return Needed(
            tuple(words for one in found for words in one.commands),
            tuple(sorted({host for one in found for host in one.hosts})),
            tuple(lacking),
        )


NOTHING_TO_PREPARE = Provisions()


def _one_line(text: str) -> str:
    return made_visible(" ".join(text.split()))[:_LONGEST]


def provisions_of(tree: Path, policy: Policy, checks: Iterable[NamedCheck], workshop: Workshop) -> Provisions | Refused:
    """What the tree's set-ups are on this machine. Refused where those that the policy names cannot be had."""
    try:
        named = tuple(sorted(str(read_host(text)) for text in policy.hosts))
    except NotAHost as error:
        return Refused(f"`hosts` in the policy file: {error}.", "A host is its full name and a port.")
    if policy.setup:
        try:
            known = registries_of(policy.setup, workshop)
        except CannotPrepare as error:
            return Refused(error.reason, error.remedy)
        hosts = tuple(sorted({*named, *map(str, known.hosts)}))
        return Provisions({SETUP_KIND: Provision(policy.setup, hosts, registries=known)})
    kinds = {kind for one in checks for kind in (one.needs, one.may_need) if kind and not one.not_prepared}
    return Provisions({kind: _found(kind, tree, named, workshop) for kind in FOUND_KINDS if kind in kinds})


def _found(kind: str, tree: Path, named: tuple[str, ...], workshop: Workshop) -> Provision:
    try:
        commands = find_set_up(kind, tree).commands
        known = registries_of(commands, workshop)
    except CannotPrepare as error:
        return Provision(lacking=str(error.told()))
    lacking = known.lacking(client_of(commands[0]))
    if lacking and not named:
        return Provision(lacking=f"{lacking} `hosts` in the policy file may name others.")
    return Provision(commands, tuple(sorted({*named, *map(str, known.hosts)})), registries=known)
