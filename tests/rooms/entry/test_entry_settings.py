"""Every process refuses to start as it should not be: one sentence, the variable's name, exit code 2."""

import base64

import pytest

from app.core.belts import Belt
from app.settings import SettingsWrong, broker_url, ledger_url, web_address
from tests.fakes.household import app_key
from tests.rooms.entry.conftest import refused, run
from worker.github.key import KeyRefused, private_key_of
from worker.settings import beat_settings, belt_settings, github_settings, mint_settings
from worker.up import HOLDS, checked, held_by

KEY = app_key()[0]
CREDENTIAL = "a credential that is long enough"
MODEL = {"ANTHROPIC_API_KEY": "a key"}
BELT = {"COUNTERSIGN_MINT_FD": "3"}
MINT = {"GITHUB_APP_ID": "7", "GITHUB_PRIVATE_KEY": KEY, "COUNTERSIGN_MINT_LINES_FD": "3"}
LISTENING = MINT | {
    "COUNTERSIGN_MINT_LINES_FD": "", "COUNTERSIGN_MINT_LISTEN": "127.0.0.1:0",
    "COUNTERSIGN_MINT_CREDENTIAL_PLANNER": CREDENTIAL,
}  # fmt: skip
WHOLE = MINT | MODEL | {"GITHUB_WEBHOOK_SECRET": "a secret", "COUNTERSIGN_MINT_LINES_FD": ""}
TOKEN = "ghs_" + "a" * 36

SETTINGS = {
    "planner": lambda env: belt_settings(Belt.PLANNER, BELT | MODEL | env),
    "executor": lambda env: belt_settings(Belt.EXECUTOR, BELT | MODEL | env),
    "publisher": lambda env: belt_settings(Belt.PUBLISHER, BELT | env),
    "mint": lambda env: mint_settings(MINT | env),
    "listening mint": lambda env: mint_settings(LISTENING | env),
    "beat": beat_settings,
    "up": lambda env: checked(WHOLE | env),
}

WRONG = [
    # Which process, what is set, and the variable that the sentence must name.
    ("planner", {"ANTHROPIC_API_KEY": " "}, "ANTHROPIC_API_KEY"),
    ("executor", {"ANTHROPIC_API_KEY": ""}, "ANTHROPIC_API_KEY"),
    ("planner", {"ANTHROPIC_BASE_URL": "localhost:80"}, "ANTHROPIC_BASE_URL"),
    ("planner", {"GITHUB_API_URL": "http://github.test/api/v3"}, "GITHUB_API_URL"),
    ("planner", {"GITHUB_API_URL": "https://user:word@github.test"}, "GITHUB_API_URL"),
    ("mint", {"GITHUB_API_URL": "github.test"}, "GITHUB_API_URL"),
    ("mint", {"GITHUB_API_URL": "https://[::1"}, "GITHUB_API_URL"),
    ("planner", {"COUNTERSIGN_MINT_FD": "0"}, "COUNTERSIGN_MINT_FD"),
    ("planner", {"COUNTERSIGN_MINT_FD": "three"}, "COUNTERSIGN_MINT_FD"),
    ("planner", {"COUNTERSIGN_MINT_FD": ""}, "COUNTERSIGN_MINT"),
    ("planner", {"COUNTERSIGN_MINT_FD": "", "COUNTERSIGN_MINT": "mint"}, "COUNTERSIGN_MINT"),
    ("planner", {"COUNTERSIGN_MINT_FD": "", "COUNTERSIGN_MINT": "mint:8010"}, "COUNTERSIGN_MINT_CREDENTIAL"),
    ("publisher", {"COUNTERSIGN_LEASE_SECONDS": "0"}, "COUNTERSIGN_LEASE_SECONDS"),
    ("publisher", {"COUNTERSIGN_LEASE_SECONDS": "3601"}, "COUNTERSIGN_LEASE_SECONDS"),
    ("publisher", {"COUNTERSIGN_WATCH_SECONDS": "nan"}, "COUNTERSIGN_WATCH_SECONDS"),
    ("executor", {"COUNTERSIGN_BOX_NETWORKS": "10.1.0.1/16"}, "COUNTERSIGN_BOX_NETWORKS"),
    ("executor", {"COUNTERSIGN_BOX_LIMITS": "none"}, "COUNTERSIGN_BOX_LIMITS"),
    ("planner", {"COUNTERSIGN_BOX_NAMES": "a.example.com"}, "COUNTERSIGN_BOX_NAMES"),
    ("executor", {"COUNTERSIGN_ENVIRONMENTS_GB": "0"}, "COUNTERSIGN_ENVIRONMENTS_GB"),
    ("publisher", {"DATABASE_URL": "ledger.db"}, "DATABASE_URL"),
    ("publisher", {"DATABASE_URL": "postgresql://u:word@host:port/x"}, "DATABASE_URL"),
    ("publisher", {"CELERY_BROKER_URL": "localhost:6379"}, "CELERY_BROKER_URL"),
    ("beat", {"CELERY_BROKER_URL": "redis://host:port"}, "CELERY_BROKER_URL"),
    ("beat", {"COUNTERSIGN_SWEEP_SECONDS": "often"}, "COUNTERSIGN_SWEEP_SECONDS"),
    ("mint", {"GITHUB_APP_ID": ""}, "GITHUB_APP_ID"),
    ("mint", {"GITHUB_APP_ID": "my-app"}, "GITHUB_APP_ID"),
    ("mint", {"GITHUB_PRIVATE_KEY": ""}, "GITHUB_PRIVATE_KEY"),
    ("mint", {"GITHUB_PRIVATE_KEY": "", "GITHUB_PRIVATE_KEY_PATH": "/no/such/file"}, "GITHUB_PRIVATE_KEY_PATH"),
    ("mint", {"GITHUB_PRIVATE_KEY": "", "GITHUB_PRIVATE_KEY_PATH": "/tmp"}, "GITHUB_PRIVATE_KEY_PATH"),
    ("mint", {"COUNTERSIGN_MINT_LINES_FD": ""}, "COUNTERSIGN_MINT_LISTEN"),
    ("listening mint", {"COUNTERSIGN_MINT_LISTEN": "8010"}, "COUNTERSIGN_MINT_LISTEN"),
    ("listening mint", {"COUNTERSIGN_MINT_CREDENTIAL_PLANNER": ""}, "COUNTERSIGN_MINT_CREDENTIAL_PLANNER"),
    ("listening mint", {"COUNTERSIGN_MINT_CREDENTIAL_PLANNER": "short"}, "COUNTERSIGN_MINT_CREDENTIAL_PLANNER"),
    ("listening mint", {"COUNTERSIGN_MINT_CREDENTIAL_EXECUTOR": CREDENTIAL}, "COUNTERSIGN_MINT_CREDENTIAL_EXECUTOR"),
    ("planner", {"COUNTERSIGN_DOCS_HOSTS": "*.example.com"}, "COUNTERSIGN_DOCS_HOSTS"),
    ("planner", {"COUNTERSIGN_DOCS_NETWORKS": "169.254.169.254/32"}, "COUNTERSIGN_DOCS_HOSTS"),
    ("planner", {"COUNTERSIGN_DOCS_CA_FILE": "/no/such/file"}, "COUNTERSIGN_DOCS_CA_FILE"),
    ("up", {"GITHUB_WEBHOOK_SECRET": ""}, "GITHUB_WEBHOOK_SECRET"),
    ("up", {"ANTHROPIC_API_KEY": ""}, "ANTHROPIC_API_KEY"),
    ("up", {"GITHUB_APP_ID": ""}, "GITHUB_APP_ID"),
    ("up", {"PORT": "http"}, "PORT"),
    ("up", {"COUNTERSIGN_SWEEP_SECONDS": "0"}, "COUNTERSIGN_SWEEP_SECONDS"),
]

STRANGERS = [
    *[(belt, name) for belt in Belt for name in ("GITHUB_PRIVATE_KEY", "GITHUB_PRIVATE_KEY_PATH")],
    *[(belt, name) for belt in Belt for name in ("GITHUB_WEBHOOK_SECRET", "GITHUB_WEBHOOK_SECRET_OLD")],
    ("publisher", "ANTHROPIC_API_KEY"), ("planner", "COUNTERSIGN_PAGES_PASSWORD"),
    ("mint", "ANTHROPIC_API_KEY"), ("mint", "GITHUB_WEBHOOK_SECRET"),
    ("beat", "ANTHROPIC_API_KEY"), ("beat", "GITHUB_PRIVATE_KEY"), ("beat", "GITHUB_WEBHOOK_SECRET"),
]  # fmt: skip


@pytest.mark.parametrize(("process", "env", "name"), WRONG)
def test_a_setting_that_is_missing_or_odd_is_named_in_one_sentence(process, env, name):
    with pytest.raises(SettingsWrong) as wrong:
        SETTINGS[process](env)
    sentence = str(wrong.value)
    assert sentence.startswith(name) or name in sentence
    assert wrong.value.name == name
    assert sentence.endswith(".") and "\n" not in sentence and "word" not in sentence and CREDENTIAL not in sentence


@pytest.mark.parametrize("process", SETTINGS)
def test_each_process_starts_with_what_it_needs_and_no_more(process):
    SETTINGS[process]({})


@pytest.mark.parametrize(("process", "name"), STRANGERS)
def test_a_key_that_is_another_process_is_not_held(process, name):
    with pytest.raises(SettingsWrong, match=f"^{name} is set for the {process}, which must not hold it"):
        SETTINGS[process]({name: "a value"})


@pytest.mark.parametrize("process", ["planner", "executor", "publisher", "mint", "beat"])
@pytest.mark.parametrize("value", [TOKEN, "github_pat_" + "b" * 30, "ghp_" + "c" * 36, KEY])
def test_anything_that_looks_like_a_token_stops_the_start_whatever_its_name(process, value):
    with pytest.raises(SettingsWrong, match=r"^MY_NOTES is set") as wrong:
        SETTINGS[process]({"MY_NOTES": value})
    assert value not in str(wrong.value)


def test_documentation_is_the_planners_to_read_and_nobody_elses():
    env = {"COUNTERSIGN_DOCS_HOSTS": "docs.example.com", "COUNTERSIGN_DOCS_NETWORKS": "10.1.0.0/16"}
    planner = SETTINGS["planner"](env)
    assert planner.docs.reach.hosts == ("docs.example.com",) and planner.docs.authorities is None
    for process in ("executor", "publisher"):
        assert SETTINGS[process](env).docs.reach.hosts == ()
    assert SETTINGS["planner"]({}).docs.reach.hosts == ()


def test_no_setting_shows_a_secret_when_it_is_printed():
    env = LISTENING | {"COUNTERSIGN_MINT": "mint:8010", "COUNTERSIGN_MINT_CREDENTIAL": "the belt's credential"}
    mint = mint_settings(LISTENING)
    over_network = {**env, **MODEL, "GITHUB_PRIVATE_KEY": "", "DATABASE_URL": "postgresql://u:word@h/x"}
    planner = belt_settings(Belt.PLANNER, over_network)
    for secret in (KEY.splitlines()[3], CREDENTIAL, "the belt's credential", "a key", ":word@"):
        assert secret not in repr(mint) + repr(planner)
    assert mint.credentials == {Belt.PLANNER: CREDENTIAL}
    assert planner.mint.address == ("mint", 8010) and planner.mint.credential == "the belt's credential"


@pytest.mark.parametrize(
    ("api", "web"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://ghe.example.test/api/v3/", "https://ghe.example.test"),
        ("https://api.tenant.ghe.com", "https://tenant.ghe.com"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_where_people_and_git_go_follows_from_the_api_s_address(api, web):
    assert web_address(api) == web
    assert github_settings({"GITHUB_API_URL": api}).web_url == web


@pytest.mark.parametrize("url", ["redis://h:6379/0", "rediss://:word@h:6379/0", "amqp://h", "sentinel://a:1;b:2", ""])
def test_every_broker_that_the_product_knows_is_taken(url):
    assert broker_url({"CELERY_BROKER_URL": url})


@pytest.mark.parametrize("url", ["sqlite:///x.db", "postgres://u@h/x", "postgresql+psycopg://u:p@[::1]:5432/x"])
def test_every_database_that_the_product_knows_is_taken(url):
    assert "://" in ledger_url({"DATABASE_URL": url})


# -- what up hands to whom ------------------------------------------------------------------------------------


def test_no_two_kinds_of_secrets_meet_in_one_process_but_a_model_s_key_in_two():
    secret = {"GITHUB_WEBHOOK_SECRET", "GITHUB_PRIVATE_KEY", "GITHUB_PRIVATE_KEY_PATH", "ANTHROPIC_API_KEY"}
    everything = dict.fromkeys([*secret, *sum(HOLDS.values(), ())], "x")
    held = {name: secret & set(held_by(name, everything)) for name in HOLDS}
    assert held == {
        "web": {"GITHUB_WEBHOOK_SECRET"},
        "mint": {"GITHUB_PRIVATE_KEY", "GITHUB_PRIVATE_KEY_PATH"},
        "planner": {"ANTHROPIC_API_KEY"},
        "executor": {"ANTHROPIC_API_KEY"},
        "publisher": set(),
        "beat": set(),
    }


def test_beat_does_not_know_the_ledger_and_the_mint_does_not_know_the_broker():
    env = {"DATABASE_URL": "sqlite:///x", "CELERY_BROKER_URL": "redis://h"}
    assert "DATABASE_URL" not in held_by("beat", env) and "CELERY_BROKER_URL" not in held_by("mint", env)


def test_planner_and_executor_get_the_package_clients_configuration_and_nobody_gets_the_rest():
    env = {"PIP_INDEX_URL": "https://index.test/simple", "HOME": "/h", "AWS_SECRET_ACCESS_KEY": "x", "GH_TOKEN": TOKEN}
    held = {name: set(held_by(name, env)) for name in HOLDS}
    assert held.pop("executor") == held.pop("planner") == {"PIP_INDEX_URL", "HOME"}
    assert set().union(*held.values()) == set()


# -- the key as people hand it over (case OP-01) ---------------------------------------------------------------

FORMS = {
    "as it is": KEY,
    "one line with backslash n": KEY.strip().replace("\n", "\\n"),
    "in quotes": f'"{KEY}"',
    "one line in quotes": "'" + KEY.strip().replace("\n", "\\n") + "'",
    "one line with blanks": KEY.strip().replace("\n", " "),
    "in base64": base64.b64encode(KEY.encode()).decode(),
    "from Windows": KEY.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_key_in_any_form_that_tools_make_of_it_is_the_same_key(form):
    assert private_key_of(mint_settings(MINT | {"GITHUB_PRIVATE_KEY": FORMS[form]}).private_key, "X") == KEY


@pytest.mark.parametrize("given", ["no key", KEY[:500], KEY.replace("A", "B"), KEY.replace("RSA", "DSA")])
def test_a_key_that_is_none_is_refused_and_not_shown(given):
    with pytest.raises(KeyRefused, match="GITHUB_PRIVATE_KEY") as wrong:
        checked(WHOLE | {"GITHUB_PRIVATE_KEY": given})
    assert KEY.splitlines()[1][:20] not in str(wrong.value)


# -- the same at the process' door ----------------------------------------------------------------------------

DOORS = [
    (("web",), {}, "GITHUB_WEBHOOK_SECRET"),
    (("web",), {"GITHUB_WEBHOOK_SECRET": "x", "DATABASE_URL": "nonsense"}, "DATABASE_URL"),
    (("mint",), {}, "COUNTERSIGN_MINT_LISTEN"),
    (("mint",), MINT | {"GITHUB_PRIVATE_KEY": "-----BEGIN nothing"}, "GITHUB_PRIVATE_KEY"),
    (("mint",), LISTENING | {"COUNTERSIGN_MINT_CREDENTIAL_PLANNER": "short"}, "COUNTERSIGN_MINT_CREDENTIAL_PLANNER"),
    (("worker", "planner"), BELT, "ANTHROPIC_API_KEY"),
    (("worker", "publisher"), BELT | {"GITHUB_PRIVATE_KEY": KEY}, "GITHUB_PRIVATE_KEY"),
    (("beat",), {"CELERY_BROKER_URL": "nonsense"}, "CELERY_BROKER_URL"),
    # Without any of the App's settings `up` sets an App up; with some of them it has to have all.
    (("up",), {"GITHUB_APP_ID": "7"}, "GITHUB_WEBHOOK_SECRET"),
    (("up",), {"GITHUB_PRIVATE_KEY": KEY}, "GITHUB_WEBHOOK_SECRET"),
    (("up",), {"GITHUB_WEBHOOK_SECRET": "a secret"}, "GITHUB_APP_ID"),
    (("up",), WHOLE | {"GITHUB_PRIVATE_KEY": "x"}, "GITHUB_PRIVATE_KEY"),
]


@pytest.mark.parametrize(("words", "env", "name"), DOORS)
def test_a_process_that_must_not_start_says_one_sentence_and_exits_with_2(words, env, name, tmp_path):
    line = refused(run(*words, env=dict(env) | {"COUNTERSIGN_DATA_DIR": str(tmp_path)}), name)
    assert KEY.splitlines()[1][:20] not in line


def test_a_belt_without_its_inherited_socket_and_a_mint_without_its_port_say_so(tmp_path):
    env = {"COUNTERSIGN_DATA_DIR": str(tmp_path)}
    assert run("migrate", env=env).returncode == 0
    refused(run("worker", "publisher", env=env | {"COUNTERSIGN_MINT_FD": "77"}), "COUNTERSIGN_MINT_FD")
    refused(run("mint", env=env | MINT | {"COUNTERSIGN_MINT_LINES_FD": "77"}), "COUNTERSIGN_MINT_LINES_FD")
    elsewhere = LISTENING | {"COUNTERSIGN_MINT_LISTEN": "192.0.2.1:8010"}
    refused(run("mint", env=env | elsewhere), "COUNTERSIGN_MINT_LISTEN")
