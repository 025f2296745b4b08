"""The receiver, asked from outside: real HTTP, a real ledger."""

import json
import re
import select
import socket
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.ledger import migrate
from app.queue.bells import REACH_SECONDS
from app.settings import web_settings
from tests.rooms.web.conftest import SECRET, Door, commented, labeled, running, sign, wait_until

VECTOR = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
TRICKY = "naïve 😀 ç"


def the_run(door: Door) -> Any:
    (summary,) = door.ledger.runs()
    return door.ledger.run(summary.id)


def kinds(door: Door) -> list[str]:
    return [view.fact.kind for view in the_run(door).facts]


def test_githubs_own_test_vector_is_believed(closed_door: Door) -> None:
    answer = closed_door.post("ping", b"Hello, World!", headers={"x-hub-signature-256": VECTOR})
    assert (answer.status_code, answer.json()) == (200, {"pong": True})


def test_a_label_opens_a_run_and_rings(door_on_both: Door) -> None:
    answer = door_on_both.post("issues", labeled())
    assert answer.status_code == 202
    assert answer.json()["duplicate"] is False
    assert re.fullmatch(r"opened run r-[a-z2-7]{12}", answer.json()["recorded"])
    run = the_run(door_on_both)
    assert run.state.request.issue_number == 7
    assert run.state.request.labeller.login == "mira"
    wait_until(lambda: door_on_both.rung() == len(run.effects))
    assert door_on_both.ledger.repository(501).full_name == "mira/sizes"


def test_a_second_delivery_with_the_same_guid_changes_nothing(door_on_both: Door) -> None:
    door_on_both.post("issues", labeled(), guid="g-1")
    again = door_on_both.post("issues", labeled(), guid="g-1")
    assert (again.status_code, again.json()["duplicate"]) == (202, True)
    assert (door_on_both.recorded(), kinds(door_on_both)) == (1, ["labelled"])


@pytest.mark.parametrize(
    "write",
    [
        lambda payload: json.dumps(payload, ensure_ascii=False).encode(),
        lambda payload: json.dumps(payload, ensure_ascii=True).encode(),
        lambda payload: json.dumps(dict(reversed(payload.items())), ensure_ascii=False, indent=3).encode(),
    ],
    ids=["literal", "escaped", "odd spacing and order"],
)
def test_wh_01_a_signature_is_over_bytes_whatever_the_text_is(
    door: Door, write: Callable[[dict[str, Any]], bytes]
) -> None:
    payload = labeled()
    payload["issue"]["title"] = TRICKY
    assert door.post("issues", write(payload)).status_code == 202
    assert the_run(door).state.request.issue_title == TRICKY


def test_wh_01_one_changed_byte_is_refused_and_leaves_nothing(door: Door) -> None:
    payload = labeled()
    payload["issue"]["title"] = TRICKY
    body = json.dumps(payload, ensure_ascii=False).encode()
    changed = body.replace("😀".encode(), "😁".encode())
    answer = door.post("issues", changed, headers={"x-hub-signature-256": sign(body)})
    assert answer.status_code == 401
    assert (door.recorded(), door.rung(), door.ledger.runs()) == (0, 0, ())


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "sha256=",
        "sha256=" + "0" * 64,
        "sha256=" + "0" * 63,
        "sha256=" + "ü" * 64,
        "sha256=\u00ff\u00fe",
        "sha1=" + "0" * 40,
        sign(b"{}").upper(),
        sign(b"{}")[7:],
        sign(b"{}") + "00",
        f"{sign(b'{}')}, {sign(b'{}')}",
    ],
)
def test_any_other_signature_is_refused(closed_door: Door, signature: str) -> None:
    headers = {b"content-type": b"application/json", b"x-github-event": b"issues", b"x-github-delivery": b"g"}
    if signature:
        headers[b"x-hub-signature-256"] = signature.encode()
    answer = closed_door.client.post(f"{closed_door.url}/webhooks/github", content=b"{}", headers=list(headers.items()))
    assert answer.status_code == 401
    assert closed_door.recorded() == 0


def test_a_signature_with_another_secret_is_refused(closed_door: Door) -> None:
    body = json.dumps(labeled()).encode()
    assert closed_door.post("issues", body, headers={"x-hub-signature-256": sign(body, "another")}).status_code == 401


def test_two_signature_headers_are_refused_even_when_one_is_right(closed_door: Door) -> None:
    body = json.dumps(labeled()).encode()
    headers = [
        ("content-type", "application/json"),
        ("x-github-event", "issues"),
        ("x-github-delivery", "g"),
        ("x-hub-signature-256", sign(body)),
        ("x-hub-signature-256", sign(body)),
    ]
    answer = closed_door.client.post(f"{closed_door.url}/webhooks/github", content=body, headers=headers)
    assert answer.status_code == 401


def test_while_the_secret_is_replaced_both_are_believed(env: dict[str, str]) -> None:
    with running(web_settings(env | {"GITHUB_WEBHOOK_SECRET_OLD": "the old one"})) as door:
        for secret in (SECRET, "the old one"):
            signature = {"x-hub-signature-256": sign(b"{}", secret)}
            assert door.post("ping", b"{}", headers=signature).status_code == 200
        assert door.post("ping", b"{}", headers={"x-hub-signature-256": sign(b"{}", "a third")}).status_code == 401


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": ""}, 415),
        ({"x-github-event": ""}, 400),
        ({"x-github-event": "ISSUES!"}, 400),
        ({"x-github-delivery": ""}, 400),
        ({"x-github-delivery": "a b"}, 400),
    ],
)
def test_a_head_that_is_not_githubs_is_refused_with_a_sentence(
    closed_door: Door, changed: dict[str, str], status: int
) -> None:
    answer = closed_door.post("issues", labeled(), headers=changed)
    assert answer.status_code == status
    assert answer.json()["refused"].endswith(".")
    assert closed_door.recorded() == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"action": 3}',
        b'{"action":"\xc3"}',
        b'{"action": "labeled"} trailing',
        b'{"action": "labeled", "issue": {"number": "7"}}',
        b'{"action": "labeled", "issue": {"number": 9007199254740993}}',
        b'{"action": "labeled", "issue": {"number": 7, "title": "\xff"}}',
    ],
    ids=lambda body: body[:40].decode("latin-1"),
)
def test_broken_json_is_refused_with_a_sentence(closed_door: Door, body: bytes) -> None:
    answer = closed_door.post("issues", body)
    assert answer.status_code == 400
    assert answer.json()["refused"].endswith(".")
    assert closed_door.recorded() == 0


def test_a_charset_in_the_content_type_is_no_fault(door: Door) -> None:
    answer = door.post("issues", labeled(), headers={"content-type": "application/json; charset=utf-8"})
    assert answer.status_code == 202


def test_other_methods_are_refused(closed_door: Door) -> None:
    answer = closed_door.client.get(f"{closed_door.url}/webhooks/github")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("event", ["push", "star", "an_event_of_next_year"])
def test_an_event_that_is_not_followed_is_answered_by_its_name_alone(closed_door: Door, event: str) -> None:
    answer = closed_door.post(event, b"not even JSON")
    assert (answer.status_code, list(answer.json())) == (202, ["ignored"])
    assert closed_door.recorded() == 0


def test_an_action_that_is_not_followed_is_ignored_whatever_else_is_in_it(closed_door: Door) -> None:
    answer = closed_door.post("issues", {"action": "blessed", "issue": "strange"})
    assert (answer.status_code, list(answer.json())) == (202, ["ignored"])


def test_wh_02_a_missing_sender_is_recorded_and_given_no_authority(door_on_both: Door) -> None:
    payload = labeled()
    del payload["sender"]
    assert door_on_both.post("issues", payload).status_code == 202
    run = the_run(door_on_both)
    assert run.state.name == "closed"
    assert "did not say who set the label" in run.state.words


@pytest.mark.parametrize("missing", ["user", "body"])
def test_wh_02_a_deleted_author_or_an_empty_description_starts_a_plan_all_the_same(door: Door, missing: str) -> None:
    payload = labeled()
    payload["issue"][missing] = None
    assert door.post("issues", payload).status_code == 202
    run = the_run(door)
    assert run.state.name == "wanted"
    if missing == "user":
        assert run.state.request.author is None
        assert "<dt>Issue by</dt><dd><bdi>a deleted account</bdi>" in door.client.get(f"{door.url}/runs/{run.id}").text


def test_lb_01_only_the_label_just_set_counts(door: Door) -> None:
    door.post("issues", labeled())
    for other in ("bug", "p1"):
        answer = door.post("issues", labeled(label={"name": other}))
        assert list(answer.json()) == ["ignored"]
    assert kinds(door) == ["labelled"]


def test_lb_01_two_labels_at_once_make_one_run(door: Door) -> None:
    door.post("issues", labeled(label={"name": "bug"}))
    door.post("issues", labeled())
    assert kinds(door) == ["labelled"]


def test_lb_01_labels_that_come_all_at_once_make_one_run(door_on_both: Door) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: door_on_both.post("issues", labeled()), range(8)))
    assert [answer.status_code for answer in answers] == [202] * 8
    assert door_on_both.recorded() == 8
    assert kinds(door_on_both) == ["labelled"] + ["labelled_again"] * 7


def test_one_delivery_that_comes_many_times_at_once_is_recorded_once(door_on_both: Door) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: door_on_both.post("issues", labeled(), guid="g-1"), range(8)))
    assert sorted(answer.json()["duplicate"] for answer in answers) == [False] + [True] * 7
    assert (door_on_both.recorded(), kinds(door_on_both)) == (1, ["labelled"])


def test_lb_01_setting_the_label_again_makes_no_second_run_beside_the_first(door: Door) -> None:
    door.post("issues", labeled())
    door.post("issues", labeled())
    assert kinds(door) == ["labelled", "labelled_again"]
    gone = labeled(action="unlabeled")
    gone["issue"]["labels"] = []
    door.post("issues", gone)
    door.post("issues", labeled())
    states = sorted(summary.state for summary in door.ledger.runs())
    assert states == ["closed", "wanted"]


def test_lg_01_ids_beyond_32_bits_come_back_as_they_were(door_on_both: Door) -> None:
    big = 2**40 + 1
    door_on_both.post("issues", labeled(repository={"id": big, "full_name": "a/b"}, installation={"id": big + 1}))
    door_on_both.post("issue_comment", commented("/status", repository={"id": big, "full_name": "a/b"}))
    run = the_run(door_on_both)
    assert run.state.request.repository_id == big
    assert run.state.request.installation_id == big + 1
    assert run.facts[-1].fact.comment_id == 4_300_000_007


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("/approve\r\n", "command_given"),
        ("\n\n/approve   ", "command_given"),
        ("/approve\n<!-- sync:root -->", "command_given"),
        ("/aprove", "command_unclear"),
        ("/approve\n/reject", "command_unclear"),
        ("> /approve\n\nnot yet, please", None),
        ("On Tuesday mira wrote:\n> /approve", None),
    ],
)
def test_ap_01_and_03_a_comment_is_a_command_or_is_none(door: Door, comment: str, expected: str | None) -> None:
    door.post("issues", labeled())
    answer = door.post("issue_comment", commented(comment))
    assert answer.status_code == 202
    assert kinds(door)[1:] == ([expected] if expected else [])


def test_each_repository_taken_from_the_app_is_recorded_once(door: Door) -> None:
    repositories = [{"id": 501, "full_name": "mira/sizes"}, {"id": 502, "full_name": "mira/other"}]
    for repository in repositories:
        door.post("issues", labeled(repository=repository))
    removed = {"action": "removed", "repositories_removed": repositories, "installation": {"id": 901}}
    door.post("installation_repositories", removed, guid="gone")
    assert {summary.state for summary in door.ledger.runs()} == {"closed"}
    again = door.post("installation_repositories", removed, guid="gone")
    assert again.json()["duplicate"] is True


def test_without_a_ledger_no_delivery_is_acknowledged_and_it_is_taken_when_sent_again(
    door: Door, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as beside:
        beside.execute("ALTER TABLE deliveries RENAME TO away")
        first = door.post("issues", labeled(), guid="g-1")
        assert first.status_code == 503
        assert first.headers["retry-after"]
        assert door.client.get(f"{door.url}/healthz").status_code == 200
        beside.execute("ALTER TABLE away RENAME TO deliveries")
    again = door.post("issues", labeled(), guid="g-1")
    assert (again.status_code, again.json()["duplicate"]) == (202, False)
    assert kinds(door) == ["labelled"]


def test_a_server_that_restarts_or_takes_nothing_is_told_by_503_and_in_readiness(
    postgres_url: str, tmp_path: Path
) -> None:
    migrate(postgres_url)
    env = {"GITHUB_WEBHOOK_SECRET": SECRET, "COUNTERSIGN_DATA_DIR": str(tmp_path), "DATABASE_URL": postgres_url}
    name = postgres_url.rpartition("/")[2]
    ends_all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = %s"
    with (
        psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as admin,
        running(web_settings(env)) as door,
    ):
        answers = []
        for guid in ("g-1", "g-2"):
            answers.append(door.post("issues", labeled(), guid=guid).status_code)
            admin.execute(ends_all, [name])
        assert answers == [202, 202]
        admin.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'.encode())
        admin.execute(ends_all, [name])
        assert door.post("issues", labeled(), guid="g-3").status_code == 503
        ready = door.client.get(f"{door.url}/readyz")
        assert ready.status_code == 503 and "read-only" in ready.text
        assert door.client.get(f"{door.url}/healthz").status_code == 200
        admin.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only'.encode())
        assert door.post("issues", labeled(), guid="g-3").status_code == 202
        wait_until(lambda: door.client.get(f"{door.url}/readyz").status_code == 200)
        assert kinds(door) == ["labelled", "labelled_again", "labelled_again"]


def test_a_broker_that_never_answers_delays_and_spoils_nothing(env: dict[str, str]) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        running(web_settings(env | {"CELERY_BROKER_URL": f"redis://127.0.0.1:{silent.getsockname()[1]}/0"})) as door,
    ):
        answer = door.post("issues", labeled())
        assert answer.status_code == 202
        assert answer.elapsed.total_seconds() < REACH_SECONDS
        wait_until(lambda: select.select([silent], [], [], 0)[0])


def test_our_own_doings_are_dropped_before_anything_else(env: dict[str, str]) -> None:
    with running(web_settings(env | {"COUNTERSIGN_BOT_ID": "77"})) as door:
        bot = {"id": 77, "login": "countersign[bot]", "type": "Bot"}
        answer = door.post("issues", labeled(sender=bot))
        assert answer.json() == {"ignored": "this is our own doing"}


def test_a_ledger_without_tables_stops_the_start(env: dict[str, str], tmp_path: Path) -> None:
    from app.ledger.errors import LedgerBehind

    settings = web_settings(env | {"DATABASE_URL": f"sqlite:///{tmp_path / 'new.db'}"})
    with pytest.raises(LedgerBehind, match="no tables"), running(settings):
        pass
    migrate(settings.ledger.url)
    with running(settings) as door:
        assert door.recorded() == 0
