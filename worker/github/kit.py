"""The one module that loads githubkit: a client with its dangerous defaults changed, and addresses as it reads them.

What is different from githubkit's defaults (github-facts 196-207): time-outs, no automatic repeat, no HTTP cache, no
cache shared with another server, no redirect followed by itself, and one request at a time.
"""

import contextvars
import json
import threading
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import httpx
from githubkit import GitHub, Response
from githubkit.auth import BaseAuthStrategy
from githubkit.cache import MemCacheStrategy
from githubkit.exception import RequestError, RequestFailed, RequestTimeout
from githubkit.throttling import LocalThrottler

from worker.github.asking import ConnectionSettings, Credential, Request
from worker.github.errors import (
    SHORTEST_PAUSE,
    Call,
    GitHubError,
    LimitKind,
    Outcome,
    RateLimited,
    TimedOut,
    Unreachable,
)
from worker.github.translation import Answer

if TYPE_CHECKING:
    import ssl


class Kit:
    """One open HTTP client for one credential. Any thread may use it; requests go out one at a time."""

    def __init__(self, api_url: str, credential: Credential, settings: ConnectionSettings) -> None:
        self._settings = settings
        self._turn = threading.Lock()
        # githubkit keeps its open client in a context variable; in our own context every thread finds it.
        self._context = contextvars.copy_context()
        self._github = GitHub(
            _BearerStrategy(credential),
            base_url=api_url,
            user_agent="countersign",
            follow_redirects=False,
            timeout=httpx.Timeout(settings.read_seconds, connect=settings.connect_seconds),
            ssl_verify=_trusted_certificates(),
            cache_strategy=MemCacheStrategy(),
            http_cache=False,
            throttler=LocalThrottler(1),
            auto_retry=False,
        )
        self._context.run(self._github.__enter__)

    def close(self) -> None:
        """No connection stays open."""
        with self._turn:
            self._context.run(self._github.__exit__)

    def send(self, request: Request) -> tuple[Call, Answer]:
        """Sends once and returns whatever was answered. Raises `Unreachable` or `TimedOut` when nothing was."""
        call = Call(_spoken(request), httpx.URL(request.path).path)
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
        headers = {"X-GitHub-Api-Version": self._settings.api_version}
        content = None
        if request.body is not None:
            # Escaped to ASCII: a lone surrogate in a text must not break the request itself.
            content = json.dumps(request.body).encode()
            headers["Content-Type"] = "application/json"
        answered: Response[Any] = self._github.request(
            request.method, request.path, params=dict(request.params) or None, content=content, headers=headers
        )
        return answered.raw_response


def leads_to(api_url: str, address: str, path: str) -> bool:
    """Whether `address` is on the API's own host and, below its base, at `path` or under it, dots resolved."""
    ours, theirs = httpx.URL(api_url), httpx.URL(address)
    path = ours.path.rstrip("/") + path
    same_host = (ours.scheme, ours.host, ours.port) == (theirs.scheme, theirs.host, theirs.port)
    below = theirs.path == path or theirs.path.startswith(path.rstrip("/") + "/")
    return same_host and below and ".." not in theirs.path.split("/")


def next_page(answer: Answer) -> str | None:
    """The address in the `next` link, None on the last page."""
    links = httpx.Response(200, headers={"link": answer.headers.get("link", "")}).links
    return links["next"]["url"] if "next" in links else None


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


@lru_cache(maxsize=1)
def _trusted_certificates() -> "ssl.SSLContext":
    # Loading them takes tens of milliseconds and they do not change while a process lives.
    return httpx.create_ssl_context()


def _read(response: httpx.Response, call: Call) -> tuple[Call, Answer]:
    request_id = response.headers.get("x-github-request-id", "")
    headers = {name.lower(): value for name, value in response.headers.items()}
    told = Call(call.method, call.path, response.status_code, request_id)
    return told, Answer(response.status_code, headers, response.text)


def _outcome_of(problem: Exception, call: Call) -> Outcome:
    """A write that never had a connection was not done; one that was being sent may have been."""
    never_sent = isinstance(problem, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError))
    return Outcome.MAYBE_DONE if call.writes and not never_sent else Outcome.NOT_DONE


def _spoken(request: Request) -> str:
    """The method; a GraphQL query is posted and yet only reads."""
    asks = isinstance(request.body, dict) and str(request.body.get("query", "")).startswith("query")
    return "QUERY" if asks else request.method
