"""What a load balancer is told: who records deliveries stays in its place, whatever the broker does (case QU-03)."""

import threading
from concurrent.futures import ThreadPoolExecutor

from app.settings import web_settings
from app.web.watching import Readiness, Standing
from tests.rooms.web.conftest import labeled, running


def test_a_broker_that_is_away_is_said_with_a_reason(env: dict[str, str]) -> None:
    with running(web_settings(env | {"CELERY_BROKER_URL": "redis://127.0.0.1:1/0"})) as door:
        answer = door.client.get(f"{door.url}/readyz")
        assert answer.status_code == 200
        assert answer.text.startswith("degraded\n") and "The broker takes no bells" in answer.text
        assert door.post("issues", labeled()).status_code == 202


def test_however_many_ask_whether_it_is_ready_one_looks_and_none_waits_for_a_broker_that_does_not_answer() -> None:
    looks: list[str] = []
    silent = threading.Event()

    def ledger() -> str:
        looks.append("ledger")
        return ""

    def broker() -> str:
        looks.append("broker")
        silent.wait(20)
        return ""

    readiness = Readiness(ledger, broker)
    with ThreadPoolExecutor(8) as many:
        told = {one.words for one in many.map(lambda _: readiness.now(), range(8))}
    assert sorted(looks) == ["broker", "ledger"]
    assert len(told) == 1 and told.pop().startswith("degraded\n")
    silent.set()


def test_who_cannot_record_is_not_ready_whatever_the_broker_does() -> None:
    assert Readiness(lambda: "The disk is full.", lambda: "").now() == Standing(503, "The disk is full.\n")
