"""Coming in: through GitHub (the twin plays it), by a one-time link; and what who came in may see."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import Request, Response

from app.settings import SettingsWrong, web_settings
from app.web.github_sign_in import SEEN_FOR, GitHubApp, GitHubSignIn
from app.web.links import GOOD_FOR, new_link, take_link
from app.web.live import PACE, Pace
from app.web.sessions import LASTS, Seal, seal_of
from app.web.sheets import HEADERS
from app.web.signing_in import NotAsked, TokenOver
from infra.twin.twin import AppWish, Twin
from tests.fakes.facts import a_request, labelled
from tests.fakes.household import app_key
from tests.fakes.services import free_port
from tests.rooms.web.conftest import Door, labeled, running
from tests.rooms.web.test_pages import opened

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
SECRET = "the client secret of these tests"


@dataclass
class Site:
    """A web process whose people sign in at the twin, with a run in a repository of mira's and one in another."""

    door: Door
    twin: Twin
    github: GitHubApp
    mine: int
    other: int

    def browser(self, login: str) -> httpx.Client:
        """A browser of somebody who is signed in at GitHub already."""
        browser = httpx.Client(follow_redirects=True, timeout=60, trust_env=False)
        browser.cookies.set("twin_acting", login, domain="127.0.0.1")
        return browser

    def goes_in(self, login: str, answer: str = "yes") -> tuple[httpx.Client, httpx.Response]:
        """They follow the link, answer GitHub's question where there is one, and come back."""
        browser = self.browser(login)
        page = browser.get(f"{self.door.url}/sign-in")
        if "would like to know who you are" in page.text:
            form = dict(HIDDEN.findall(page.text)) | {"answer": answer}
            page = browser.post(f"{self.twin.url}/_twin/authorize", data=form)
        return browser, page


@pytest.fixture
def site(env: dict[str, str], tmp_path: Path) -> Iterator[Site]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    wish = AppWish(public_key=app_key()[1], client_secret=SECRET, callback_urls=(f"{url}/sign-in/back",))
    twin = Twin.start(tmp_path / "twin", wish)
    for login in ("mira", "olga"):
        twin.control.add_user(login)
    mine = twin.control.add_repo("acme/mine", collaborators={"mira": "read"})["id"]
    other = twin.control.add_repo("acme/other", collaborators={"olga": "write"})["id"]
    twin.control.install("acme")
    told = {"COUNTERSIGN_URL": url, "GITHUB_CLIENT_ID": twin.app.client_id, "GITHUB_CLIENT_SECRET": SECRET}
    settings = web_settings(env | told | {"GITHUB_API_URL": twin.url, "PORT": str(port)})
    github = GitHubApp(twin.app.client_id, SECRET, twin.url, twin.url, f"{url}/sign-in/back")
    with running(settings, port=port, pace=Pace(asked=0.05, heartbeat=0.2, longest=0.5)) as door:
        for run, repository in (("r-mine", mine), ("r-other", other)):
            request = a_request(run=run, number=1, repository_id=repository)
            named = request.model_copy(update={"repository": f"acme/{run.removeprefix('r-')}"})
            opened(door.ledger, labelled(named))
        yield Site(door, twin, github, mine, other)
    twin.stop()


def test_a_person_sees_the_runs_of_their_repositories_and_nothing_of_others_until_they_leave(site: Site) -> None:
    url = site.door.url
    assert "Sign in with GitHub" in site.browser("mira").get(f"{url}/runs").text
    browser, page = site.goes_in("mira")
    assert page.url.path == "/runs" and "r-mine" in page.text and "other" not in page.text
    assert browser.get(f"{url}/runs/r-mine").status_code == 200
    for repository, name in ((site.mine, "acme/shown"), (site.other, "acme/hidden")):
        told = labeled(repository={"id": repository, "full_name": name}, installation={"id": repository})
        assert site.door.post("issues", told).status_code == 202
    lists = browser.get(f"{url}/runs").text
    assert "acme/shown" in lists and "acme/hidden" not in lists
    sought = browser.get(f"{url}/runs?state=wanted").text
    assert "r-mine" in sought and "r-other" not in sought
    assert "Of the newest 2 runs" in browser.get(f"{url}/numbers").text
    assert browser.get(f"{url}/runs/r-other/live").status_code == 404
    hidden, absent = browser.get(f"{url}/runs/r-other"), browser.get(f"{url}/runs/r-nothere")
    assert (hidden.status_code, hidden.text) == (absent.status_code, absent.text) == (404, absent.text)
    cookie = next(one for one in browser.cookies.jar if one.name == "countersign")
    token = next(iter(site.twin.forge.sign_ins.tokens))
    assert cookie.value and token not in cookie.value and "mira" not in cookie.value
    # No page of another site can end the session: it lacks the form's word, and the browser says where it comes from.
    you = browser.get(f"{url}/you")
    word = dict(HIDDEN.findall(you.text))
    assert "mira" in you.text
    assert browser.post(f"{url}/sign-out", data={"form": "guessed"}).status_code == 403
    assert browser.post(f"{url}/sign-out", data=word, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert browser.get(f"{url}/runs").status_code == 200
    assert "You are signed out" in browser.post(f"{url}/sign-out", data=word).text
    assert not site.twin.forge.sign_ins.tokens, "the token is dead at GitHub"
    assert browser.get(f"{url}/runs").status_code == 401
    browser.cookies.set("countersign", cookie.value, domain="127.0.0.1")
    again = browser.get(f"{url}/runs")
    assert (again.status_code, "ended this sign-in" in again.text) == (401, True), "a copied cookie is worth nothing"


def test_who_may_see_nothing_or_does_not_want_to_or_comes_with_anothers_answer_is_told_so(site: Site) -> None:
    site.twin.control.add_user("nobody")
    _, page = site.goes_in("nobody")
    assert page.status_code == 403 and "nobody has no access to any repository" in page.text
    _, page = site.goes_in("olga", "no")
    assert page.status_code == 403 and "You did not let the App know" in page.text
    # An answer that this browser did not ask for: somebody would be signed in as who sent it.
    asked = httpx.get(f"{site.door.url}/sign-in", trust_env=False).headers["location"]
    told = parse_qs(urlsplit(asked).query)
    assert told["code_challenge_method"] == ["S256"] and len(told["state"][0]) == 64
    for state in (told["state"][0], ""):
        page = site.browser("mira").get(f"{site.door.url}/sign-in/back", params={"code": "c", "state": state})
        assert page.status_code == 403 and "not begun in this browser" in page.text
    # GitHub says under status 200 that a code is wrong.
    browser = httpx.Client(timeout=60, trust_env=False)
    state = parse_qs(urlsplit(browser.get(f"{site.door.url}/sign-in").headers["location"]).query)["state"][0]
    page = browser.get(f"{site.door.url}/sign-in/back", params={"code": "wrong", "state": state})
    assert page.status_code == 403 and "incorrect or expired" in page.text
    assert "default-src &#39;none&#39;" not in page.text and "unsafe" not in page.headers["content-security-policy"]


def test_nobody_is_led_elsewhere_and_every_answer_bounds_what_a_browser_may_do(site: Site) -> None:
    url = site.door.url
    site.twin.forge.sign_ins.authorised.add("mira")
    browser = site.browser("mira")
    begun = browser.get(f"{url}/sign-in?next=https://evil.example", follow_redirects=False)
    assert begun.headers["location"].startswith(f"{site.twin.url}/login/oauth/authorize?")
    back = browser.get(begun.headers["location"], follow_redirects=False).headers["location"]
    assert browser.get(f"{back}&next=//evil.example", follow_redirects=False).headers["location"] == "/runs"
    assert all(word in begun.headers["set-cookie"] for word in ("HttpOnly", "SameSite=lax", "Path=/"))
    for path in ("/runs", "/you", "/numbers", "/runs/r-nothere", "/runs/r-other/kept/x", "/setup", "/sign-in/back"):
        for one in (browser, httpx):
            answer = one.get(f"{url}{path}")
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, path
    rules = dict(one.strip().partition(" ")[::2] for one in HEADERS["content-security-policy"].split(";"))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("frame-ancestors") == "'none'"
    assert rules.pop("form-action") == "'self'" and set(rules.values()) == {"'self'"}


def test_a_stream_does_not_go_on_behind_a_session_that_ended(site: Site) -> None:
    site.twin.forge.sign_ins.authorised.add("mira")
    browser, _ = site.goes_in("mira")
    address = f"{site.door.url}/runs/r-mine/live"
    with browser.stream("GET", address) as stream:
        word = dict(HIDDEN.findall(browser.get(f"{site.door.url}/you").text))
        copied = dict(browser.cookies)
        assert browser.post(f"{site.door.url}/sign-out", data=word).status_code == 200
        assert list(stream.iter_lines()), "it ends by itself"
    assert httpx.get(address, cookies=copied, trust_env=False).status_code == 401
    assert PACE.longest <= SEEN_FOR <= 60, "so late may it be noticed"


def test_who_tries_too_often_has_to_wait(site: Site, env: dict[str, str]) -> None:
    answers = [httpx.get(f"{site.door.url}/sign-in", trust_env=False) for _ in range(31)]
    assert [one.status_code for one in answers] == [303] * 30 + [429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 61
    assert httpx.get(f"{site.door.url}/sign-in/back", trust_env=False).status_code == 429
    with running(web_settings(env)) as door:
        guesses = [httpx.get(f"{door.url}/enter?key={'x' * 32}", trust_env=False).status_code for _ in range(31)]
        assert (guesses[0], guesses[-1]) == (403, 429)


def test_the_list_of_what_may_be_seen_stays_with_this_github_and_leaves_out_the_suspended(site: Site) -> None:
    token = str(site.twin.forge.sign_ins.new_token(site.twin.forge.world, _person(site, "mira"))["access_token"])
    elsewhere = {"link": '<http://127.0.0.1:9/user/installations?page=2>; rel="next"'}
    site.twin.control.fault(
        r"^GET /user/installations", mode="instead", status=200, body='{"installations": []}', headers=elsewhere
    )
    with pytest.raises(NotAsked, match="another host"):
        GitHubSignIn(site.github).repositories(token)
    assert GitHubSignIn(site.github).repositories(token) == {site.mine}
    site.twin.control.suspend("acme")
    assert GitHubSignIn(site.github).repositories(token) == set()


def test_what_a_person_may_see_is_asked_again_after_a_minute_and_is_nothing_where_github_is_away(site: Site) -> None:
    now = [0.0]
    github = GitHubSignIn(site.github, lambda: now[0])
    twin, token = site.twin, site.twin.forge.sign_ins.new_token(site.twin.forge.world, _person(site, "mira"))
    value = str(token["access_token"])
    twin.control.set_permission("acme/other", "mira", "triage")
    assert github.repositories(value) == {site.mine, site.other}
    twin.control.set_permission("acme/other", "mira", "none")
    now[0] = SEEN_FOR - 1
    assert github.repositories(value) == {site.mine, site.other}
    now[0] = SEEN_FOR + 1
    assert github.repositories(value) == {site.mine}
    twin.control.set_clock(9 * 3600)
    now[0] *= 3
    with pytest.raises(TokenOver):
        github.repositories(value)
    away = GitHubSignIn(replace(site.github, api_url="http://127.0.0.1:9"), lambda: now[0])
    with pytest.raises(NotAsked):
        away.repositories(value)


def _person(site: Site, login: str):  # type: ignore[no-untyped-def]
    return site.twin.forge.world.person(login)


def test_a_code_is_worth_nothing_without_the_verifier_of_who_asked_for_it(site: Site) -> None:
    github = GitHubSignIn(site.github)
    site.twin.forge.sign_ins.authorised.add("mira")
    codes = []
    for verifier in ("v" * 64, "w" * 64):
        browser = site.browser("mira")
        back = browser.get(github.address("s" * 64, verifier), follow_redirects=False).headers["location"]
        codes.append(parse_qs(urlsplit(back).query)["code"][0])
    with pytest.raises(NotAsked):
        github.redeem(codes[0], "x" * 64)
    person = github.redeem(codes[1], "w" * 64)
    assert (person.login, person.seconds) == ("mira", 28_800)
    assert person.token not in repr(person)


def _asks(seal: Seal, answer: Response) -> Request:
    cookie = answer.headers["set-cookie"].partition(";")[0]
    return Request({"type": "http", "headers": [(b"cookie", cookie.encode())]})


def test_a_session_ends_is_sealed_and_over_tls_goes_to_this_host_alone() -> None:
    now = [1_000_000.0]
    seal = replace(seal_of(b"a secret", "https"), clock=lambda: now[0])
    answer = Response()
    seal.begin(answer, "mira", "ghu_x", 3600)
    flags = answer.headers["set-cookie"]
    assert flags.startswith("__Host-countersign=") and "domain" not in flags.lower()
    assert all(word in flags for word in ("HttpOnly", "Secure", "SameSite=lax", "Path=/"))
    request = _asks(seal, answer)
    session = seal.session(request)
    assert session is not None and (session.name, session.token) == ("mira", "ghu_x")
    now[0] += 3599
    assert seal.session(request) is not None
    now[0] += 2
    assert seal.session(request) is None
    longest = Response()
    seal.begin(longest, "mira", "", 10 * LASTS)
    now[0] += LASTS + 1
    assert seal.session(_asks(seal, longest)) is None
    assert replace(seal_of(b"another secret", "https"), clock=lambda: 1_000_000.0).session(request) is None


def test_a_link_lets_one_browser_in_once_from_this_machine_and_for_ten_minutes(door: Door) -> None:
    stranger = httpx.Client(trust_env=False, timeout=60)
    assert stranger.get(f"{door.url}/runs").status_code == 401
    link = new_link(door.data_dir, door.url)
    assert stranger.get(link, headers={"x-forwarded-for": "203.0.113.9"}).status_code == 403
    assert stranger.get(link).headers["location"] == "/runs"
    assert stranger.get(f"{door.url}/runs").status_code == 200
    assert stranger.get(f"{door.url}/runs", headers={"via": "1.1 proxy"}).status_code == 403
    again = httpx.get(link, trust_env=False)
    assert again.status_code == 403 and "was used already" in again.text
    key = new_link(door.data_dir, "").partition("=")[2]
    assert not take_link(door.data_dir, key, lambda: 4e9) and GOOD_FOR == 600
    assert not take_link(door.data_dir, "../../etc/passwd")
    word = dict(HIDDEN.findall(stranger.get(f"{door.url}/you").text))
    assert stranger.post(f"{door.url}/sign-out", data=word).status_code == 200
    assert stranger.get(f"{door.url}/runs").status_code == 401


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"GITHUB_CLIENT_ID": "Iv1"}, "GITHUB_CLIENT_SECRET"), ({"GITHUB_CLIENT_SECRET": "x"}, "GITHUB_CLIENT_ID"),
        ({"COUNTERSIGN_URL": "http://hooks.example.test"}, "COUNTERSIGN_URL"),
        ({"GITHUB_CLIENT_ID": "a", "GITHUB_CLIENT_SECRET": "b", "COUNTERSIGN_URL": "https://a.example.test",
          "COUNTERSIGN_PAGES_PASSWORD": "c"}, "COUNTERSIGN_PAGES_PASSWORD"),
    ],
)  # fmt: skip
def test_half_a_way_in_and_two_of_them_are_refused(env: dict[str, str], wrong: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsWrong) as refused:
        web_settings(env | wrong)
    assert refused.value.name == named
