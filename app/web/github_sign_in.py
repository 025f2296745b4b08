"""Signing in through the App's own GitHub OAuth, and what GitHub says a person may see: the only client of authlib.

The web application flow with PKCE and state. The user token can do what the App may and the person may, both; it is
used for reading the two lists below and for nothing else. GitHub's refresh token is thrown away: a session ends with
its token, and signing in again is one click, so that nothing longer-lived has to be kept anywhere.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
from authlib.common.errors import AuthlibBaseError  # type: ignore[import-untyped]
from authlib.integrations.httpx_client import OAuth2Client  # type: ignore[import-untyped]

from app.web.signing_in import NotAsked, SignedIn, TokenOver

SEEN_FOR = 60.0
"""Seconds for which GitHub's answer about a person's repositories is used: as late may it be noticed that somebody
lost access."""
MOST_PAGES = 100
MOST_REMEMBERED = 1_000
PATIENCE = 10.0
SECRET_IN_FORM = "client_secret_post"  # noqa: S105 (the name of a method)
HEADERS = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GitHubApp:
    """The App as OAuth knows it. Addresses are without a slash at their ends."""

    client_id: str
    client_secret: str = field(repr=False)
    web_url: str
    api_url: str
    callback: str


class GitHubSignIn:
    """Sends people to GitHub, takes them back, and asks what they may see."""

    def __init__(self, app: GitHubApp, clock: Callable[[], float] = time.monotonic) -> None:
        self.app = app
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[float, frozenset[int]]] = {}

    def address(self, state: str, verifier: str) -> str:
        """Where a person signs in at GitHub."""
        with self._client() as client:
            url, _ = client.create_authorization_url(
                f"{self.app.web_url}/login/oauth/authorize", state=state, code_verifier=verifier
            )
        return str(url)

    def redeem(self, code: str, verifier: str) -> SignedIn:
        """Who came back with this code. Raises `NotAsked`: GitHub says what is wrong under status 200 as well."""
        try:
            with self._client() as client:
                told = client.fetch_token(
                    f"{self.app.web_url}/login/oauth/access_token", code=code, code_verifier=verifier
                )
            token, seconds = str(told["access_token"]), float(told.get("expires_in") or 28_800)
        except (AuthlibBaseError, httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            why = getattr(error, "description", "") or type(error).__name__
            raise NotAsked(f"GitHub did not complete the sign-in: {why}") from None
        try:
            login = str(self._get("/user", token).json()["login"])
        except (TokenOver, KeyError, ValueError, TypeError):
            raise NotAsked("GitHub did not say who signed in.") from None
        return SignedIn(login, token, seconds)

    def repositories(self, token: str) -> frozenset[int]:
        """Ids of the repositories that this person may see among those where the App is installed, as GitHub says now
        or said within the last minute. That anybody may read a public one does not count: GitHub lists what the person
        was given. Raises `TokenOver` and `NotAsked`."""
        name = hashlib.sha256(token.encode()).hexdigest()
        with self._lock:
            until, known = self._seen.get(name, (0.0, frozenset()))
        if self._clock() < until:
            return known
        found = frozenset(self._asked(token))
        with self._lock:
            if len(self._seen) >= MOST_REMEMBERED:
                self._seen.clear()
            self._seen[name] = (self._clock() + SEEN_FOR, found)
        return found

    def forget(self, token: str) -> None:
        """The token is dead at GitHub as well, where GitHub can be reached; it ends by itself otherwise."""
        path = f"{self.app.api_url}/applications/{self.app.client_id}/token"
        with self._lock:
            self._seen.pop(hashlib.sha256(token.encode()).hexdigest(), None)
        try:
            with httpx2.Client(timeout=PATIENCE, auth=(self.app.client_id, self.app.client_secret)) as client:
                client.request("DELETE", path, json={"access_token": token}, headers=HEADERS)
        except httpx2.HTTPError as error:
            _LOG.warning("a token could not be given back at sign-out: %s", type(error).__name__)

    def _asked(self, token: str) -> Iterator[int]:
        for installation in self._every("/user/installations", "installations", token):
            if installation.get("suspended_at"):
                continue
            path = f"/user/installations/{int(installation['id'])}/repositories"
            for repository in self._every(path, "repositories", token):
                yield int(repository["id"])

    def _every(self, path: str, key: str, token: str) -> Iterator[dict[str, Any]]:
        """Every entry of a list, over its pages. One that is gone meanwhile has none."""
        url = f"{path}?per_page=100"
        for _ in range(MOST_PAGES):
            answer = self._get(url, token)
            if answer.status_code in (403, 404) and path.endswith("repositories"):
                return
            try:
                yield from answer.raise_for_status().json()[key]
            except (httpx2.HTTPError, ValueError, KeyError, TypeError):
                raise NotAsked("GitHub did not say what may be seen.") from None
            after = answer.links.get("next", {}).get("url", "")
            if not after:
                return
            if not after.startswith(f"{self.app.api_url}/"):
                raise NotAsked("GitHub points to another host for the rest of its list.")
            url = after.removeprefix(self.app.api_url)
        _LOG.warning("a person has more than %d pages of %s; the rest is not shown to them", MOST_PAGES, key)

    def _get(self, path: str, token: str) -> httpx2.Response:
        try:
            with httpx2.Client(timeout=PATIENCE) as client:
                answer = client.get(f"{self.app.api_url}{path}", headers=HEADERS | {"authorization": f"Bearer {token}"})
        except httpx2.HTTPError as error:
            raise NotAsked(f"GitHub cannot be reached now ({type(error).__name__}).") from None
        if answer.status_code == 401:
            raise TokenOver
        limited = answer.status_code == 429 or answer.headers.get("x-ratelimit-remaining") == "0"
        if answer.status_code >= 500 or (limited and not answer.is_success):
            raise NotAsked(f"GitHub answers with status {answer.status_code}.")
        return answer

    def _client(self) -> Any:
        app = self.app
        return OAuth2Client(
            app.client_id, app.client_secret, redirect_uri=app.callback, code_challenge_method="S256", timeout=PATIENCE,
            token_endpoint_auth_method=SECRET_IN_FORM,
        )  # fmt: skip
