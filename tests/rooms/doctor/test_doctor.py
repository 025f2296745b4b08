"""`countersign doctor` on a whole set-up and on broken ones: each fault is named, with its why and what to type."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import psycopg
import pytest
import redis

from app.core.belts import Belt
from app.ledger import migrate, open_ledger
from app.ledger.roles import roles_sql
from infra.twin.app_key import new_private_key
from infra.twin.control import TwinRefused
from tests.fakes import services
from tests.rooms.doctor.conftest import MODEL_KEY, REPO, SECRET, Installation
from worker.github.app import AppIdentity
from worker.github.asking import ConnectionSettings
from worker.mint.mint import Mint, Site
from worker.mint.serve import MintServer

DEAD = "http://127.0.0.1:9"
NO_NAMESPACES = "bwrap: No permissions to create new namespace, likely because the kernel does not allow"
NO_APPARMOR = "bwrap: setting up uid map: Permission denied"


def test_a_whole_set_up_says_that_all_is_well(installation):
    seen = installation.sees("--repo", REPO)
    assert seen.faults() == [] and seen.exit == 0
    assert {one["standing"] for one in seen.findings} <= {"well", "worth knowing", "elsewhere"}
    assert all(one["what"] for one in seen.findings)
    # The token that read the repository is gone, and read only.
    (token,) = installation.control.tokens()[-1:]
    assert token["revoked"] and set(token["permissions"].values()) == {"read"} and len(token["repository_ids"]) == 1


@dataclass(frozen=True)
class Broken:
    """One thing that is wrong: what is set otherwise, or done on GitHub and undone; and how the doctor names it."""

    check: str
    says: str
    types: str
    settings: dict[str, str] = field(default_factory=dict)
    breaking: Callable[[Installation], object] = lambda _: None
    mending: Callable[[Installation], object] = lambda _: None
    words: tuple[str, ...] = ()
    standing: str = "fault"


def app_lacks(installation):
    installation.twin.app.permissions.pop("issues")
    installation.twin.app.events.remove("label")


def app_has_again(installation):
    installation.twin.app.permissions["issues"] = "write"
    installation.twin.app.events.append("label")


def granted(**changed):
    def grant(installation):
        permissions = installation.twin.app.permissions | changed
        kept = {name: level for name, level in permissions.items() if level != "none"}
        installation.control.set_installation_permissions("acme", kept)

    return grant


def hooked(path="/webhooks/github", secret=SECRET, deliver=True):
    """GitHub delivers there from now on, and has just done so."""

    def hook(installation):
        base = installation.env["COUNTERSIGN_URL"] if path.startswith("/") else ""
        installation.control.set_hook(f"{base}{path}" if path else None, secret)
        if path and deliver:
            granted()(installation)
        installation.control.settle()

    return hook


def repository(name, **more):
    def add(installation):
        more.setdefault("labels", ["countersign"])
        try:
            installation.control.add_repo(f"acme/{name}", more.pop("files", {"a.txt": "a\n"}), **more)
        except TwinRefused as refused:  # by the same fault in another test of this session
            if "exists already" not in str(refused):
                raise

    return add


def ruled(installation):
    repository("ruled")(installation)
    installation.control.add_rule("acme/ruled", "~ALL", "creation")


def archived(installation):
    repository("old")(installation)
    installation.control.change_repo("acme/old", archived=True)


def answered(pattern, *, status=200, **body):
    """GitHub gives this answer once."""

    def answer(installation):
        installation.control.fault(pattern, status=status, body=json.dumps(body.get("body", body)))

    return answer


def cleared(installation):
    installation.control.clear_faults()


def deaf(installation):
    installation.control.uninstall("acme")
    installation.control.install("acme", events=["issues"])


def hearing(installation):
    installation.control.uninstall("acme")
    installation.control.install("acme")


def changed(name, **what):
    def change(installation):
        repository(name)(installation)
        installation.control.change_repo(f"acme/{name}", **what)

    return change


HOOK = {"content_type": "json", "insecure_ssl": "0", "url": "https://hooks.example.test/webhooks/github"}
POLICY = "version: 1\napprove:\n  count: many\n"
BROKEN = {
    "a key of another App": Broken(
        "app", "does not take the key as that of App", "Private keys", {"GITHUB_PRIVATE_KEY": "another App's"}),
    "a key that is cut off": Broken(
        "key", "without its last line", "export GITHUB_PRIVATE_KEY=", {"GITHUB_PRIVATE_KEY": "cut"}),
    "an App that is not there": Broken("app", "knows no App 99", "export GITHUB_APP_ID=", {"GITHUB_APP_ID": "99"}),
    "a clock that is fast": Broken(
        "clock", "s ahead of GitHub's", "timedatectl", breaking=lambda i: i.control.set_clock(-90),
        mending=lambda i: i.control.set_clock(0)),
    "a clock that is slow": Broken(
        "clock", "s behind GitHub's", "timedatectl", breaking=lambda i: i.control.set_clock(3600),
        mending=lambda i: i.control.set_clock(0)),
    "a GitHub that does not answer": Broken("clock", f"{DEAD} does not answer", "curl", {"GITHUB_API_URL": DEAD}),
    "an address for people": Broken(
        "github address", "is not the address of an API", "GITHUB_API_URL=https://api.github.com",
        {"GITHUB_API_URL": "https://github.com"}),
    "a permission that the App does not ask for": Broken(
        "permissions", "does not ask for issues: write", "organizations/countersign-owner/settings/apps/countersign",
        breaking=app_lacks, mending=app_has_again),
    "an event that the App does not hear": Broken(
        "permissions", "does not subscribe to label", "choose the events", breaking=app_lacks, mending=app_has_again),
    "more than is needed": Broken(
        "permissions", "also asks for administration: write", "take it back", standing="worth knowing",
        breaking=lambda i: i.twin.app.permissions.update(administration="write"),
        mending=lambda i: i.twin.app.permissions.pop("administration")),
    "permissions that nobody accepted": Broken(
        "installations", "acme has not granted contents: write, pull_requests: write", "review the new permissions",
        breaking=granted(contents="read", pull_requests="none"), mending=granted()),
    "a suspended installation": Broken(
        "installations", "acme is suspended since", "Unsuspend", breaking=lambda i: i.control.suspend("acme"),
        mending=lambda i: i.control.unsuspend("acme")),
    "an App that is installed nowhere": Broken(
        "installations", "installed nowhere", "/apps/countersign/installations/new",
        breaking=lambda i: i.control.uninstall("acme"), mending=lambda i: i.control.install("acme")),
    "no address for deliveries": Broken(
        "webhook", "no address", "COUNTERSIGN_PULL=yes", breaking=hooked(""), mending=hooked()),
    "deliveries to another place": Broken(
        "webhook", f"GitHub delivers to {DEAD}/hook, and COUNTERSIGN_URL says", "/webhooks/github",
        breaking=hooked(f"{DEAD}/hook"), mending=hooked()),
    "another secret at GitHub": Broken(
        "deliveries", "was refused with 401: GitHub signs with another secret", "export GITHUB_WEBHOOK_SECRET=",
        breaking=hooked(secret="another one than ours"), mending=hooked()),
    "a receiver that GitHub cannot reach": Broken(
        "deliveries", "did not arrive: failed to connect", "firewall",
        {"COUNTERSIGN_URL": ""}, breaking=hooked(f"{DEAD}/webhooks/github"), mending=hooked()),
    "a receiver that answers otherwise": Broken(
        "deliveries", "was answered 404", "readyz", {"COUNTERSIGN_URL": ""},
        breaking=hooked("/elsewhere/webhooks/github"), mending=hooked()),
    "nothing at the stated address": Broken(
        "web address", "cannot be reached", "curl -i", {"COUNTERSIGN_URL": DEAD}),
    "somebody else at the stated address": Broken(
        "web address", "not as the web process does", "curl -i", {"COUNTERSIGN_URL": "the twin"}),
    "a setting that is misspelt": Broken(
        "names of settings", "COUNTERSIGN_PLANER_MODEL is set, and nothing reads it. COUNTERSIGN_PLANNER_MODEL was",
        "unset COUNTERSIGN_PLANER_MODEL; export COUNTERSIGN_PLANNER_MODEL", {"COUNTERSIGN_PLANER_MODEL": "x"}),
    "a budget that is no number": Broken(
        "settings of planner", "COUNTERSIGN_DAY_USD is 'much'", "Mend COUNTERSIGN_DAY_USD",
        {"COUNTERSIGN_DAY_USD": "much"}),
    "bounds that cannot be read": Broken(
        "settings of publisher", "COUNTERSIGN_BOUNDS names a file that cannot be read", "Mend COUNTERSIGN_BOUNDS",
        {"COUNTERSIGN_BOUNDS": "/nowhere/bounds.yml"}),
    "no key of a model": Broken(
        "settings of executor", "ANTHROPIC_API_KEY is not set", "Mend ANTHROPIC_API_KEY", {"ANTHROPIC_API_KEY": ""}),
    "a key of a model that is not taken": Broken(
        "models of planner", "does not accept the key", "export ANTHROPIC_API_KEY=", {"ANTHROPIC_API_KEY": "another"}),
    "a model that was retired": Broken(
        "models of executor", "does not know claude-old-1", "export COUNTERSIGN_EXECUTOR_MODEL=",
        {"COUNTERSIGN_EXECUTOR_MODEL": "claude-old-1"}, breaking=lambda i: i.model.retire("claude-old-1"),
        mending=lambda i: i.model.retire()),
    "a way out that does not answer": Broken(
        "way out of planner", "127.0.0.1:9 does not answer", "countersign egress planner",
        {"COUNTERSIGN_EGRESS": "127.0.0.1:9"}),
    "a mint that does not answer": Broken(
        "mint for publisher", "The mint cannot be reached", "countersign mint", words=("--of", "publisher"),
        settings={"COUNTERSIGN_MINT": "127.0.0.1:9", "COUNTERSIGN_MINT_CREDENTIAL": "c" * 20, "GITHUB_PRIVATE_KEY": "",
                  "GITHUB_WEBHOOK_SECRET": "", "ANTHROPIC_API_KEY": ""}),
    "another process' key": Broken(
        "settings of planner", "GITHUB_PRIVATE_KEY is set for the planner, which must not hold it", "Mend GITHUB_PRIV",
        words=("--of", "planner")),
    "a repository without the App": Broken(
        "repository else/where", "not installed on else/where", "install the App", words=("--repo", "else/where")),
    "a repository without the label": Broken(
        "repository acme/plain", "has no label `countersign`", "gh label create countersign --repo acme/plain",
        words=("--repo", "acme/plain"), breaking=repository("plain", labels=["bug"])),
    "an archived repository": Broken(
        "repository acme/old", "is archived", "gh repo unarchive", words=("--repo", "acme/old"), breaking=archived),
    "a policy with a fault": Broken(
        "repository acme/ruly", "line 3", "countersign policy check", words=("--repo", "acme/ruly"),
        breaking=repository("ruly", files={".github/countersign.yml": POLICY})),
    "a ruleset that refuses our branches": Broken(
        "repository acme/ruled", "Nobody may create the branch `countersign/issue-0-", "let the App bypass",
        words=("--repo", "acme/ruled"), breaking=ruled),
    "an empty repository": Broken(
        "repository acme/void", "default branch main is not there", "Push a commit", words=("--repo", "acme/void"),
        breaking=repository("void", files={})),
    "a repository whose installation is suspended": Broken(
        "repository acme/greet", "The installation is suspended", "Unsuspend", words=("--repo", REPO),
        breaking=lambda i: i.control.suspend("acme"), mending=lambda i: i.control.unsuspend("acme")),
    "a clock that goes astray": Broken(
        "clock", "s ahead of GitHub's", "timedatectl", breaking=lambda i: i.control.set_clock(-25),
        mending=lambda i: i.control.set_clock(0), standing="worth knowing"),
    "an installation that is told of little": Broken(
        "installations", "GitHub does not tell us of issue_comment", "accept what the App asks for", breaking=deaf,
        mending=hearing),
    "a path that is not the receiver's": Broken(
        "webhook", "which is not the receiver's path", "URL end with /webhooks/github", {"COUNTERSIGN_URL": ""},
        breaking=hooked("/hook", deliver=False), mending=hooked()),
    "deliveries as forms": Broken(
        "webhook", "Deliveries come as form", "application/json", mending=cleared,
        breaking=answered("GET /app/hook/config", **HOOK | {"content_type": "form"})),
    "deliveries over a line that nobody checks": Broken(
        "webhook", "does not check the receiver's certificate", "Enable SSL", {"COUNTERSIGN_URL": ""},
        breaking=answered("GET /app/hook/config", **HOOK | {"insecure_ssl": "1"}), mending=cleared,
        standing="worth knowing"),
    "no delivery so far": Broken(
        "deliveries", "has delivered nothing lately", "Advanced", standing="worth knowing",
        breaking=answered("GET /app/hook/deliveries.*", body=[]), mending=cleared),
    "no web process yet": Broken(
        "web address", "/healthz cannot be reached", "countersign up", {"COUNTERSIGN_URL": "", "PORT": "9"},
        standing="worth knowing"),
    "a repository without issues": Broken(
        "repository acme/mute", "has no issues", "--enable-issues", words=("--repo", "acme/mute"),
        breaking=changed("mute", has_issues=False)),
    "a private repository": Broken(
        "repository acme/hidden", "have no drafts there", "without_draft: open", words=("--repo", "acme/hidden"),
        breaking=changed("hidden", private=True), standing="worth knowing"),
    "a repository without workflows": Broken(
        "repository acme/idle", "no workflows of GitHub Actions", "", words=("--repo", "acme/idle"),
        breaking=repository("idle"), standing="worth knowing"),
    "a policy in another coding": Broken(
        "repository acme/latin", "no UTF-8 text", "Write it again as UTF-8", words=("--repo", "acme/latin"),
        breaking=repository("latin", files={".github/countersign.yml": b"version: 1 # \xe9\n"})),
}  # fmt: skip
AFTERWARDS = {
    "a key that is cut off": "app", "a clock that is fast": "app", "an App that is not there": "installations",
    "a GitHub that does not answer": "app", "no key of a model": "models of executor",
}  # fmt: skip
"""What is then not looked at, and never told as well."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_set_up_is_named_with_why_it_matters_and_what_to_type(installation, name):
    names_the_fault(installation, name, installation.sees)


AS_PROCESSES = (
    "a key of another App", "an App that is not there", "a clock that is fast", "deliveries to another place",
    "a permission that the App does not ask for", "a suspended installation", "another secret at GitHub",
    "nothing at the stated address", "a setting that is misspelt", "a budget that is no number",
    "a key of a model that is not taken", "a repository without the label",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", AS_PROCESSES)
def test_as_a_process_of_its_own_it_names_the_fault_in_json_and_by_its_exit_code(installation, name):
    names_the_fault(installation, name, installation.is_told)


@pytest.mark.slow
def test_as_a_process_of_its_own_it_says_that_all_is_well_and_2_where_it_could_not_look(installation):
    assert installation.is_told().exit == 0
    seen = installation.is_told("--only", "models of planner", ANTHROPIC_BASE_URL=DEAD)
    assert seen.standing("models of planner") == {"not looked at"} and seen.exit == 2
    assert "ANTHROPIC_BASE_URL" in seen.text


def names_the_fault(installation, name, sees):
    row = BROKEN[name]
    after = AFTERWARDS.get(name)
    settings = row.settings | {key: instead(installation, value) for key, value in row.settings.items()}
    row.breaking(installation)
    try:
        only = [word for check in (row.check, after) if check for word in ("--only", check)]
        seen = sees(*row.words, *only, **settings)
    finally:
        row.mending(installation)
    named = [one for one in seen.of(row.check) if row.says in one["what"]]
    assert named, seen.of(row.check)
    (found,) = named
    assert (found["standing"], bool(found["why"])) == (row.standing, True)
    assert row.types in found["type"], found
    assert seen.exit == (1 if row.standing == "fault" else 0)
    if after:
        assert seen.standing(after) == {"not looked at"}
    for secret in (SECRET, MODEL_KEY, installation.env["GITHUB_PRIVATE_KEY"].splitlines()[5], "c" * 20):
        assert secret not in seen.text


def instead(installation, value):
    match value:
        case "another App's":
            return new_private_key()
        case "cut":
            return installation.env["GITHUB_PRIVATE_KEY"][:400]
        case "the twin":
            return installation.twin.url
    return value


# -- what has to be had for real: files, databases, a broker, a bubblewrap, a mint ------------------------------------


def named(seen, check, says, types):
    """The one finding of the check that says this is a fault, and what to type is there."""
    found = next((one for one in seen.of(check) if says in one["what"]), None)
    assert found is not None, seen.of(check)
    assert found["standing"] == "fault" and found["why"] and types in found["type"], found
    assert seen.exit == 1


def test_faults_of_the_data_folder_and_of_the_ledger_in_it_are_named(installation, own_data):
    data = own_data()
    here = {"COUNTERSIGN_DATA_DIR": str(data)}

    def sees():
        return installation.sees("--only", "ledger", "--only", "disk", **here)

    assert sees().exit == 0
    (data / "ledger.db").chmod(0o644)
    named(sees(), "ledger", "ledger.db can be reached by others (mode 644)", f"chmod 600 {data / 'ledger.db'}")
    (data / "ledger.db").chmod(0o600)
    with closing(sqlite3.connect(data / "ledger.db")) as ledger, ledger:
        ledger.execute("UPDATE alembic_version SET version_num = '0003'")
    named(sees(), "ledger", "The ledger's schema is 0003", "countersign migrate")
    (data / "ledger.db").write_bytes(b"no database at all, and long enough to be looked at as one" * 40)
    named(sees(), "ledger", "not a database", "integrity_check")
    (data / "ledger.db").unlink()
    named(sees(), "ledger", "There is no ledger at", "countersign migrate")
    (data / "app").mkdir(mode=0o700)
    (data / "app" / "private-key.pem").touch(mode=0o640)
    (data / "app" / "private-key.pem").chmod(0o640)
    named(sees(), "data folder", "private-key.pem can be reached by others (mode 640)", "chmod 600")
    shutil.rmtree(data / "app")
    data.chmod(0o777)
    named(sees(), "data folder", "can be written to by others (mode 777)", f"chmod 711 {data}")
    shutil.rmtree(data)
    seen = sees()
    named(seen, "data folder", "There is no data folder", f"install -d -m 711 {data}")
    assert seen.standing("ledger") == seen.standing("disk") == {"not looked at"}


def test_a_postgresql_that_was_not_migrated_or_whose_roles_are_of_before_is_named(installation, own_postgres):
    # Roles are the server's, and other tests make them in the shared one.
    with services.fresh_database(own_postgres) as postgres_url:
        a_postgresql_is_looked_at(installation, postgres_url)


def a_postgresql_is_looked_at(installation, postgres_url):
    there = {"DATABASE_URL": postgres_url}
    named(installation.sees("--only", "ledger", **there), "ledger", "no tables yet", "countersign migrate")
    migrate(postgres_url)
    seen = installation.sees("--only", "ledger", **there)
    assert seen.standing("ledger") == {"well", "worth knowing"} and "knows no role of ours" in seen.text
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as owner:
        owner.execute(roles_sql().encode())
        assert installation.sees("--only", "ledger", **there).exit == 0
        owner.execute("REVOKE SELECT ON missed FROM countersign_planner")
    named(installation.sees("--only", "ledger", **there), "ledger", "can read missed", "countersign roles | psql")
    away = {"DATABASE_URL": "postgresql://nobody:hushed@127.0.0.1:9/nothing"}
    seen = installation.sees("--only", "ledger", **away)
    named(seen, "ledger", "does not answer", "psql")
    assert "hushed" not in seen.text


def test_a_redis_that_only_follows_throws_away_or_is_gone_is_named(installation, own_redis):
    server = own_redis("--replicaof", "127.0.0.1", "9")
    there = {"CELERY_BROKER_URL": server.url}
    named(installation.sees("--only", "broker", **there), "broker", "takes no bells", "replicaof no one")
    with redis.Redis.from_url(server.url) as control:
        control.execute_command("REPLICAOF", "NO", "ONE")
        assert installation.sees("--only", "broker", **there).exit == 0
        control.config_set("maxmemory", "100mb")
        control.config_set("maxmemory-policy", "allkeys-lru")
    seen = installation.sees("--only", "broker", **there)
    assert seen.standing("broker") == {"well", "worth knowing"} and "maxmemory-policy noeviction" in seen.text
    gone = {"CELERY_BROKER_URL": "redis://:hushed@127.0.0.1:9/0"}
    seen = installation.sees("--only", "broker", **gone)
    named(seen, "broker", "takes no bells", "Start the broker")
    assert "hushed" not in seen.text


@pytest.mark.parametrize(("said", "types"), [
    (NO_NAMESPACES, "user namespaces"), (NO_APPARMOR, "bwrap-userns-restrict"), ("", "install bubblewrap"),
])  # fmt: skip
def test_a_machine_without_user_namespaces_is_named_for_both_belts(installation, open_tree, said, types):
    stand_in = open_tree.parent / "bwrap"
    if said:
        answer = f'case $1 in --version) echo bubblewrap 0.8.0;; *) echo "{said}" >&2; exit 1;; esac'
        stand_in.write_text(f"#!/bin/sh\n{answer}\n")
        stand_in.chmod(0o755)
    seen = installation.sees("--only", "box", COUNTERSIGN_BWRAP=str(stand_in))
    for belt in ("planner", "executor"):
        named(seen, f"box of {belt}", said or "no bubblewrap at", types)


@contextmanager
def a_mint(installation: Installation, credential: str) -> Iterator[str]:
    """A mint that answers on a port of its own."""
    ledger = open_ledger(f"sqlite:///{installation.data / 'ledger.db'}")
    app_id, key = installation.env["GITHUB_APP_ID"], installation.env["GITHUB_PRIVATE_KEY"]
    with AppIdentity(installation.twin.url, app_id, key) as identity:
        server = MintServer(Mint(ledger, identity, Site(installation.twin.url, ConnectionSettings()), ledger.clock))
        _, port = server.listen(("127.0.0.1", 0), {Belt.PLANNER: credential})
        yield f"127.0.0.1:{port}"
        server.stop()
    ledger.close()


def test_a_credential_that_the_mint_does_not_take_is_named(installation):
    ours = dict.fromkeys(("GITHUB_PRIVATE_KEY", "GITHUB_WEBHOOK_SECRET"), "")
    with a_mint(installation, "planner's own credential") as where:
        there = ours | {"COUNTERSIGN_MINT": where, "COUNTERSIGN_MINT_CREDENTIAL": "planner's own credential"}
        words = ("--of", "planner", "--only", "mint")
        assert installation.sees(*words, **there).exit == 0
        another = there | {"COUNTERSIGN_MINT_CREDENTIAL": "somebody else's credential"}
        seen = installation.sees(*words, **another)
    named(seen, "mint for planner", "did not accept this belt's credential", "COUNTERSIGN_MINT_CREDENTIAL_PLANNER")
    assert "somebody else's" not in seen.text


def test_a_template_that_cannot_be_read_and_a_key_file_that_others_can_are_named(installation, tmp_path):
    (tmp_path / "mine" / "1.0.0").mkdir(parents=True)
    (tmp_path / "mine" / "1.0.0" / "template.yaml").write_text("about: [")
    seen = installation.sees("--only", "templates", COUNTERSIGN_TEMPLATES=str(tmp_path))
    named(seen, "templates", "", "countersign templates validate")
    key = tmp_path / "key.pem"
    key.write_text(installation.env["GITHUB_PRIVATE_KEY"])
    key.chmod(0o644)
    seen = installation.sees("--only", "key file", GITHUB_PRIVATE_KEY="", GITHUB_PRIVATE_KEY_PATH=str(key))
    named(seen, "key file", "can be reached by others (mode 644)", f"chmod 600 {key}")
    assert os.stat(key).st_mode & 0o777 == 0o644, "the doctor mends nothing"
