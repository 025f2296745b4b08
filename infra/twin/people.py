"""What a person's role in a repository allows (github-facts 74-79)."""

from infra.twin.state import Actor, Person, Repo
from infra.twin.wire import Refused

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
LEGACY = {"none": "none", "read": "read", "triage": "read", "write": "write", "maintain": "write", "admin": "admin"}
NO_RIGHTS = "Must have {} rights to Repository."


def role_of(repo: Repo, person: Person) -> str:
    """The role's name, built-in or custom; anybody has `read` on a public repository."""
    if person is repo.owner:
        return "admin"
    given = repo.roles.get(person.login.lower())
    if given:
        return given
    return "read" if not repo.private and person.kind == "User" else "none"


def built_in(repo: Repo, role: str) -> str:
    """The built-in role that a custom one stands on."""
    return repo.custom_roles.get(role, role)


def legacy(repo: Repo, role: str) -> str:
    """The legacy level: maintain is `write`, triage is `read`."""
    return LEGACY[built_in(repo, role)]


def at_least(repo: Repo, role: str, wanted: str) -> bool:
    """True when the role reaches `wanted`."""
    return ROLES.index(built_in(repo, role)) >= ROLES.index(wanted)


def require(repo: Repo, actor: Actor, wanted: str) -> None:
    """403 (or 404 when the person may not even read) unless the person's role reaches `wanted`."""
    role = role_of(repo, actor.person)
    if not at_least(repo, role, "read"):
        raise Refused(404, "Not Found")
    if not at_least(repo, role, wanted):
        raise Refused(403, NO_RIGHTS.format(wanted))
