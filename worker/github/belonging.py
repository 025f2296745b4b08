"""To whom paths and people belong: code owners on the default branch, and who is in which team now."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.core.owners import PLACES, CodeOwners, Owned, owned, read_code_owners, teams_of
from app.core.policy import Policy
from app.core.run import Proposal
from worker.github.errors import Forbidden, Suspended
from worker.github.reader import Reader

MOST_TEAMS = 60
"""Teams that are asked about for one person; of any further one nobody is a member."""


@dataclass(frozen=True, slots=True)
class Teams:
    """Of the teams that were asked about: those with this member, and those whose members we may not read."""

    member_of: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ownership:
    """The plan's paths that have owners; `problem` says why some may be missing."""

    parts: tuple[Owned, ...] = ()
    problem: str = ""


def ownership(reader: Reader, policy: Policy, proposal: Proposal | None, head: str) -> Ownership:
    """Who owns what the plan touches, where the policy asks for it. Raises `GitHubError`."""
    if policy.approve.code_owners == "no" or proposal is None:
        return Ownership()
    if proposal.paths is None:
        return Ownership(problem="It is not known which paths the plan touches, so its code owners are not either.")
    owners = _code_owners(reader, head)
    too_large = next((why for line, why in owners.skipped if line == 0), "")
    return Ownership(owned(owners, proposal.paths), too_large)


def teams(reader: Reader, names: Iterable[str], login: str) -> Teams:
    """In which of these teams `login` is now. Raises `GitHubError` but for teams that we may not look into."""
    member_of: list[str] = []
    unread: list[str] = []
    asked = list(dict.fromkeys(name.casefold() for name in names))
    for name in asked[:MOST_TEAMS]:
        try:
            if reader.is_member(name, login):
                member_of.append(name)
        except Suspended:
            raise
        except Forbidden:
            unread.append(name)
    return Teams(tuple(member_of), (*unread, *asked[MOST_TEAMS:]))


def teams_that_matter(policy: Policy, parts: Iterable[Owned]) -> tuple[str, ...]:
    """Every team that the policy names for anything, and those among the code owners."""
    whos = (policy.label, policy.approve, policy.revise, policy.cancel)
    named = [team for who in whos if who is not None for team in who.teams]
    return (*named, *teams_of(parts))


def _code_owners(reader: Reader, head: str) -> CodeOwners:
    for path in PLACES:
        file = reader.file_at(path, head)
        if file is not None:
            return read_code_owners(file.content)
    return CodeOwners()
