"""Standing: whether somebody's word counts here, by the policy and by what GitHub said of them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.core.facts import AuthorityFound
from app.core.issue import Person
from app.core.owners import Owned, is_owner
from app.core.policy import BUILT_IN_ROLES, Policy, Who, level_of
from app.core.verdict import Allowed, Refused, Verdict


class Known(Protocol):
    """What GitHub says of somebody: a recorded `AuthorityFound`, or `Somebody` who was only looked up."""

    @property
    def person(self) -> Person: ...
    @property
    def permission(self) -> str: ...
    @property
    def role_name(self) -> str: ...
    @property
    def teams(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Somebody:
    """A person of whom only the permission was asked."""

    person: Person
    permission: str
    role_name: str
    teams: tuple[str, ...] = ()


def counts(who: Who, found: AuthorityFound, to_do: str) -> Verdict:
    """Allowed for a person who has the role, or is named beside it; refused with what it would take."""
    if found.person.is_bot:
        return Refused(f"{found.person.login} is an app account; only a person can {to_do}.")
    if is_among(who, found):
        return Allowed()
    has = level_of(found.permission, found.role_name).name.lower()
    custom = found.role_name and found.role_name not in (*BUILT_IN_ROLES, "none")
    as_role = f" (as {found.role_name})" if custom else ""
    unread = _unread(who.teams, found)
    return Refused(
        f"{found.person.login} has {has} permission here{as_role}; to {to_do} takes {takes(who)}.{unread}",
        f"Somebody with {takes(who)} can do it.",
    )


def is_among(who: Who, found: Known) -> bool:
    """True for somebody with the role or one of the organisation's own roles, or who is named, or in a named team.

    Who has no access at all is nobody here, whatever names them: so a login that passed to another account is none.
    """
    if found.person.is_bot or found.permission in ("none", ""):
        return False
    if who.role != "nobody" and level_of(found.permission, found.role_name) >= BUILT_IN_ROLES[who.role]:
        return True
    if found.role_name in who.custom_roles:
        return True
    login = found.person.login.casefold()
    if any(user == found.person.id or (isinstance(user, str) and user.casefold() == login) for user in who.users):
        return True
    teams = {team.casefold() for team in found.teams}
    return any(team.casefold() in teams for team in who.teams)


def takes(who: Who) -> str:
    """What somebody needs for their word to count, in words."""
    ways = [] if who.role == "nobody" else [f"{who.role} permission"]
    ways += [f"the role {role}" for role in who.custom_roles]
    ways += [f"membership in {team}" for team in who.teams]
    named = ", ".join(f"id {user}" if isinstance(user, int) else user for user in who.users)
    if named:
        ways.append(f"being named in the policy ({named})" if len(who.users) <= 5 else "being named in the policy")
    return " or ".join(ways) or "more than anybody has, since the policy names nobody"


def reviser(policy: Policy) -> Who:
    """Who may ask for another version."""
    return policy.revise or policy.approve


def ender(policy: Policy) -> Who:
    """Who may reject and cancel, beside the one who set the label."""
    return policy.cancel or policy.approve


def owns_all(owners: Sequence[Owned], paths: int, found: Known) -> bool:
    """True for who is a code owner of every one of so many paths."""
    return (
        not found.person.is_bot
        and found.permission not in ("none", "")
        and 0 < paths == sum(part.count for part in owners)
        and all(is_owner(part, found.person.login, found.teams) for part in owners)
    )


def _unread(teams: Sequence[str], found: AuthorityFound) -> str:
    unread = {team.casefold() for team in found.teams_unread}
    missing = [team for team in teams if team.casefold() in unread]
    return f" The members of {', '.join(missing)} could not be read." if missing else ""
