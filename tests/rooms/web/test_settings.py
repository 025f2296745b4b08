"""What the web process may know, and how it refuses to start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.registration import keep
from app.settings import SettingsMissing, SettingsWrong, broker_url, data_dir, ledger_url, web_settings
from worker.settings import mint_settings

SECRET = {"GITHUB_WEBHOOK_SECRET": "s3cret"}


@pytest.mark.parametrize("env", [{}, {"GITHUB_WEBHOOK_SECRET": ""}, {"GITHUB_WEBHOOK_SECRET": " \n"}])
def test_without_a_webhook_secret_nothing_starts(env: dict[str, str]) -> None:
    with pytest.raises(SettingsMissing, match="GITHUB_WEBHOOK_SECRET is not set") as missing:
        web_settings(env)
    assert missing.value.name == "GITHUB_WEBHOOK_SECRET"


def test_everything_else_has_a_default_that_needs_nothing_installed() -> None:
    settings = web_settings(SECRET)
    assert (settings.host, settings.port, settings.label, settings.bot_id) == ("127.0.0.1", 8000, "countersign", None)
    assert settings.queue.broker_url == "filesystem://"
    assert settings.queue.data_dir.is_absolute()
    assert settings.ledger.url == f"sqlite:///{settings.queue.data_dir / 'ledger.db'}"
    assert settings.secrets == (b"s3cret",)


def test_an_old_secret_is_accepted_beside_the_new_one_and_an_empty_one_is_none() -> None:
    assert web_settings(SECRET | {"GITHUB_WEBHOOK_SECRET_OLD": "öld"}).secrets == (b"s3cret", "öld".encode())
    assert web_settings(SECRET | {"GITHUB_WEBHOOK_SECRET_OLD": "  "}).secrets == (b"s3cret",)


def test_an_old_secret_stands_beside_the_one_that_set_up_kept(tmp_path: Path) -> None:
    keep(tmp_path, {"GITHUB_WEBHOOK_SECRET": "new"})
    env = {"COUNTERSIGN_DATA_DIR": str(tmp_path), "GITHUB_WEBHOOK_SECRET_OLD": "old"}
    assert web_settings(env).secrets == (b"new", b"old")


def test_the_secret_of_what_is_fetched_is_the_mints_to_the_letter_and_the_password_is_the_persons(
    tmp_path: Path,
) -> None:
    env = SECRET | {"COUNTERSIGN_PULL_SECRET": " sixteen letters! ", "COUNTERSIGN_DATA_DIR": str(tmp_path)}
    mint = {"GITHUB_APP_ID": "1", "GITHUB_PRIVATE_KEY": "k", "COUNTERSIGN_MINT_LINES_FD": "3"}
    pull = mint_settings(mint | {"COUNTERSIGN_PULL_SECRET": " sixteen letters! "}).pull
    assert pull is not None and pull[1] == "sixteen letters!"
    assert web_settings(env).secrets == (b"s3cret", pull[1].encode())
    assert web_settings(SECRET | {"COUNTERSIGN_PAGES_PASSWORD": " a b "}).pages_password == b" a b "


def test_no_secret_is_shown_when_settings_are_printed() -> None:
    env = SECRET | {"DATABASE_URL": "postgresql://u:pa55@h/d", "CELERY_BROKER_URL": "redis://:pa55@h/0"}
    shown = repr(web_settings(env | {"GITHUB_WEBHOOK_SECRET_OLD": "0ld", "COUNTERSIGN_PAGES_PASSWORD": "w0rd"}))
    assert not any(secret in shown for secret in ("s3cret", "0ld", "pa55", "w0rd"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("COUNTERSIGN_PAGES_PASSWORD", " \t "),
        ("COUNTERSIGN_PULL_SECRET", "fifteen charact"),
        ("COUNTERSIGN_PULL_SECRET", "fifteen charact  "),
        ("PORT", "eighty"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "８０"),
        ("COUNTERSIGN_BOT_ID", "0"),
        ("COUNTERSIGN_BOT_ID", "countersign[bot]"),
        ("COUNTERSIGN_SWEEP_SECONDS", "0"),
        ("COUNTERSIGN_SWEEP_SECONDS", "nan"),
        ("COUNTERSIGN_SWEEP_SECONDS", "soon"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsWrong, match=name) as wrong:
        web_settings(SECRET | {name: value})
    assert wrong.value.name == name


def test_the_url_of_a_hosted_postgres_is_given_the_driver_that_is_there() -> None:
    for scheme in ("postgres", "postgresql", "postgresql+psycopg"):
        assert ledger_url({"DATABASE_URL": f"{scheme}://u@h/d"}) == "postgresql+psycopg://u@h/d"
    assert ledger_url({"DATABASE_URL": "sqlite:///x.db"}) == "sqlite:///x.db"


def test_the_broker_and_the_data_folder_are_what_the_operator_says() -> None:
    assert broker_url({"CELERY_BROKER_URL": " redis://h/0 "}) == "redis://h/0"
    assert data_dir({"COUNTERSIGN_DATA_DIR": "/srv/x"}) == Path("/srv/x")
    assert data_dir({"COUNTERSIGN_DATA_DIR": ""}) == Path.cwd() / ".countersign"


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ({}, "GITHUB_WEBHOOK_SECRET is not set."),
        (SECRET | {"PORT": "x"}, "PORT is 'x', and must be a whole number"),
        (SECRET, "The ledger has no tables yet."),
    ],
)
def test_a_process_that_must_not_start_says_why_in_one_sentence_and_ends_with_two(
    env: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    env = {"COUNTERSIGN_DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"]} | env
    ended = subprocess.run([sys.executable, "-m", "app.main"], env=env, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.decode().startswith(sentence)
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_PRIVATE_KEY", "-----BEGIN RSA PRIVATE KEY-----"),
        ("GITHUB_PRIVATE_KEY_PATH", "/somewhere/key.pem"),
        ("ANTHROPIC_API_KEY", "a key"),
        ("GH_TOKEN", "ghs_0123456789"),
    ],
)
def test_the_web_process_does_not_start_with_a_key_that_it_must_not_hold(name: str, value: str) -> None:
    with pytest.raises(SettingsWrong, match=f"{name} is set for the web process, which must not hold it") as wrong:
        web_settings(SECRET | {name: value})
    assert value not in str(wrong.value)
