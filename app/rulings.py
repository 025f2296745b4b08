"""A repository's policy as somebody sees it on the command line: checked, and explained for a person and paths.

It reads files on this machine and nothing else; GitHub is not asked, so the person's role is told to it.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.core.bounds import read_policy
from app.core.gate import approvals_needed
from app.core.guarded import forbidding, guard_of, is_never_touched, people_for, touches_workflows
from app.core.issue import Person
from app.core.owners import PLACES, CodeOwners, Owned, owned, read_code_owners
from app.core.policy import POLICY_PATH, Policy, Who
from app.core.standing import Somebody, ender, is_among, owns_all, reviser, takes
from app.settings import bounds_settings, environment

_PERMISSION = {one: one for one in ("none", "read", "write", "admin")} | {"triage": "read", "maintain": "write"}
"""What GitHub's permission endpoint says of each role (github-facts 74)."""


def add_policy(policy: argparse.ArgumentParser) -> None:
    """The command `policy` with its parts; each sets `do`, which answers with an exit code."""
    parts = policy.add_subparsers(required=True, metavar="PART")
    check = parts.add_parser("check", help="whether a file is a policy within COUNTERSIGN_BOUNDS; every fault by line")
    check.add_argument("file", type=Path)
    check.set_defaults(do=_checked)
    explain = parts.add_parser("explain", help="what somebody may do here, and what a change of these paths takes")
    explain.add_argument("--repo", type=Path, default=Path(), metavar="PATH", help="a checkout; the current folder")
    explain.add_argument("--user", required=True, metavar="LOGIN")
    explain.add_argument("--id", type=int, default=0, help="the account's number, where the policy names people so")
    explain.add_argument("--role", default="none", help="the role on GitHub, or one of the organisation's own")
    explain.add_argument("--base", default="read", choices=tuple(_PERMISSION), help="on which an own role is built")
    explain.add_argument("--team", action="append", default=[], metavar="ORG/TEAM")
    explain.add_argument("--paths", nargs="*", default=[], metavar="PATH")
    explain.set_defaults(do=_explained)


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")


def _checked(asked: argparse.Namespace) -> int:
    policy = _read(asked.file)
    if policy is None:
        return 1
    _out(f"{asked.file} can be used. Approving takes {takes(policy.approve)}, {policy.approve.count} of them.")
    return 0


def _read(file: Path) -> Policy | None:
    """The policy in a file; None once everything that is wrong with it was told."""
    try:
        text = file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}.\n")
        return None
    read = read_policy(text, bounds_settings(environment()))
    if isinstance(read, Policy):
        return read
    for complaint in read:
        sys.stderr.write(f"{file}: {complaint}\n")
    return None


@dataclass(frozen=True, slots=True)
class _Case:
    """Somebody, and the paths of a change."""

    policy: Policy
    somebody: Somebody
    paths: tuple[str, ...]
    owners: tuple[Owned, ...]


def _explained(asked: argparse.Namespace) -> int:
    file = asked.repo / POLICY_PATH
    policy = _read(file) if file.is_file() else _default()
    if policy is None:
        return 1
    if not file.is_file():
        _out(f"There is no {POLICY_PATH}: the defaults hold.")
    permission = _PERMISSION[asked.role if asked.role in _PERMISSION else asked.base]
    person = Person(id=asked.id, login=asked.user)
    somebody = Somebody(person, permission, asked.role, tuple(asked.team))
    paths = tuple(dict.fromkeys(asked.paths))
    case = _Case(policy, somebody, paths, owned(_code_owners(asked.repo), paths))
    for line in (*_person(case), *_change(case)):
        _out(line)
    return 0


def _default() -> Policy | None:
    read = read_policy("", bounds_settings(environment()))
    return read if isinstance(read, Policy) else None


def _code_owners(repo: Path) -> CodeOwners:
    for place in PLACES:
        if (repo / place).is_file():
            return read_code_owners((repo / place).read_bytes())
    return CodeOwners()


def _person(case: _Case) -> Iterator[str]:
    policy, somebody = case.policy, case.somebody
    yield f"{somebody.person.login}, with the role {somebody.role_name}:"
    yield _may("set the label", policy.label, somebody)
    owns = policy.approve.code_owners == "may" and owns_all(case.owners, len(case.paths), somebody)
    yield "  may approve, as a code owner of every path" if owns else _may("approve", policy.approve, somebody)
    yield _may("revise and refresh", reviser(policy), somebody)
    yield _may("reject and cancel", ender(policy), somebody)
    if policy.cancel is None or policy.cancel.labeller_may_cancel:
        yield "  may reject and cancel in any case where they set the label"
    if not policy.approve.labeller_may_approve:
        yield "  may not approve where they set the label"
    if not policy.approve.author_may_approve:
        yield "  may not approve where they wrote the issue"


def _may(what: str, who: Who, somebody: Somebody) -> str:
    if is_among(who, somebody):
        return f"  may {what}"
    return f"  may not {what}: it takes {takes(who)}"


def _change(case: _Case) -> Iterator[str]:
    policy, paths = case.policy, case.paths
    if not paths:
        yield f"A plan takes {policy.approve.count} approvals; with --paths it is said of a change."
        return
    yield f"A plan that touches {len(paths)} paths takes {approvals_needed(policy, paths)} approvals:"
    for path in paths:
        yield f"  {path}: {_standing(policy, path)}"
    if policy.approve.code_owners == "must":
        for part in case.owners:
            beside = f" and {part.count - 1} more" if part.count > 1 else ""
            yield f"  one of them has to own {part.path}{beside}: {', '.join(part.owners)}"


def _standing(policy: Policy, path: str) -> str:
    pattern = forbidding(policy, path)
    if pattern is not None:
        return f"no plan may touch it (forbidden_paths: {pattern})"
    if is_never_touched(policy, path):
        lifts = ", unless `workflows` says otherwise" if touches_workflows([path]) else ", whatever a policy says"
        return f"no plan may touch it{lifts}"
    guard = guard_of(policy, path)
    return f"protected ({guard}), which takes {people_for(policy, [path])}" if guard else "as usual"
