"""Who may see some repositories is shown their runs alone: in lists, on pages, in outputs, live and in the numbers."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi import Request

from app.core.facts import ExecutionFailed
from app.ledger import open_ledger
from app.web.pages import Told, make_pages
from app.web.sessions import seal_of
from app.web.viewers import Viewer, Viewers, Watchers
from tests.fakes.facts import a_request, labelled
from tests.rooms.web.test_pages import a_report, opened, worked

MINE = 71
LISTS = ["/runs", "/runs?part=running", "/runs?part=waiting", "/runs?state=proposed", "/numbers"]


@dataclass(frozen=True, slots=True)
class Somebody(Viewers):
    """Who was let in elsewhere, and may see one repository."""

    def admit(self, request: Request) -> Viewer:
        return Viewer("somebody", frozenset({MINE}))


def asked(ledger_file: Path, path: str) -> httpx.Response:
    """What somebody is answered."""
    ledger = open_ledger(f"sqlite:///{ledger_file}")
    somebody = Somebody(seal_of(b"a secret", "http"))
    pages = make_pages(Told(ledger, somebody, Watchers(None), list, str, ledger_file.parent, tuple))

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app=pages)
        async with httpx.AsyncClient(transport=transport, base_url="http://pages.test") as client:
            return await client.get(path)

    try:
        return asyncio.run(ask())
    finally:
        ledger.close()


@pytest.fixture
def two(env: dict[str, str], tmp_path: Path) -> tuple[Path, str, str]:
    """A ledger with a run of theirs and one of another repository, whose report has a patch: file, run, reference."""
    file = tmp_path / "ledger.db"
    ledger = open_ledger(f"sqlite:///{file}")
    opened(ledger, labelled(a_request("r-mine01", 3, MINE)))
    report = a_report(ledger)
    reference = ledger.put_artifact(report.model_dump_json().encode(), "application/json")
    other = worked(ledger, ExecutionFailed, reference)
    ledger.close()
    return file, other, report.diff_ref


@pytest.mark.parametrize("path", LISTS)
def test_lists_and_numbers_hold_only_what_they_may_see(two: tuple[Path, str, str], path: str) -> None:
    file, other, _ = two
    page = asked(file, path)
    assert page.status_code == 200 and other not in page.text
    if path in ("/runs", "/runs?part=running"):
        assert "/runs/r-mine01" in page.text
    if path == "/numbers":
        assert "Of the newest 1 runs" in page.text


def test_a_run_of_others_is_answered_as_one_that_is_not_there(two: tuple[Path, str, str]) -> None:
    file, other, patch = two
    assert asked(file, "/runs/r-mine01").status_code == 200
    for path in ("", "/live", f"/kept/{patch}", f"/outputs/{patch}"):
        answer = asked(file, f"/runs/{other}{path}")
        assert (answer.status_code, answer.text) == (404, asked(file, f"/runs/r-nobody{path}").text), path


def test_the_doctor_who_tells_of_everything_is_not_for_who_sees_some(two: tuple[Path, str, str]) -> None:
    answer = asked(two[0], "/doctor")
    assert answer.status_code == 403 and "`countersign doctor`" in answer.text
    assert "Seen from here" not in answer.text
