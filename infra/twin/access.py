"""Who is calling, and may they: GitHub's 401, 403 and 404 in the order in which GitHub gives them."""

import base64
import binascii
from collections.abc import Mapping

from infra.twin.apps import find_token, reach, verify_jwt
from infra.twin.forge import Forge
from infra.twin.permissions import Operation, Subject, accepted_header, allowed
from infra.twin.state import Actor, Repo
from infra.twin.wire import Call, Caller, Refused, not_found

BLOCKED = "Repository access blocked"
FORBIDDEN = "Resource not accessible by integration"


def credential(headers: Mapping[str, str]) -> str | None:
    """The token or JWT in the Authorization header (`Bearer`, `token`, or Basic with the token as password)."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    value = value.strip()
    if scheme.lower() in {"bearer", "token"} and value:
        return value
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2] or None
        except (binascii.Error, ValueError):
            return None
    return None


def is_jwt(value: str) -> bool:
    """True for what looks like an App's JWT and not like an installation token."""
    return value.count(".") == 2 and not value.startswith("ghs_")


def identify(forge: Forge, headers: Mapping[str, str], kind: str) -> Caller:
    """The caller of an operation of that kind (`app`, `installation`, `anyone`); 401 with GitHub's sentence."""
    value = credential(headers)
    if value is None:
        if "authorization" in headers:
            raise Refused(401, "Bad credentials")
        if kind == "app":
            raise Refused(401, "A JSON web token could not be decoded")
        return Caller()
    if kind == "app" or (kind == "anyone" and is_jwt(value)):
        return Caller(app=verify_jwt(forge.world, value))
    if is_jwt(value):
        verify_jwt(forge.world, value)
        raise Refused(403, FORBIDDEN)
    token, installation = find_token(forge.world, value)
    return Caller(token=token, installation=installation)


def repo_of(forge: Forge, call: Call) -> Repo | None:
    """The repository that the path names, None when it names none; 404 or 301 when there is none of that name,
    451 where GitHub closed it."""
    if "repo" not in call.params:
        return None
    owner, name = call.params["owner"], call.params["repo"]
    repo = forge.world.repo_named(owner, name)
    if repo is not None:
        if repo.blocked:
            raise Refused(451, BLOCKED)
        return repo
    moved = forge.world.repo_formerly(owner, name)
    if moved is None or (moved.private and not reaches(forge, call.caller, moved)):
        raise not_found()
    rest = call.path.split("/", 4)[4:]
    refusal = Refused(301, "Moved Permanently")
    refusal.headers["Location"] = "/".join([f"{forge.world.url}/repositories/{moved.id}", *rest])
    raise refusal


def reaches(forge: Forge, caller: Caller, repo: Repo) -> bool:
    """True when the caller's credential is for this repository, private or not."""
    if caller.app is not None:
        return True
    return caller.token is not None and repo.id in reach(forge.world, caller.token)


def admit(forge: Forge, operation: Operation, call: Call, repo: Repo | None) -> None:
    """Return when the caller may; otherwise 401, 403 (with what would have been accepted) or 404."""
    if operation.caller != "installation":
        return
    token = call.caller.token
    if repo is None:
        if token is None:
            raise Refused(401, "Requires authentication")
        if not allowed(token.permissions, operation.needs, "always"):
            raise forbidden(operation)
        return
    in_reach = reaches(forge, call.caller, repo)
    if repo.private and not in_reach:
        raise not_found()
    if token is None and operation.method != "GET":
        raise Refused(401, "Requires authentication")
    if token is None or (not in_reach and operation.method == "GET"):
        return
    if not in_reach or not allowed(token.permissions, operation.needs, subject_of(forge, call, repo)):
        raise forbidden(operation)


def forbidden(operation: Operation) -> Refused:
    """403 for a missing permission, naming what would have sufficed (github-facts 63)."""
    refusal = Refused(403, FORBIDDEN)
    refusal.headers["X-Accepted-GitHub-Permissions"] = accepted_header(operation.needs)
    return refusal


def subject_of(forge: Forge, call: Call, repo: Repo) -> Subject:
    """`pulls-only` when the issue number or comment in the path belongs to a pull request."""
    if "issue_number" in call.params:
        wanted = call.params["issue_number"]
        issue = next((one for one in repo.issues if str(one.number) == wanted), None)
        return "pulls-only" if issue and issue.pull else "always"
    if "comment_id" in call.params and call.params["comment_id"].isdigit():
        found = forge.world.find_comment(repo, int(call.params["comment_id"]))
        return "pulls-only" if found and found[0].pull else "always"
    return "always"


def actor_of(forge: Forge, call: Call) -> Actor:
    """The App's bot, in whose name installation tokens act."""
    if forge.world.app is None or call.caller.token is None:
        raise Refused(401, "Requires authentication")
    return Actor(forge.world.app.bot, via_app=True)
