"""A PostgreSQL server that stands still: GitHub hears so before it gives up, and what it sends again is taken once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from app.ledger import migrate
from app.settings import web_settings
from app.web.body import LIMITS
from tests.fakes import services
from tests.rooms.web.conftest import SECRET, Door, labeled, running, wait_until

MANY = 12
"""More than have a turn at once."""


def taken(door: Door, guid: str) -> httpx.Response:
    """The answer to the first of its deliveries that was taken: GitHub is asked for it again and again."""
    answers: list[httpx.Response] = []
    wait_until(lambda: answers.append(door.post("issues", labeled(), guid=guid)) or answers[-1].status_code == 202)
    return answers[-1]


def test_while_the_ledger_stands_still_every_delivery_is_answered_503_and_taken_once_when_it_is_sent_again(
    own_postgres: services.Started, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert LIMITS.answer_seconds < 10
    guids = [f"g-{number}" for number in range(MANY)]
    with services.fresh_database(own_postgres) as url:
        migrate(url)
        env = {"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": str(tmp_path), "DATABASE_URL": url}
        with (
            running(web_settings(env), replace(LIMITS, answer_seconds=0.5)) as door,
            ThreadPoolExecutor(MANY) as github,
        ):
            taken(door, "first")
            with services.paused(own_postgres):
                answers = list(github.map(lambda guid: door.post("issues", labeled(), guid=guid), guids))
                assert {one.status_code for one in answers} == {503}
                assert all("did not answer in time" in one.text and one.headers["retry-after"] for one in answers)
                ready = door.client.get(f"{door.url}/readyz")
                assert (ready.status_code, "did not answer" in ready.text) == (503, True)
                assert door.client.get(f"{door.url}/healthz").status_code == 200
            wait_until(lambda: "was recorded after all" in caplog.text)
            again = list(github.map(lambda guid: taken(door, guid), guids))
            assert any(one.json()["duplicate"] for one in again)
            assert door.recorded() == MANY + 1
            [run] = door.ledger.runs()
            view = door.ledger.run(run.id)
            assert view is not None
            assert [one.fact.kind for one in view.facts] == ["labelled"] + ["labelled_again"] * MANY
            wait_until(lambda: door.client.get(f"{door.url}/readyz").status_code == 200)
