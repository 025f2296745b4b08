"""`/setup`: the manifest flow against the twin, each of its guards, and what a crash leaves."""

import hashlib
import json
import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from app.core.asked import api_of, form_address
from app.main import make_server
from app.registration import FILES, expected, finish, is_registered, keep, kept, note, pending
from app.settings import SettingsWrong, web_settings
from app.setup_settings import SetupSettings
from app.web.handing import RegistrarLine
from app.web.setup import SettingUp, make_setup
from infra.twin.twin import NO_APP, Twin
from tests.fakes.registering import Registering
from tests.fakes.services import free_port
from tests.rooms.web.conftest import wait_until
from worker.mint.registering import answer_until_registered
from worker.settings import mint_settings

KEY = "the printed secret"


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    made = Twin.start(tmp_path_factory.mktemp("twin"), NO_APP)
    made.control.add_user("mira")
    yield made
    made.stop()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    note(tmp_path, pending(tmp_path), key_sha256=hashlib.sha256(KEY.encode()).hexdigest())
    return tmp_path


@contextmanager
def pages(data: Path, twin: Twin, port: int) -> Iterator[str]:
    """The set-up's two halves, the pages and the registrar, until the block ends; the printed link."""
    ours, theirs = socket.socketpair()
    registrar = threading.Thread(target=answer_until_registered, args=(theirs.detach(), data), daemon=True)
    registrar.start()
    url = f"http://127.0.0.1:{port}"
    over = threading.Event()
    told = SettingUp(data, url, "", twin.url, RegistrarLine(ours).hand_over, over.set)
    server = make_server(SetupSettings(data, 0, url, "", twin.url, "127.0.0.1", port), make_setup(told))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield f"{url}/setup?key={KEY}"
    finally:
        server.should_exit = True
        thread.join(20)
        ours.close()
        registrar.join(20)


def conversions(twin: Twin) -> int:
    return sum("/app-manifests/" in one["path"] for one in twin.control.journal())


def test_from_the_printed_secret_to_kept_files_and_then_closed_for_good(data: Path, twin: Twin) -> None:
    port = free_port()
    before = conversions(twin)
    with pages(data, twin, port) as link:
        mira, stranger = Registering(link), Registering(link)
        # Who has no secret, or a wrong one, sees nothing.
        for address in (link.partition("?")[0], f"{link}x"):
            assert stranger.browser.get(address).status_code == 403
        page = mira.comes_in()
        for words in ("pull_requests", "no token can write before a", "issue_comment", "countersign.invalid", "slower"):
            assert words in page.text, words
        assert stranger.comes_in().status_code == 403, "the secret works once"
        assert "used already" in stranger.page.text
        # A form of another site lacks the word.
        assert mira.browser.post(link.partition("?")[0], data={"name": "x"}).status_code == 403
        assert mira.sends(organisation="acme org").status_code == 422
        mira.comes_in()
        mira.page = mira.browser.get(link.partition("?")[0])
        leads = mira.sends(organisation="acme")
        assert f"form-action 'self' {twin.url};" in leads.headers["content-security-policy"]
        assert "Create GitHub App for acme" in mira.goes_to_github().text
        back = mira.makes_it(twin.url)
        # What came back must be what was sent, in the browser that sent it.
        state = parse_qs(urlsplit(back).query)["state"][0]
        assert mira.browser.get(back.replace(state, "x" * 64)).status_code == 403
        assert stranger.browser.get(back).status_code == 403
        assert conversions(twin) == before, "nothing was asked of GitHub for a state that is not ours"
        done = mira.browser.get(back)
        assert done.status_code == 200 and f"{twin.url}/apps/countersign-for-stories/installations/new" in done.text
        values = {name: kept(data, name) for name in FILES}
        assert values["GITHUB_APP_ID"] == str(twin.app.id) and values["COUNTERSIGN_PULL"] == "yes"
        secrets = (twin.app.hook_secret, twin.app.client_secret, str(values["GITHUB_PRIVATE_KEY"]).splitlines()[5])
        assert (values["GITHUB_WEBHOOK_SECRET"], values["GITHUB_CLIENT_SECRET"]) == secrets[:2]
        assert not any(secret in done.text for secret in secrets)
        cookie = mira.handed
        assert all(word in cookie for word in ("HttpOnly", "SameSite=lax", "Path=/setup"))
        for address in (link, link.partition("?")[0], back):
            assert mira.browser.get(address).status_code == 410
        assert mira.browser.post(link.partition("?")[0], data={"name": "x"}).status_code == 410
        guesses = [stranger.browser.get(link).status_code for _ in range(31)]
        assert guesses[-1] == 429, "who guesses has to wait"
    assert stat.S_IMODE((data / "app").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (data / "app").iterdir()} == {0o600}
    assert not list(data.glob("setup.json")) and not list(data.glob("app.answer"))
    env = {"COUNTERSIGN_DATA_DIR": str(data)}
    mint = mint_settings(env | {"COUNTERSIGN_MINT_LINES_FD": "3"})
    assert (mint.app_id, mint.private_key) == (values["GITHUB_APP_ID"], values["GITHUB_PRIVATE_KEY"])
    web = web_settings(env)
    assert web.secrets == (twin.app.hook_secret.encode(),)
    assert web_settings(env | {"GITHUB_WEBHOOK_SECRET": "explicit"}).secrets == (b"explicit",)
    os.chmod(data / "app" / "webhook-secret", 0o644)
    with pytest.raises(SettingsWrong, match="read by others"):
        web_settings(env)


def test_a_set_up_that_broke_off_goes_on_and_a_code_works_once_and_for_an_hour(data: Path, twin: Twin) -> None:
    port = free_port()
    with pages(data, twin, port) as link:
        mira = Registering(link)
        mira.comes_in()
        mira.sends()
        mira.goes_to_github()
        back = mira.makes_it(twin.url, "Another name")
    with pytest.raises(httpx.ConnectError):
        mira.browser.get(back)
    state, code = (parse_qs(urlsplit(back).query)[name][0] for name in ("state", "code"))
    began = pending(data).began
    assert expected(data, state, began + 3599) and expected(data, state, began + 3601) is None
    assert expected(data, "", began) is None
    with pages(data, twin, port) as link:
        # GitHub does not answer: the same address can be opened again.
        twin.control.fault(r"^POST /app-manifests/", status=502, body="{}", times=1)
        again = mira.browser.get(back)
        assert again.status_code == 502 and "Reload this page" in again.text and not is_registered(data)
        httpx.post(f"{twin.url}/app-manifests/{code}/conversions", trust_env=False)
        used = mira.browser.get(back)
        assert used.status_code == 502 and "it works once" in used.text
        assert mira.browser.get(back).status_code == 403, "there is nothing left to wait for"
        mira.page = mira.browser.get(link.partition("?")[0])
        assert mira.sends(name="Another one").status_code == 200
    assert not is_registered(data)


def test_an_answer_that_was_stored_when_the_process_died_is_kept_by_the_next(data: Path) -> None:
    values = {"GITHUB_APP_ID": "7", "GITHUB_PRIVATE_KEY": "a key"}
    (data / "app.answer").write_text(json.dumps(values))
    (data / "app.partial").mkdir()
    assert finish(data) and is_registered(data) and not finish(data)
    assert {name: kept(data, name) for name in values} == values
    keep(data, {"GITHUB_APP_ID": "8"})
    assert kept(data, "GITHUB_APP_ID") == "7", "what is registered is not overwritten"


@pytest.mark.parametrize(
    ("host", "api"),
    [
        ("github.com", "https://api.github.com"), ("https://github.com/", "https://api.github.com"),
        ("acme.ghe.com", "https://api.acme.ghe.com"), ("git.example.test", "https://git.example.test/api/v3"),
        ("localhost", None), ("a b.example.test", None), ("user@example.test", None), ("example.test/evil", None),
    ],
)  # fmt: skip
def test_each_kind_of_github_has_its_api(host: str, api: str | None) -> None:
    assert api_of(host) == api


def test_an_organisation_is_a_plain_name() -> None:
    assert form_address("https://a.test", "acme", "s") == "https://a.test/organizations/acme/settings/apps/new?state=s"
    assert form_address("https://a.test", "", "s") == "https://a.test/settings/apps/new?state=s"
    for wrong in ("a/b", "a?b", "..", "a b"):
        with pytest.raises(ValueError, match="no name"):
            form_address("https://a.test", wrong, "s")
