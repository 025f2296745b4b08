"""`countersign egress`: one way out for each process that needs one, to exactly what the belt table gives it; and every
client of ours goes by it."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.handed import MAY_BE_EMPTY, HandedWrong, with_files
from app.settings import SettingsWrong, environment
from infra.scripted_model.server import ScriptedModel
from infra.twin.twin import Twin
from tests.fakes.greeting import FILES, SCRIPT
from tests.fakes.tls_front import TlsFront, write_papers
from tests.rooms.entry.conftest import PLAIN, ROOT, refused, run, stop, until
from worker.way_out import hosts_of, way_out, ways_out

SAID = {
    "GITHUB_API_URL": "https://api.acme.ghe.com", "ANTHROPIC_BASE_URL": "https://models.example.com:8443",
    "COUNTERSIGN_DOCS_HOSTS": "docs.example.com", "COUNTERSIGN_EGRESS_HOSTS": "packages.example.com",
    "GITHUB_CLIENT_ID": "Iv1.1",
}  # fmt: skip
API, CODE, MODEL = "api.acme.ghe.com:443", "acme.ghe.com:443", "models.example.com:8443"
DOCS, PACKAGES = "docs.example.com:443", "packages.example.com:443"


def test_each_process_has_the_way_out_that_the_belt_table_gives_it() -> None:
    assert {process: {str(host) for host in hosts_of(process, SAID)} for process in ways_out()} == {
        "mint": {API},
        "planner": {API, CODE, MODEL, DOCS, PACKAGES},
        "executor": {API, CODE, MODEL, PACKAGES},
        "publisher": {API},
        "web": {API, CODE},
    }
    assert hosts_of("web", {}) == frozenset(), "nobody signs in there"


def test_where_nothing_is_said_it_is_the_public_github_and_the_vendor_alone() -> None:
    assert {str(host) for host in hosts_of("executor", {})} == {
        "api.github.com:443", "github.com:443", "api.anthropic.com:443",
    }  # fmt: skip


@pytest.mark.parametrize(("process", "env", "name"), [
    ("beat", {}, "beat"),
    ("nobody", {}, "nobody"),
    ("planner", {"ANTHROPIC_BASE_URL": "http://models.example.com"}, "ANTHROPIC_BASE_URL"),
    ("mint", {"GITHUB_API_URL": "https://10.0.0.1/api/v3"}, "GITHUB_API_URL"),
    ("planner", {"COUNTERSIGN_DOCS_HOSTS": "wiki"}, "COUNTERSIGN_DOCS_HOSTS"),
    ("planner", {"COUNTERSIGN_EGRESS_HOSTS": "*.example.com"}, "COUNTERSIGN_EGRESS_HOSTS"),
    ("planner", {"COUNTERSIGN_EGRESS_NETWORKS": "10.0.0.1/8"}, "COUNTERSIGN_EGRESS_NETWORKS"),
    ("planner", {"COUNTERSIGN_EGRESS_NAMES": "a.example.com"}, "COUNTERSIGN_EGRESS_NAMES"),
    ("mint", {"COUNTERSIGN_EGRESS_LISTEN": "3128"}, "COUNTERSIGN_EGRESS_LISTEN"),
    ("mint", {"GITHUB_PRIVATE_KEY": "a key"}, "GITHUB_PRIVATE_KEY"),
    ("planner", {"ANTHROPIC_API_KEY": "a key"}, "ANTHROPIC_API_KEY"),
    ("planner", {"DATABASE_URL": "postgresql://h/x"}, "DATABASE_URL"),
])  # fmt: skip
def test_what_cannot_be_a_way_out_is_refused(process: str, env: dict[str, str], name: str) -> None:
    with pytest.raises(SettingsWrong, match=name.replace("*", ".")):
        way_out(process, env)


def test_a_refusal_is_one_sentence_and_no_start() -> None:
    refused(run("egress", "beat", env={}), "beat")


# -- secrets as files ------------------------------------------------------------------------------------------


def test_a_secret_may_be_a_file_and_nothing_of_it_is_taken_for_granted(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("postgresql://u:word@h/x\n")
    assert with_files({"DATABASE_URL_FILE": str(file)}) == {"DATABASE_URL": "postgresql://u:word@h/x"}
    for wrong in (
        {"DATABASE_URL_FILE": str(file), "DATABASE_URL": "sqlite:///x"},
        {"DATABASE_URL_FILE": str(tmp_path / "none")},
        {"DATABASE_URL_FILE": str(tmp_path)},
    ):
        with pytest.raises(HandedWrong, match="DATABASE_URL") as said:
            with_files(wrong)
        assert "word" not in str(said.value)
    file.write_text(" \n")
    with pytest.raises(HandedWrong, match="is empty"):
        with_files({"ANTHROPIC_API_KEY_FILE": str(file)})
    # An installation may do without people who sign in, and replaces no secret most of the time; files are mounted.
    for name in MAY_BE_EMPTY:
        assert not with_files({f"{name}_FILE": str(file)})[name].strip()


def test_the_environment_of_a_process_is_read_with_its_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key")
    monkeypatch.setenv("ANTHROPIC_API_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert environment()["ANTHROPIC_API_KEY"] == "a key"


def test_a_file_is_no_way_around_what_a_process_may_not_hold(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key")
    refused(run("beat", env={"ANTHROPIC_API_KEY_FILE": str(tmp_path / "key")}), "ANTHROPIC_API_KEY")


# -- every client of ours, through a real one -----------------------------------------------------------------

CLIENTS = """
import json, os, tempfile
from pathlib import Path
from app.settings import environment
from worker.docs.fetching import Documentation
from worker.github.connection import Anonymous, connect
from worker.github.errors import GitHubError
from worker.model.line import Line, Towards
from worker.repo.mirror import MirrorError, Mirrors, Remote
from worker.settings import docs_settings, git_transport, github_settings

env = environment()
docs = docs_settings(env)
pages = Documentation(docs.reach, through=docs.through)

def asked_api(host):
    try:
        with connect(f"https://{host}", Anonymous()) as connection:
            return connection.get("/users/mira")["login"]
    except GitHubError as error:
        return f"{type(error).__name__} {error.call.status}"

def fetched(host):
    with tempfile.TemporaryDirectory() as folder:
        mirror = Mirrors(Path(folder), git_transport(env)).mirror("x", 1)
        try:
            mirror.fetch(Remote(f"https://{host}/acme/greet.git"), os.environ["COMMIT"])
            return mirror.holds(os.environ["COMMIT"])
        except MirrorError as error:
            return type(error).__name__

def asked_model(host):
    url = f"https://{host}"
    client = Line(Towards.of(url)).client("k", url, 10)
    try:
        return client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}]).id
    except Exception as error:
        return type(error).__name__

doors = {"api": asked_api, "git": fetched, "model": asked_model, "docs": lambda host: str(pages.read(f"https://{host}/"))}
asks = [ask.split() for ask in os.environ["ASKS"].split(",")]
print(json.dumps({f"{door} {host}": doors[door](host) for door, host in asks}))
"""


@dataclass
class World:
    """GitHub, the model and documentation, each behind TLS, under names that no resolver knows."""

    twin: Twin
    model: ScriptedModel
    fronts: dict[str, TlsFront]
    trusted: Path

    def host(self, name: str) -> str:
        return f"{name}:{self.fronts[name].port}"

    def said(self) -> dict[str, str]:
        return {
            "GITHUB_API_URL": f"https://{self.host('github.test')}",
            "ANTHROPIC_BASE_URL": f"https://{self.host('models.test')}",
            "COUNTERSIGN_DOCS_HOSTS": f"{self.host('docs.test')} {self.host('other.test')}",
        }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    names = ["github.test", "models.test", "docs.test", "other.test"]
    trusted, served = write_papers(folder, names)
    twin, model = Twin.start(folder / "twin"), ScriptedModel.start(SCRIPT)
    twin.control.add_user("mira")
    twin.control.add_repo("acme/greet", FILES)
    behind = {name: int((model if name == "models.test" else twin).url.rpartition(":")[2]) for name in names}
    fronts = {name: TlsFront(served, port) for name, port in behind.items()}
    yield World(twin, model, fronts, trusted)
    for one in fronts.values():
        one.close()
    model.stop()
    twin.stop()


@contextmanager
def opened_way(world: World, process: str, **more: str) -> Iterator[tuple[int, Path]]:
    """The port of a way out that runs, and its log."""
    names = " ".join(f"{name}=127.0.0.1" for name in world.fronts)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said = {"COUNTERSIGN_EGRESS_LISTEN": f"127.0.0.1:{port}", "COUNTERSIGN_EGRESS_NAMES": names}
    log = world.trusted.with_name(f"{process}.log")
    with log.open("wb") as file:
        command = [sys.executable, "-m", "app.cli", "egress", process]
        going = subprocess.Popen(command, env=PLAIN | world.said() | said | more, stderr=file, cwd=ROOT)
        try:
            until(lambda: "leads to" in log.read_text(), why=log.read_text)
            yield port, log
        finally:
            stop(going)
    assert going.returncode == 0


def asked(world: World, port: int, *asks: str) -> dict[str, object]:
    """What a client of ours got from a host, with no way but this one, for each `CLIENT HOST`."""
    env = PLAIN | world.said() | {
        "HTTPS_PROXY": f"http://127.0.0.1:{port}", "COUNTERSIGN_EGRESS": f"127.0.0.1:{port}",
        "SSL_CERT_FILE": str(world.trusted), "COMMIT": world.twin.control.branches("acme/greet")["main"],
        "ASKS": ",".join(asks),
    }  # fmt: skip
    command = [sys.executable, "-c", CLIENTS]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stderr
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_every_client_of_ours_goes_by_the_way_out_and_is_led_where_the_table_says(world: World) -> None:
    github, models, docs, _ = map(world.host, world.fronts)
    with opened_way(world, "planner", COUNTERSIGN_EGRESS_NETWORKS="127.0.0.0/8") as (port, log):
        strange = [f"{door} stranger.test:443" for door in ("api", "git", "model")]
        told = asked(world, port, f"api {github}", f"git {github}", f"model {models}", f"docs {docs}", *strange)
    assert told[f"api {github}"] == "mira"
    assert told[f"git {github}"] is True
    assert told[f"model {models}"] == "NotFoundError", "it was reached, and its script has no such call"
    assert "a stand-in for GitHub" in str(told[f"docs {docs}"]), "it is the twin that stands there too"
    assert told["api stranger.test:443"] == "Unreachable 0"
    assert told["git stranger.test:443"] == "RemoteUnreachable"
    assert told["model stranger.test:443"] == "APIConnectionError"
    assert "stranger.test:443 was refused: it is not on the list" in log.read_text()
    assert "ghs_" not in log.read_text()


def test_the_way_out_of_one_process_is_not_that_of_another_and_leads_to_no_private_address(world: World) -> None:
    github, models, docs, other = map(world.host, world.fronts)
    with opened_way(world, "publisher", COUNTERSIGN_EGRESS_NETWORKS="127.0.0.0/8") as (port, _):
        told = asked(world, port, f"api {github}", f"model {models}", f"docs {docs}", f"git {other}")
    assert told[f"api {github}"] == "mira"
    assert told[f"model {models}"] == "APIConnectionError"
    assert "the way out does not lead there" in str(told[f"docs {docs}"])
    assert told[f"git {other}"] == "RemoteUnreachable"
    with opened_way(world, "publisher") as (port, log):
        assert asked(world, port, f"api {github}")[f"api {github}"] == "Unreachable 0"
    assert "127.0.0.1 is not a public address" in log.read_text()
