"""What README and runbook say of commands, ends, alarms and findings is what the code knows of them."""

import re

from app.core.run import ClosedReason, StallCode
from app.core.verb import COMMANDS
from app.registration import FILES
from tests.house.tree import ROOT, python_files
from worker.doctor.command import table
from worker.doctor.holding import PROCESSES
from worker.up import HOLDS

README = (ROOT / "README.md").read_text("utf-8")
RUNBOOK = (ROOT / "infra/docs/runbook.md").read_text("utf-8")


def section(title: str, page: str = RUNBOOK) -> str:
    """The text below a heading, to the next one of its height or above."""
    text = page.partition(f"{title}\n")[2]
    return re.split(rf"\n#{{2,{len(title.split(' ', 1)[0])}}} ", text)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every row of the tables below it whose first cell is in code."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| `")]


def first_cells(text: str) -> list[str]:
    """What stands in the first column of the tables, in code."""
    cells = (line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_the_commands_are_those_of_the_table_word_for_word() -> None:
    told = section("## On the issue", README)
    for one in COMMANDS:
        assert f"| `{one.written}` | {one.who} | {one.does} |" in told
    assert [name for name in first_cells(told) if name.startswith("/")] == [one.written for one in COMMANDS]


def test_every_reason_why_a_run_ends_says_what_it_means_and_what_to_do() -> None:
    told = section("## Why a run ended").partition("| words |")[0]
    assert sorted(first_cells(told)) == sorted(ClosedReason)
    assert all(len(row) == 4 and all(len(cell) > 5 for cell in row) for row in rows(told))


def test_every_way_of_not_going_on_says_what_it_means_and_what_to_do() -> None:
    told = section("## Why a run does not go on")
    assert sorted(first_cells(told)) == sorted(StallCode)
    assert all(len(row) == 4 and all(len(cell) > 5 for cell in row) for row in rows(told))


def test_every_number_of_the_metrics_is_told_with_when_it_is_an_alarm() -> None:
    source = (ROOT / "app/web/numbers.py").read_text("utf-8")
    names = set(re.findall(r'"(countersign_\w+)"', source)) - {"countersign_web"}
    told = [name for name in first_cells(section("### `/metrics`")) if name.startswith("countersign_")]
    assert sorted(told) == sorted(names)


def test_every_reason_in_an_answer_to_a_delivery_is_told_with_its_status() -> None:
    source = (ROOT / "app/web/hooks.py").read_text("utf-8")
    told = section("### Answers to deliveries")
    given = set(re.findall(r'(?:_refused|Answer)\((\d{3}), "(\w+)"', source))
    given |= {("202", "recorded"), ("202", "duplicate")} | set(re.findall(r'answered\[(\d{3}), "(\w+)"\]', source))
    assert sorted(first_cells(told)) == sorted({name for _, name in given})
    for status, name in given:
        assert any(f"`{name}`" in row[0] and status in row[1] for row in rows(told)), (status, name)


def test_every_check_of_the_doctor_is_told() -> None:
    told = first_cells(section("### What `doctor` finds"))
    checks = [one.name for one in table(PROCESSES, ["acme/greet"], {"COUNTERSIGN_URL": "https://a.example.com"})]
    unlike = [name for name in checks if not any(_like(name, one) for one in told)]
    gone = [one for one in told if not any(_like(name, one) for name in checks)]
    assert (unlike, gone) == ([], [])


def _like(name: str, told: str) -> bool:
    return name == told or (told.endswith(" …") and name.startswith(told.removesuffix("…")))


def test_words_that_the_runbook_quotes_are_words_of_the_code() -> None:
    said = " ".join(path.read_text("utf-8") for path in python_files("app", "worker"))
    # A sentence may be put together of several pieces, and go on in the next line.
    said = re.sub(r'"\s+f?"', "", said)
    quoted = first_cells(section("## Why a run ended").partition("| words |")[2])
    quoted += first_cells(section("### Lines of the log"))
    assert len(quoted) > 12
    assert [words for words in quoted if words not in said] == []


def test_which_process_gets_each_kept_file_of_the_app_is_told() -> None:
    table = README.partition("| file in `app/` |")[2].partition("\n\n")[0]
    told: dict[str, tuple[str, str]] = {}
    for line in table.splitlines()[2:]:
        files, names, process = (re.findall(r"`([^`]+)`", cell) or cell.strip() for cell in line.split("|")[1:4])
        told |= {name.removesuffix("_PATH"): (file, str(process)) for file, name in zip(files, names, strict=True)}
    kept = {name: file for name, (file, _) in told.items()}
    assert kept | {"COUNTERSIGN_APP_PAGE": "page", "COUNTERSIGN_PULL": "pull"} == FILES
    for name, (_, process) in told.items():
        holders = {one for one, held in HOLDS.items() if name in held}
        assert holders == ({process} if process in HOLDS else HOLDS.keys() - {"beat"}), name
