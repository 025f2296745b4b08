"""The reference of settings, policy and bounds is what the code reads, takes and refuses."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.core.belts import Belt
from app.core.bounds import NOT_CARRIED_OUT, Bounds, parse_bounds, read_policy
from app.core.policy import Policy
from app.doctor.names import NAMES
from app.handed import FROM_FILES
from app.logs import set_up_logs
from app.settings import SettingsWrong, log_form, web_settings
from app.setup_settings import setup_line, setup_settings
from infra.docs import keys
from infra.docs.__main__ import HERE, TABLES, filled, written
from infra.docs.settings import CHAPTERS, EGRESS, PROCESSES, SETUP, UP, Setting, every
from tests.fakes.household import app_key
from worker.setting_up import EVERYBODY
from worker.settings import beat_settings, belt_settings, mint_settings
from worker.up import with_pull
from worker.way_out import way_out, ways_out

Read = Callable[[Mapping[str, str]], object]
CREDENTIAL = "a credential that is long enough"
PAGE = HERE / "configuration.md"


def belt(name: str) -> Read:
    model = {} if name == "publisher" else {"ANTHROPIC_API_KEY": "a key"}
    line = {"COUNTERSIGN_MINT": "mint:8010", "COUNTERSIGN_MINT_CREDENTIAL": CREDENTIAL}
    return lambda env: belt_settings(Belt(name), Noted(line | model, env))


MINT = {
    "GITHUB_APP_ID": "7", "GITHUB_PRIVATE_KEY": app_key()[0], "COUNTERSIGN_MINT_LISTEN": "127.0.0.1:0",
    "COUNTERSIGN_MINT_CREDENTIAL_PUBLISHER": CREDENTIAL, "COUNTERSIGN_PULL_SECRET": "a secret of mint and web",
}  # fmt: skip
READS: Mapping[str, Read] = {
    "web": lambda env: web_settings(Noted({"GITHUB_WEBHOOK_SECRET": "a secret"}, env)),
    "mint": lambda env: mint_settings(Noted(MINT, env)),
    "beat": lambda env: beat_settings(Noted({}, env)),
    **{one.value: belt(one.value) for one in Belt},
    UP: lambda env: with_pull(Noted({}, env)),
    SETUP: lambda env: (setup_settings(noted := Noted({"COUNTERSIGN_SETUP_FD": "3"}, env)), setup_line(noted)),
    EGRESS: lambda env: [way_out(one, Noted({}, env)) for one in ways_out()],
}  # fmt: skip


class Noted(dict[str, str]):
    """What is set beside what is always there; it notes in the innermost one which names were asked for."""

    def __init__(self, usual: Mapping[str, str], env: Mapping[str, str]) -> None:
        super().__init__({**usual, **env})
        self.asked: set[str] = env.asked if isinstance(env, Noted) else set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


def asked_by(process: str, tmp_path: Path) -> set[str]:
    """Every setting for which a process looks, on one machine or on several, with bubblewrap or with pods."""
    found: set[str] = set()
    pods = next(one.beside for one in every() if one.name == "COUNTERSIGN_PODS_IMAGE")
    sign_in = {"GITHUB_CLIENT_ID": "a", "GITHUB_CLIENT_SECRET": "b", "COUNTERSIGN_URL": "https://a.example.com"}
    path = {"GITHUB_PRIVATE_KEY": "", "GITHUB_PRIVATE_KEY_PATH": str(tmp_path / "key.pem")}
    (tmp_path / "key.pem").write_text(app_key()[0])
    by_up = {"COUNTERSIGN_MINT_FD": "3", "COUNTERSIGN_MINT_LINES_FD": "3", "COUNTERSIGN_PULL": "yes"}
    for more in ({}, pods or {}, sign_in if process == "web" else {}, path if process == "mint" else {}, by_up):
        env = Noted({"COUNTERSIGN_DATA_DIR": str(tmp_path)}, dict(more))
        READS[process](env)
        found |= env.asked
    return found & NAMES


def test_every_setting_that_some_process_reads_has_its_row_and_no_other() -> None:
    names = [one.name for one in every()]
    assert len(names) == len(set(names))
    assert set(names) == NAMES - {f"{name}_FILE" for name in FROM_FILES}


@pytest.mark.parametrize("process", READS)
def test_who_reads_a_setting_is_told_as_it_is(process: str, tmp_path: Path) -> None:
    told = {one.name for one in every() if process in one.readers()}
    told -= set(EVERYBODY) if process != UP else {*EVERYBODY, "COUNTERSIGN_APP_PAGE"}
    looked = asked_by(process, tmp_path) - set(EVERYBODY)
    if process == UP:
        # `up` looks whether an App is named; whose settings those are the others tell.
        looked -= {"GITHUB_APP_ID"}
    others = {"COUNTERSIGN_PULL", "COUNTERSIGN_APP_PAGE"} | OF_NO_USE.get(process, set())
    assert looked - told - others == set() and told - looked == set()


OF_NO_USE: Mapping[str, set[str]] = {
    "publisher": {"COUNTERSIGN_BWRAP", "COUNTERSIGN_ENVIRONMENTS_GB", "COUNTERSIGN_MIRROR_GB"},
    EGRESS: {"COUNTERSIGN_EGRESS"},
}
"""What shared code looks for although the process does nothing with it, so that nobody is told to set it there."""


def tried(which: str) -> Iterator[tuple[str, str, str]]:
    for one in every():
        for process in one.readers():
            if process in READS:
                yield from ((one.name, process, value) for value in getattr(one, which))


def setting(name: str) -> Setting:
    return next(one for one in every() if one.name == name)


def read_with(name: str, process: str, value: str, tmp_path: Path) -> None:
    one = setting(name)
    env = {"COUNTERSIGN_DATA_DIR": str(tmp_path), **(one.beside or {}), name: value}
    if name == "COUNTERSIGN_LOGS":
        log_form(env)
    else:
        READS[process](env)


@pytest.mark.parametrize(("name", "process", "value"), [*tried("good")])
def test_a_value_that_is_told_as_taken_is_taken(name: str, process: str, value: str, tmp_path: Path) -> None:
    read_with(name, process, value, tmp_path)


@pytest.mark.parametrize(("name", "process", "value"), [*tried("bad")])
def test_a_value_that_is_told_as_refused_stops_the_start(name: str, process: str, value: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsWrong) as wrong:
        read_with(name, process, value, tmp_path)
    assert wrong.value.name.partition("_")[0] == name.partition("_")[0]


def test_the_pages_and_schemas_stand_as_they_are_written() -> None:
    stale = [name for name, text in written().items() if (HERE / name).read_text("utf-8") != text]
    assert stale == [], "write them anew: python -m infra.docs"
    assert {path.name for path in HERE.iterdir() if path.suffix in (".md", ".json")} == set(written())
    with pytest.raises(KeyError):
        filled("<!-- written: nothing -->\n<!-- end -->")


def test_no_cell_of_a_table_is_empty_and_every_row_is_whole() -> None:
    for made in TABLES.values():
        rows = [line for line in made().splitlines() if line.startswith("|")]
        cells = [re.split(r"(?<!\\)\|", row)[1:-1] for row in rows]
        assert all(cell.strip() for row in cells for cell in row)
    assert len({len(row) for row in cells}) == 1
    assert len([line for line in TABLES["settings"]().splitlines() if line.startswith("### ")]) == len(CHAPTERS)


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_examples_can_be_used_together_and_name_every_key() -> None:
    policy, bounds = blocks("yaml")
    kept = parse_bounds(bounds, "bounds.yml")
    assert isinstance(kept, Bounds)
    read = read_policy(policy, kept)
    assert isinstance(read, Policy), read
    left_out = {key for key in keys.leaves(Policy) if not named(key, read)}
    assert {key.partition(".")[0] for key in left_out} == set(NOT_CARRIED_OUT)
    assert {key for key in keys.leaves(Bounds) if not named(key, kept)} == set()


def named(key: str, model: Any) -> bool:
    """Whether the file itself says something under this key."""
    for part in key.split("."):
        if isinstance(model, dict):
            model = next(iter(model.values()))
        elif model is None or part not in model.model_fields_set:
            return False
        else:
            model = getattr(model, part)
    return True


BEYOND: Mapping[str, tuple[str, str]] = {
    # What bound of the operator's, and what a policy says beyond it, by the last word of the key.
    "least_label_role": ("admin", "write"), "least_approve_role": ("admin", "write"),
    "code_owners_may_approve": ("false", "may"), "labeller_may_approve": ("false", "true"),
    "author_may_approve": ("false", "true"), "least_approvals": ("3", "2"), "least_protected_approvals": ("3", "2"),
    "most_days": ("5", "6"), "templates": ("[docs]", '{"": bugfix}'), "workflows": ("false", "second_approver"),
    "hosts": ("[]", '["a.example.com:443"]'), "models": ("false", "strong"), "drafts_not_shown": ("false", "draft"),
    "staged": ("true", "live"), "follow_up": ('"no"', "ask"),
    "most.usd": ("1", "2"), "most.calls": ("1", "2"), "most.minutes": ("1", "2"), "most.files": ("1", "2"),
    "most.lines": ("1", "2"),
}  # fmt: skip
PEOPLE = {"custom_roles": "[keeper]", "users": "[rita]", "teams": "[acme/core]", "apps": "[7]"}


@pytest.mark.parametrize("key", keys.BOUND)
def test_the_bound_that_is_named_beside_a_key_holds_it(key: str) -> None:
    bound, last = keys.BOUND[key], key.rpartition(".")[2]
    says, beyond = BEYOND.get(bound, ("false", ""))
    beyond = {"named_people": PEOPLE.get(last, ""), "own_checks": OWN.get(key, "")}.get(bound) or beyond
    read = read_policy(nested(key.replace(".NAME.", ".a-check."), beyond, OWN_BESIDE.get(key, "")), limits(bound, says))
    assert isinstance(read, tuple), read
    assert any(one.key.startswith(key.partition(".NAME")[0]) and "operator" in one.words for one in read), read


OWN = {
    "checks": "{a-check: {run: [true]}}", "checks.NAME.run": "['true']", "checks.NAME.paths": "true",
    "setup": "[[make]]",
}  # fmt: skip
OWN = {**OWN, "checks": "{a-check: {run: ['true']}}"}
OWN_BESIDE = {"checks.NAME.paths": "run: ['true'], "}


def nested(key: str, value: str, beside: str) -> str:
    """A policy file that says this under the key, in YAML's flow form."""
    first, *parts = key.split(".")
    text = value
    for number, part in enumerate(reversed(parts)):
        text = f"{{{beside if number == 0 else ''}{part}: {text}}}"
    return f"{first}: {text}\n"


def limits(bound: str, says: str) -> Bounds:
    read = parse_bounds(nested(bound, says, ""), "bounds.yml")
    assert isinstance(read, Bounds), read
    return read


def test_every_bound_of_the_operators_stands_beside_the_key_that_it_holds() -> None:
    assert {bound.partition(".")[0] for bound in keys.BOUND.values()} == set(Bounds.model_fields) - {"version"}
    assert set(keys.BOUND) <= set(keys.leaves(Policy))


def test_the_schemas_are_json_of_what_they_say() -> None:
    for path in HERE.glob("*.schema.json"):
        assert json.loads(path.read_text("utf-8"))["$id"].startswith(f"countersign.{path.name.partition('.')[0]}/")


def test_every_process_and_the_log_s_form_are_among_those_that_are_tried(tmp_path: Path) -> None:
    assert set(PROCESSES) <= set(READS)
    with pytest.raises(SettingsWrong):
        set_up_logs("a test", {"COUNTERSIGN_LOGS": "xml"})
