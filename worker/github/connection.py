"""One connection to GitHub's API per credential: what it returns is what GitHub promised, everything else is an error.

Nothing is repeated, followed or waited for by itself; answers are parsed by our own small values, never by
githubkit's models. githubkit is loaded when the first connection is entered, so that an idle process stays small.
"""

import json
import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from worker.github.asking import Anonymous, ConnectionSettings, Credential, InstallationToken, Limit, Request
from worker.github.counting import ASKED
from worker.github.errors import Call, GitHubError, LimitKind, Moved, NotUnderstood, RateLimited
from worker.github.pace import Pace, pace_of
from worker.github.translation import Answer, error_of, graphql_error_of

if TYPE_CHECKING:
    from worker.github.kit import Kit

__all__ = ["Anonymous", "Connection", "ConnectionSettings", "InstallationToken", "Request", "connect"]

MOST_PAGES = 1000
"""Pages that are read of one listing (of 100 entries each) before it is refused as endless."""

_PUBLIC_API = "https://api.github.com"


class Connection:
    """An open connection for one credential; a context manager. Any thread may use it, one request at a time.

    Every method either returns what GitHub promised or raises a `GitHubError`. Nothing is sent twice, except once
    more after a 401 when the credential could be renewed: GitHub did nothing then. While a limit is met nothing is
    sent at all, whoever met it: that raises `RateLimited` as if GitHub had said it once more.
    """

    limit: Limit | None = None
    """Shared with everybody who asks GitHub for the same installation."""

    def __init__(self, api_url: str, credential: Credential, settings: ConnectionSettings, pace: Pace) -> None:
        self.api_url = (api_url or _PUBLIC_API).rstrip("/")
        self.settings = settings
        self._credential = credential
        self._pace = pace
        self._kit: Kit | None = None

    def __enter__(self) -> Self:
        from worker.github.kit import Kit

        self._kit = Kit(self.api_url, self._credential, self.settings)
        return self

    def __exit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        kit, self._kit = self._kit, None
        if kit is not None:
            kit.close()

    def __repr__(self) -> str:
        return f"Connection({self.api_url!r})"

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        """The parsed JSON of one answer. A redirect raises `Moved`."""
        call, answer = self._ask(Request("GET", path, params or {}, expected=(200,)))
        return _parsed(answer, call)

    def page(self, address: str, params: Mapping[str, str | int] | None = None) -> tuple[Any, str | None]:
        """The parsed JSON of one page of a listing, and GitHub's own address of the next (github-facts 173); None on
        the last. `address` is a path, or such an address, which holds its parameters."""
        from worker.github.kit import next_page

        asked = {"per_page": 100} | dict(params or {})
        given = {} if address.startswith("http") else asked
        call, answer = self._ask(Request("GET", address, given, expected=(200,)))
        following = next_page(answer)
        # The credential is sent to no other host.
        if following is not None and not self.leads_to(following, ""):
            raise Moved("GitHub points to another host.", call, following)
        return _parsed(answer, call), following

    def pages(self, path: str, params: Mapping[str, str | int] | None = None) -> Iterator[Any]:
        """The parsed JSON of each page."""
        address: str | None = path
        for _ in range(MOST_PAGES):
            told, address = self.page(address or path, params)
            yield told
            if address is None:
                return
        raise NotUnderstood("The listing does not end.", Call("GET", path))

    def write(self, request: Request) -> Any:
        """Sends a write once; the parsed JSON of the answer, None when it has no body."""
        call, answer = self._ask(request)
        return _parsed(answer, call) if answer.text else None

    def create(self, request: Request) -> Any:
        """`write` for what creates content that people see: not sooner after the last one than the settings say
        (github-facts 165, 169)."""
        with self._pace.turn():
            if self.limit is not None and self._pace.gap:
                # Those of other processes, too: one write to the ledger for one that people see.
                time.sleep(self.limit.turn(self._pace.gap))
            return self.write(request)

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Any:
        """The `data` of a query. Raises when there are any `errors` (github-facts 167, 168), except that single
        nodes may be missing: those are null."""
        call, answer, found, errors = self._queried(query, variables)
        if any(kind != "NOT_FOUND" for kind in map(_kind_of, errors)):
            raise self._noted(graphql_error_of(answer, errors, call, time.time()))
        return found

    def nodes(self, query: str, variables: Mapping[str, Any]) -> tuple[list[Any], dict[int, GitHubError]]:
        """The `nodes` of a query that asks for several, and why of some, by their place, nothing may be read.

        Nodes that are not there are null. Any other error is of the whole query and raised.
        """
        call, answer, found, errors = self._queried(query, variables)
        refused: dict[int, GitHubError] = {}
        for error in errors:
            position = _position(error)
            if _kind_of(error) == "FORBIDDEN" and position is not None:
                refused[position] = graphql_error_of(answer, [error], call, time.time())
            elif _kind_of(error) != "NOT_FOUND":
                raise self._noted(graphql_error_of(answer, errors, call, time.time()))
        nodes = found.get("nodes")
        if not isinstance(nodes, list):
            raise NotUnderstood("GitHub's answer is not a list.", call)
        return nodes, refused

    def _queried(self, query: str, variables: Mapping[str, Any]) -> tuple[Call, Answer, dict[str, Any], list[Any]]:
        """What came of a query, its data and its errors. Raises where there is no data."""
        request = Request("POST", graphql_address(self.api_url), body={"query": query, "variables": dict(variables)})
        call, answer = self._ask(request)
        content = _parsed(answer, call)
        if not isinstance(content, dict):
            raise NotUnderstood("GitHub's GraphQL answer is not an object.", call)
        found, said = content.get("data"), content.get("errors") or []
        errors = said if isinstance(said, list) else [said]
        if not isinstance(found, dict):
            if errors:
                raise self._noted(graphql_error_of(answer, errors, call, time.time()))
            raise NotUnderstood("GitHub's GraphQL answer holds no data.", call)
        return call, answer, found, errors

    def leads_to(self, address: str, path: str) -> bool:
        """Whether a whole address is on this API's own host and, below its base, at `path` or under it."""
        from worker.github.kit import leads_to

        return leads_to(self.api_url, address, path)

    def _ask(self, request: Request) -> tuple[Call, Answer]:
        if self._kit is None:
            raise RuntimeError("the connection is not open: enter it first")
        if self.limit is not None and (left := self.limit.left()) is not None:
            raise RateLimited(left[1], Call(request.method, request.path), left[0], LimitKind.SECONDARY)
        try:
            call, answer = self._kit.send(request)
            ASKED.note(answer.headers)
            if answer.status == 401 and self._credential.renew():
                call, answer = self._kit.send(request)
                ASKED.note(answer.headers)
        except RateLimited as limited:
            raise self._noted(limited) from None
        if answer.status >= 300:
            raise self._noted(error_of(answer, call, time.time()))
        if request.expected and answer.status not in request.expected:
            raise NotUnderstood(f"GitHub answered with status {answer.status}, which was not promised.", call)
        return call, answer

    def _noted(self, error: GitHubError) -> GitHubError:
        """The error; where it is a limit, everybody who shares it knows."""
        if isinstance(error, RateLimited) and self.limit is not None:
            self.limit.met(error.retry_after, error.reason)
        return error


def connect(
    api_url: str,
    credential: Credential,
    settings: ConnectionSettings | None = None,
    installation_id: int = 0,
    limit: Limit | None = None,
) -> Connection:
    """A connection to the API at `api_url` (empty: the public one); enter it before use.

    All connections of this process for one API and installation share the pause between content-creating writes.
    """
    chosen = settings or ConnectionSettings()
    made = Connection(api_url, credential, chosen, pace_of(api_url, installation_id, chosen.write_gap_seconds))
    made.limit = limit
    return made


def graphql_address(api_url: str) -> str:
    """Where GraphQL answers for a REST base: `/api/v3` becomes `/api/graphql`, every other base gets `/graphql`
    (github-facts 178, 179)."""
    plain = api_url.rstrip("/")
    if plain.endswith("/api/v3"):
        return plain.removesuffix("/v3") + "/graphql"
    return plain + "/graphql"


def _parsed(answer: Answer, call: Call) -> Any:
    try:
        return json.loads(answer.text)
    except ValueError:
        pass
    raise NotUnderstood("GitHub's answer is not JSON.", call)


def _kind_of(error: object) -> str:
    return str(error.get("type", "")) if isinstance(error, dict) else ""


def _position(error: object) -> int | None:
    """Which of several nodes an error is about."""
    path = error.get("path") if isinstance(error, dict) else None
    at = path[1] if isinstance(path, list) and len(path) > 1 and path[0] == "nodes" else None
    return at if isinstance(at, int) else None
