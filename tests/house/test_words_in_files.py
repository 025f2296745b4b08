"""What must not stand in any file of the project: a machine's paths, an index's address, work put off."""

import re
import tomllib
from pathlib import Path

from tests.house.tree import ROOT, kept_files, name

# Written apart, so that this file can be searched like any other.
# `/work` by itself is a place inside the box, and `runner` the account of GitHub's own machines.
MACHINE_PATH = re.compile(r"(?<![\w.~$}-])/(work/(main|shared|\.)|root/\w|home/(?!runner/)\w)")
INDEX_HOSTS = re.compile(
    r"\b(pypi\.|files\.pythonhosted\.|registry\.npmjs\.|deb\.debian\.|archive\.ubuntu\.|"
    r"index\.crates\.|proxy\.golang\.|repo1?\.maven\.)(org|com|io)\b"
)
PUT_OFF = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
WRITTEN_BY_HAND = {".py", ".sh", ".toml", ".md", ".yml", ".yaml", ".ini", ".cfg", ".html", ".css", ".js", ""}

# `path` → why the word stands there.
ALLOWED: dict[str, str] = {}


def places(rule: re.Pattern[str], files: list[Path]) -> list[str]:
    found = []
    for path in files:
        if name(path) not in ALLOWED:
            for number, line in enumerate(text(path).splitlines(), 1):
                if hit := rule.search(line):
                    found.append(f"{name(path)}:{number} {hit.group()}")
    return found


def text(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


def by_hand() -> list[Path]:
    return [path for path in kept_files() if path.suffix in WRITTEN_BY_HAND]


def test_no_file_names_a_path_of_one_machine() -> None:
    assert places(MACHINE_PATH, kept_files()) == []


def test_no_file_names_the_host_of_a_package_index() -> None:
    assert places(INDEX_HOSTS, kept_files()) == []


def test_no_work_is_put_off_in_a_remark() -> None:
    assert places(PUT_OFF, by_hand()) == []


def test_the_rules_see_what_they_are_for() -> None:
    assert MACHINE_PATH.search("open('" + "/work" + "/main')")
    assert MACHINE_PATH.search("cd " + "/home" + "/mira")
    assert not MACHINE_PATH.search("/" + "home/runner/work/a")
    assert INDEX_HOSTS.search("https://pypi" + ".org/simple")
    assert PUT_OFF.search("# TO" + "DO: later")


def test_every_locked_package_has_hashes_and_no_address() -> None:
    for lock in ("requirements.lock", "requirements-test.lock"):
        locked = (ROOT / lock).read_text()
        assert "://" not in locked
        entries = re.split(r"\n(?=\S)", locked.strip())
        assert [entry for entry in entries if not re.fullmatch(ENTRY, entry.strip())] == []


ENTRY = re.compile(r"[a-z0-9._-]+==\S+( ; [^\\\n]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\\n)?)+")


def test_both_locks_hold_what_the_project_file_asks_for_and_share_nothing() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    product, extra = locked_names("requirements.lock"), locked_names("requirements-test.lock")
    asked = {plain(entry) for entry in project["project"]["dependencies"] + project["build-system"]["requires"]}
    asked_by_tests = {plain(entry) for entry in project["project"]["optional-dependencies"]["test"]}
    assert asked - product == set()
    assert asked_by_tests - (product | extra) == set()
    assert product & extra == set()


def locked_names(lock: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / lock).read_text(), re.MULTILINE))


def plain(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-").replace(".", "-")
