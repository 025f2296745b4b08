"""What the README says of commands, ends, policies and bounds is what the code knows of them."""

import re
from pathlib import Path

from app.core.bounds import NOT_CARRIED_OUT, Bounds
from app.core.policy import Policy
from app.core.run import ClosedReason, StallCode
from app.core.verb import COMMANDS
from app.registration import FILES
from worker.up import HOLDS

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")


def section(title: str) -> str:
    """The text below a heading, to the next one of its height or above."""
    text = README.partition(f"{title}\n")[2]
    return re.split(rf"\n#{{2,{len(title.split(' ', 1)[0])}}} ", text)[0]


def first_cells(text: str) -> list[str]:
    """What stands in the first column of the tables, in code."""
    cells = (line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_the_commands_are_those_of_the_table_word_for_word() -> None:
    told = section("## On the issue")
    for one in COMMANDS:
        assert f"| `{one.written}` | {one.who} | {one.does} |" in told
    assert [name for name in first_cells(told) if name.startswith("/")] == [one.written for one in COMMANDS]


def test_every_reason_why_a_run_ends_says_what_it_means_and_what_to_do() -> None:
    rows = section("### How a run ends")
    assert sorted(first_cells(rows)) == sorted(ClosedReason)
    assert all(len(cell.strip()) > 5 for row in rows.splitlines() if row[:3] == "| `" for cell in row.split("|")[1:4])


def test_every_way_of_not_going_on_says_what_it_means_and_what_to_do() -> None:
    assert sorted(first_cells(section("### Where a run does not go on"))) == sorted(StallCode)


def test_every_key_of_a_policy_and_of_the_operators_bounds_is_told() -> None:
    rules = section("## A repository's own rules")
    assert set(first_cells(rules)) == set(Policy.model_fields)
    missing = [key for key in Bounds.model_fields if key != "version" and f"`{key}`" not in rules]
    assert missing == []
    assert f"({', '.join(f'`{key}`' for key in NOT_CARRIED_OUT)})" in rules


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
