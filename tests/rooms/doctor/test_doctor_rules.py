"""The doctor's own rules: what a check is handed, what is not looked at, what exit code that is, and which names it
knows."""

import re
from pathlib import Path

import pytest

from app.doctor.finding import MACHINE, Check, Scene, chosen, elsewhere, examine, exit_code, fault, unseen, well
from app.doctor.here import far, kind_of, room
from app.doctor.names import NAMES, misspelt
from app.doctor.others import BY_OTHERS
from app.doctor.telling import lines_of, summary
from app.settings import SettingsWrong
from app.web.examining import BY_ITSELF
from tests.house.tree import python_files
from worker.doctor.app import look_at_address
from worker.doctor.command import doctor_command, table
from worker.doctor.holding import PROCESSES, Holding
from worker.doctor.machine import look_at_versions

SECRETS = {
    "GITHUB_PRIVATE_KEY": {"mint"}, "GITHUB_WEBHOOK_SECRET": {"web"}, "GITHUB_CLIENT_SECRET": {"web"},
    "ANTHROPIC_API_KEY": {"planner", "executor"}, "COUNTERSIGN_MINT_CREDENTIAL_PLANNER": {"mint", "planner"},
    "COUNTERSIGN_MINT_CREDENTIAL_PUBLISHER": {"mint", "publisher"},
}  # fmt: skip


def found_by(*checks, held=None):
    return list(examine(checks, lambda _: {} if held is None else held))


def one(name, *found, needs=()):
    return Check(name, MACHINE, lambda scene: found, needs)


def broken(problem):
    def look(scene):
        raise problem

    return look


def test_a_check_is_handed_what_its_process_may_hold_and_no_other_secret():
    holding = Holding(dict.fromkeys(SECRETS, "hushed") | {"PATH": "/bin", "CELERY_BROKER_URL": "redis://:hushed@x"})
    for name, holders in SECRETS.items():
        assert {process for process in PROCESSES if (holding.of(process) or {}).get(name)} == holders
    assert "hushed" not in str(holding.of(MACHINE)) and set(SECRETS) <= set(holding.of(MACHINE) or {})


def test_one_process_alone_is_handed_all_that_is_set_and_others_are_elsewhere():
    holding = Holding({"GITHUB_PRIVATE_KEY": "hushed"}, ("planner",))
    assert holding.of("planner") == {"GITHUB_PRIVATE_KEY": "hushed"}
    assert holding.of("mint") is None


def test_what_needs_a_check_that_failed_is_not_looked_at_and_so_is_what_needs_that():
    looked = []
    last = Check("last", MACHINE, lambda scene: looked.append(scene) or [well("")], ("middle",))
    told = found_by(one("first", fault("a", "b", "c")), one("middle", well("x"), needs=("first",)), last)
    assert [each.found.standing for each in told] == ["fault", "not looked at", "not looked at"]
    assert "`first`" in told[1].found.what and not looked


def test_what_needs_a_check_of_another_machine_is_elsewhere():
    told = found_by(one("first", elsewhere("x")), one("second", well("x"), needs=("first",)))
    assert told[1].found.standing == "elsewhere"


@pytest.mark.parametrize(("look", "standing", "says"), [
    (broken(ValueError("hushed")), "not looked at", "ValueError"),
    (broken(SettingsWrong("PORT", "PORT is wrong.")), "fault", "PORT is wrong."),
    (lambda scene: [], "not looked at", "said nothing"),
])  # fmt: skip
def test_a_check_that_fails_or_says_nothing_is_never_well(look, standing, says):
    (told,) = found_by(Check("it", MACHINE, look))
    assert told.found.standing == standing and says in told.found.what and "hushed" not in told.found.what


def test_nothing_that_looks_like_a_secret_is_told():
    token = "ghs_" + "a" * 36
    (told,) = found_by(one("it", fault(f"{token} is wrong", token, f"type {token}")))
    assert token not in repr(told)


@pytest.mark.parametrize(("found", "code"), [
    ([well("")], 0), ([well(""), elsewhere("")], 0), ([well(""), unseen("")], 2), ([unseen(""), fault("", "", "")], 1),
    ([], 2),
])  # fmt: skip
def test_the_exit_code_is_0_where_all_was_looked_at_and_well_1_for_faults_2_where_something_was_not_seen(found, code):
    told = found_by(one("it", *found)) if found else []
    assert exit_code(told) == code
    assert summary(told).startswith("All is well") == (code == 0 or not found)


def test_one_check_is_made_with_those_that_it_needs_and_no_others():
    checks = [one("a"), one("b", needs=("a",)), one("c", needs=("b",)), one("d")]
    assert [each.name for each in chosen(checks, ["c"])] == ["a", "b", "c"]
    assert chosen(checks, []) == checks


def test_a_fault_is_told_with_its_why_and_what_to_type_in_one_piece():
    command = "countersign policy check .github/countersign.yml"
    (told,) = found_by(one("it", fault("x" * 90, "why " * 40, command)))
    lines = list(lines_of(told))
    assert lines[0].startswith("FAULT it ") and any("Why:" in line for line in lines)
    assert lines[-1].strip() == f"Type: {command}"


@pytest.mark.parametrize(("name", "near"), [
    ("COUNTERSIGN_PLANER_MODEL", "COUNTERSIGN_PLANNER_MODEL"), ("COUNTERSIGN_DATADIR", "COUNTERSIGN_DATA_DIR"),
    ("COUNTERSIGN_ZZZZ_QQQQ_XXXX_YYYY", ""), ("GITHUB_APPID", "GITHUB_APP_ID"),
    ("ANTHROPIC_API_KEYS", "ANTHROPIC_API_KEY"),
])  # fmt: skip
def test_a_name_that_nobody_reads_is_told_with_the_nearest_that_somebody_does(name, near):
    assert list(misspelt([name])) == [(name, near)]


def test_names_of_other_programs_are_left_alone():
    assert list(misspelt(["GITHUB_ACTIONS", "GITHUB_TOKEN", "ANTHROPIC_MODEL", "PATH", "GITHUB_WORKSPACE"])) == []


def test_every_name_that_the_code_reads_is_known_and_no_other():
    texts = [path.read_text() for path in python_files("app", "worker") if path.name != "names.py"]
    read = {name for text in texts for name in re.findall(r"[\"'](COUNTERSIGN_[A-Z_]*[A-Z])[\"']", text)}
    made = {f"COUNTERSIGN_MINT_CREDENTIAL_{belt}" for belt in ("PLANNER", "EXECUTOR", "PUBLISHER")}
    named = {name for name in NAMES if name.startswith("COUNTERSIGN_") and not name.endswith("_FILE")}
    # One that is handed to git alone, and one that only looks as if it named a file.
    others, looks_so = {"COUNTERSIGN_REMOTE_TOKEN"}, {"COUNTERSIGN_DOCS_CA_FILE"}
    assert (read | made) - others == named | looks_so
    assert looks_so <= NAMES


@pytest.mark.parametrize(("given", "wanted"), [
    ("https://github.com", "https://api.github.com"), ("https://api.github.com/api/v3", "https://api.github.com"),
    ("https://acme.ghe.com", "https://api.acme.ghe.com"), ("https://acme.ghe.com/api/v3", "https://api.acme.ghe.com"),
    ("https://github.acme.example", "https://github.acme.example/api/v3"),
    ("https://github.acme.example:8443/api", "https://github.acme.example:8443/api/v3"),
])  # fmt: skip
def test_an_api_address_of_the_wrong_shape_is_told_with_the_right_one(given, wanted):
    (found,) = look_at_address(Scene("mint", {"GITHUB_API_URL": given}))
    assert (found.standing, found.do) == ("fault", f"export GITHUB_API_URL={wanted}")
    (found,) = look_at_address(Scene("mint", {"GITHUB_API_URL": wanted}))
    assert found.standing == "well"


def test_the_kind_of_file_system_is_that_of_the_nearest_mount(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    assert kind_of(tmp_path / "data", mounts) == "nfs4"
    assert kind_of(tmp_path.parent, mounts) == "ext4"


@pytest.mark.parametrize("command", [one.do for one in BY_OTHERS])
def test_what_the_page_says_to_type_for_the_rest_is_what_the_terminal_takes(command, capsys):
    words = command.replace("OWNER/REPO", "acme/greet").split()
    assert words[:2] == ["countersign", "doctor"]
    assert doctor_command([*words[2:], "--only", "names"], {}) == 0
    assert "names of settings" in capsys.readouterr().out


def test_the_page_makes_every_check_of_the_web_process_that_asks_nobody():
    asking = {"web address", "settings of web"}
    assert {check.name for check in table(("web",), (), {}) if check.of == "web"} - asking == BY_ITSELF


@pytest.mark.parametrize(("free", "files", "told"), [
    (500 * 10**9, None, ["well"]), (500 * 10**9, 50_000, ["well"]), (10**9, None, ["fault"]),
    (500 * 10**9, 9_999, ["fault"]), (10**9, 9_999, ["fault", "fault"]), (20 * 10**9, None, ["worth knowing"]),
])  # fmt: skip
def test_room_that_is_short_in_bytes_or_in_files_is_told_with_what_to_type(free, files, told):
    found = list(room(Path("/data"), free, files, 30))
    assert [one.standing for one in found] == told
    assert all(one.why and ("df -" in one.do or "below 20)" in one.do) for one in found if one.standing != "well")


def test_a_data_folder_over_a_network_is_a_fault_and_one_of_this_machine_is_none():
    (found,) = far(Path("/data"), "nfs4")
    assert found.standing == "fault" and "(nfs4)" in found.what and "COUNTERSIGN_DATA_DIR" in found.do
    assert list(far(Path("/data"), "ext4")) == []


@pytest.mark.parametrize(("git", "says"), [("", "There is no git."), ("git version 2.29.9", "git 2.29.9 is too old.")])
def test_a_git_that_is_not_there_or_too_old_is_told(tmp_path, git, says):
    if git:
        (tmp_path / "git").write_text(f"#!/bin/sh\necho {git}\n")
        (tmp_path / "git").chmod(0o755)
    (found,) = look_at_versions(Scene(MACHINE, {"PATH": str(tmp_path)}))
    assert (found.standing, found.what) == ("fault", says) and found.why and found.do
