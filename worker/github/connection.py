"""One connection to GitHub's API per credential, on githubkit with its dangerous defaults changed.

What is different from githubkit's defaults (github-facts 196-207): time-outs, no automatic repeat, no HTTP cache, no
cache shared with another server, no redirect followed by itself, one request at a time, and a pause between writes
that create content. Answers are parsed by our own small values, never by githubkit's models.
"""

import contextvars
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import httpx
from githubkit import GitHub, Response
from githubkit.auth import BaseAuthStrategy
from githubkit.cache import MemCacheStrategy
from githubkit.exception import RequestError, RequestFailed, RequestTimeout
from githubkit.throttling import LocalThrottler

from worker.github.errors import (
    SHORTEST_PAUSE,
    Call,
    GitHubError,
    LimitKind,
    Moved,
    NotUnderstood,
    Outcome,
    RateLimited,
    TimedOut,
    Unreachable,
)
from worker.github.pace import Pace, pace_of
from worker.github.translation import Answer, error_of, graphql_error_of

if TYPE_CHECKING:
    import ssl

MOST_PAGES = 1000
"""Pages that are read of one listing (of 100 entries each) before it is refused as endless."""

_PUBLIC_API = "https://api.github.com"


class Credential(Protocol):
    """Something that lets us in. Its text never shows in `repr`."""

    def bearer(self) -> str:
        """The value to send now; empty for no authorisation at all."""
        ...

    def renew(self) -> bool:
        """Called when GitHub refused what `bearer` gave: true when it gives another value now, worth one try."""
        ...


class InstallationToken:
    """A token that was minted for one effect. With `again` (which asks the mint) it is renewed once, when GitHub
    refuses it because it aged out (case GH-04); a second refusal stands."""

    def __init__(self, value: str, again: Callable[[], str] | None = None) -> None:
        self._value = value
        self._again = again

    def __repr__(self) -> str:
        return "InstallationToken(hidden)"

    def bearer(self) -> str:
        return self._value

    def renew(self) -> bool:
        if self._again is None:
            return False
        ask, self._again = self._again, None
        self._value = ask()
        return True


@dataclass(frozen=True, slots=True)
class Anonymous:
    """No credential: only what anybody may read."""

    def bearer(self) -> str:
        return ""

    def renew(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Seconds to wait for a connection and for (each part of) an answer, seconds between content-creating writes,
    and GitHub's API version by date (github-facts 174, 175)."""

    connect_seconds: float = 10.0
    read_seconds: float = 20.0
    write_gap_seconds: float = 1.0
    api_version: str = "2022-11-28"


def graphql_address(api_url: str) -> str:
    """Where GraphQL answers for a REST base: `/api/v3` becomes `/api/graphql`, every other base gets `/graphql`
    (github-facts 178, 179)."""
    plain = api_url.rstrip("/")
    if plain.endswith("/api/v3"):
        return plain.removesuffix("/v3") + "/graphql"
    return plain + "/graphql"


@lru_cache(maxsize=1)
def _trusted_certificates() -> "ssl.SSLContext":
    # Loading them takes tens of milliseconds and they do not change while a process lives.
    return httpx.create_ssl_context()


class _BearerFlow(httpx.Auth):
    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        value = self._credential.bearer()
        if value:
            request.headers["Authorization"] = f"Bearer {value}"
        yield request


class _BearerStrategy(BaseAuthStrategy):
    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    def get_auth_flow(self, github: object) -> httpx.Auth:
        return _BearerFlow(self._credential)


@dataclass(frozen=True, slots=True)
class Request:
    """One request: `path` is below the API's base and already quoted, or a whole address on the same host."""

    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    body: object = None
    expected: tuple[int, ...] = ()


class Connection:
    """An open connection for one credential; a context manager. Any thread may use it, one request at a time.

    Every method either returns what GitHub promised or raises a `GitHubError`. Nothing is sent twice, except once
    more after a 401 when the credential could be renewed: GitHub did nothing then.
    """

    def __init__(self, api_url: str, credential: Credential, settings: ConnectionSettings, pace: Pace) -> None:
        self.api_url = (api_url or _PUBLIC_API).rstrip("/")
        self.settings = settings
        self._credential = credential
        self._pace = pace
        self._turn = threading.Lock()
        # githubkit keeps its open client in a context variable; in our own context every thread finds it.
        self._context = contextvars.copy_context()
        self._github = GitHub(
            _BearerStrategy(credential),
            base_url=self.api_url,
            user_agent="countersign",
            follow_redirects=False,
            timeout=httpx.Timeout(settings.read_seconds, connect=settings.connect_seconds),
            ssl_verify=_trusted_certificates(),
            cache_strategy=MemCacheStrategy(),
            http_cache=False,
            throttler=LocalThrottler(1),
            auto_retry=False,
        )

    def __enter__(self) -> Self:
        self._context.run(self._github.__enter__)
        return self

    def __exit__(self, *failure: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._context.run(self._github.__exit__)

    def __repr__(self) -> str:
        return f"Connection({self.api_url!r})"

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        """The parsed JSON of one answer. A redirect raises `Moved`."""
        call, answer = self._ask(Request("GET", path, params or {}, expected=(200,)))
        return _parsed(answer, call)

    def pages(self, path: str, params: Mapping[str, str | int] | None = None) -> Iterator[Any]:
        """The parsed JSON of each page, following GitHub's own `next` links (github-facts 173)."""
        request = Request("GET", path, {"per_page": 100} | dict(params or {}), expected=(200,))
        for _ in range(MOST_PAGES):
            call, answer = self._ask(request)
            yield _parsed(answer, call)
            following = httpx.Response(200, headers={"link": answer.headers.get("link", "")}).links.get("next")
            if following is None:
                return
            request = Request("GET", self._ours(following["url"], call), expected=(200,))
        raise NotUnderstood("The listing does not end.", Call("GET", path))

    def write(self, request: Request) -> Any:
        """Sends a write once; the parsed JSON of the answer, None when it has no body."""
        call, answer = self._ask(request)
        return _parsed(answer, call) if answer.text else None

    def create(self, request: Request) -> Any:
        """`write` for what creates content that people see: not sooner after the last one than the settings say
        (github-facts 165, 169)."""
        with self._pace.turn():
            return self.write(request)

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Any:
        """The `data` of a query. Raises when there are any `errors` (github-facts 167, 168), except that single
        nodes may be missing: those are null."""
        request = Request("POST", graphql_address(self.api_url), body={"query": query, "variables": dict(variables)})
        call, answer = self._ask(request)
        content = _parsed(answer, call)
        if not isinstance(content, dict):
            raise NotUnderstood("GitHub's GraphQL answer is not an object.", call)
        errors = content.get("errors")
        found = content.get("data")
        if errors and not (isinstance(found, dict) and _only_missing_nodes(errors)):
            raise graphql_error_of(answer, list(errors), call, time.time())
        if not isinstance(found, dict):
            raise NotUnderstood("GitHub's GraphQL answer holds no data.", call)
        return found

    def _ask(self, request: Request) -> tuple[Call, Answer]:
        call, answer = self._send(request)
        if answer.status == 401 and self._credential.renew():
            call, answer = self._send(request)
        if answer.status >= 300:
            raise error_of(answer, call, time.time())
        if request.expected and answer.status not in request.expected:
            raise NotUnderstood(f"GitHub answered with status {answer.status}, which was not promised.", call)
        return call, answer

    def _send(self, request: Request) -> tuple[Call, Answer]:
        call = Call(_spoken(request), _path_of(request.path))
        # The error is raised outside of the handler, so that it does not carry the request with its credential.
        failure: GitHubError
        try:
            with self._turn:
                response = self._context.run(partial(self._exchange, request))
            return _read(response, call)
        except RequestFailed as failed:
            return _read(failed.response.raw_response, call)
        except RequestTimeout as late:
            failure = TimedOut("GitHub did not answer in time.", call, _outcome_of(late.exc, call))
        except RequestError as broken:
            reason = f"GitHub could not be reached: {type(broken.exc).__name__}."
            failure = Unreachable(reason, call, _outcome_of(broken.exc, call))
        except ValueError:
            # githubkit reads the limit headers as whole numbers and fails on any other form, such as a date.
            failure = RateLimited("GitHub's rate limit was met.", call, SHORTEST_PAUSE, LimitKind.SECONDARY)
        raise failure

    def _exchange(self, request: Request) -> httpx.Response:
        headers = {"X-GitHub-Api-Version": self.settings.api_version}
        content = None
        if request.body is not None:
            # Escaped to ASCII: a lone surrogate in a text must not break the request itself.
            content = json.dumps(request.body).encode()
            headers["Content-Type"] = "application/json"
        answered: Response[Any] = self._github.request(
            request.method, request.path, params=dict(request.params) or None, content=content, headers=headers
        )
        return answered.raw_response

    def _ours(self, address: str, call: Call) -> str:
        """`address`, when it is on this API's own host: the credential is sent nowhere else."""
        if not self.leads_to(address, httpx.URL(self.api_url).path):
            raise Moved("GitHub points to another host.", call, address)
        return address

    def leads_to(self, address: str, path: str) -> bool:
        """Whether a whole address is on this API's own host and at `path` or below it, also once dots are resolved."""
        ours, theirs = httpx.URL(self.api_url), httpx.URL(address)
        same_host = (ours.scheme, ours.host, ours.port) == (theirs.scheme, theirs.host, theirs.port)
        below = theirs.path == path or theirs.path.startswith(path.rstrip("/") + "/")
        return same_host and below and ".." not in theirs.path.split("/")


def connect(
    api_url: str,
    credential: Credential,
    settings: ConnectionSettings | None = None,
    installation_id: int = 0,
) -> Connection:
    """A connection to the API at `api_url` (empty: the public one); enter it before use.

    All connections of this process for one API and installation share the pause between content-creating writes.
    """
    chosen = settings or ConnectionSettings()
    return Connection(api_url, credential, chosen, pace_of(api_url, installation_id, chosen.write_gap_seconds))


def _read(response: httpx.Response, call: Call) -> tuple[Call, Answer]:
    request_id = response.headers.get("x-github-request-id", "")
    headers = {name.lower(): value for name, value in response.headers.items()}
    told = Call(call.method, call.path, response.status_code, request_id)
    return told, Answer(response.status_code, headers, response.text)


def _parsed(answer: Answer, call: Call) -> Any:
    try:
        return json.loads(answer.text)
    except ValueError:
        pass
    raise NotUnderstood("GitHub's answer is not JSON.", call)


def _outcome_of(problem: Exception, call: Call) -> Outcome:
    """A write that never had a connection was not done; one that was being sent may have been."""
    never_sent = isinstance(problem, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    return Outcome.MAYBE_DONE if call.writes and not never_sent else Outcome.NOT_DONE


def _only_missing_nodes(errors: object) -> bool:
    return isinstance(errors, list) and all(
        isinstance(error, dict) and error.get("type") == "NOT_FOUND" for error in errors
    )


def _spoken(request: Request) -> str:
    """The method; a GraphQL query is posted and yet only reads."""
    asks = isinstance(request.body, dict) and str(request.body.get("query", "")).startswith("query")
    return "QUERY" if asks else request.method


def _path_of(address: str) -> str:
    """The path alone: query values may hold what people wrote."""
    return httpx.URL(address).path
