"""The pages, for people and for machines that watch."""

import hashlib
import itertools
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html import unescape
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.core.belts import Belt
from app.core.effects import LookUpAuthority
from app.core.facts import ExecutionFailed, Labelled, RepositoryEnded, StepsDone
from app.core.news import Delivery, News, OnIssue
from app.core.plan import Plan
from app.core.report import Report
from app.core.span import Minted, Span, SpanKind
from app.ledger.store import Ledger
from app.settings import web_settings
from tests.fakes.facts import START, World, a_request, drafted, found, labelled, lived, sha
from tests.rooms.web.conftest import SECRET, Door, labeled, running

EVIL = "<script>alert(1)</script> & \"it\" 'is' {{ 7*7 }} [x](javascript:alert(1))"


def opened(ledger: Ledger, fact: Labelled) -> str:
    """A run that this label opened; its id."""
    request = fact.request
    delivery = Delivery(f"g-{request.run}", "issues", "labeled", fact.at, b"{}")
    ledger.receive(delivery, News(OnIssue(request.repository_id, request.issue_number), fact))
    return request.run


def a_plan(run: str) -> Plan:
    return Plan.model_validate(
        {
            "run": run,
            "version": 1,
            "template": {"name": "bugfix", "version": "1.0.0"},
            "models": {"planner": "p", "executor": "e", "reviewer": "r"},
            "repository_id": 1,
            "issue_number": 7,
            "issue_digest": sha("the issue"),
            "base_branch": "main",
            "base_commit": "c" * 40,
            "summary": EVIL,
            "hypothesis": "It rounds before it rolls over.",
            "evidence": [{"path": "src/a.py", "start": 3, "end": 5, "shows": EVIL}],
            "steps": [
                {"id": 1, "kind": "change", "path": "src/a.py", "intent": EVIL, "done_when": "it is", "who": "standard"}
            ],
            "checks": [{"name": "pytest", "argv": ["pytest", EVIL]}],
            "budget": {"usd": "1.00", "calls": 9, "minutes": 9, "files": 2, "lines": 90},
        }
    )


@pytest.fixture
def shown(door: Door) -> Door:
    """A door with one run that has everything a page can show, all of it hostile."""
    ledger = door.ledger
    request = a_request().model_copy(update={"issue_title": EVIL})
    run = opened(ledger, labelled(request))
    view = ledger.run(run)
    assert view is not None
    look = view.effects[0].effect
    assert isinstance(look, LookUpAuthority)
    ledger.record(run, found(look, START))
    ledger.record(run, drafted(1, START, digest=ledger.put_plan(run, a_plan(run))))
    began = {"run": run, "belt": Belt.PLANNER, "began_at": START, "seconds": 1.25, "outcome": EVIL}
    model = {"kind": SpanKind.MODEL, "name": "planner", "model": "strong-1", "input_tokens": 321}
    ledger.add_spans(
        [
            Span.model_validate(began | model | {"usd": Decimal("0.1234"), "cached_tokens": 50, "output_tokens": 7}),
            Span.model_validate(began | model | {"priced": False}),
            Span.model_validate(began | {"kind": SpanKind.TOOL, "name": "read_file"}),
        ]
    )
    ledger.record_mint(
        Minted(
            id="m1",
            run=run,
            effect_id=1,
            belt=Belt.PUBLISHER,
            purpose="look_up_authority",
            repository_id=1,
            permissions={"metadata": "read"},
            token_sha256=sha("token"),
            minted_at=START,
            expires_at=START + timedelta(hours=1),
        )
    )
    return door


def test_the_page_of_a_run_shows_facts_plan_effects_costs_and_tokens(shown: Door) -> None:
    page = shown.client.get(f"{shown.url}/runs/r-000001").text
    order = [page.index(f'id="{part}"') for part in ("timeline", "plan", "work", "seen", "calls", "owed", "tokens")]
    assert order == sorted(order)
    for words in (
        "Somebody set the trigger label; this opens a run.",
        "The planner made a plan that parses",
        "authority:label",
        "src/a.py:3–5",
        f"https://github.com/acme/widgets/blob/{'c' * 40}/src/a.py#L3-L5",
        "Version 1 of the plan is made and is being posted on the issue.",
        "$0.1234",
        "price not known",
        "2026-03-01 09:00:00 UTC",
        sha("token")[:12],
        "metadata: read",
        # Of the planned version the fact says 1000 tokens; of the belt its spans, each sort by itself.
        "<dt>Tokens in, out</dt><dd>1,000, 0</dd>",
        '<td class="n">642, 50, 7</td>',
        '<td class="n">321, 50, 7</td>',
    ):
        assert words in page, words
    assert sha("token") not in page


def a_report(ledger: Ledger) -> Report:
    """The report of a red check, with patch and output kept."""
    diff = ledger.put_artifact(b"--- a/x\n+++ b/x\n\xff", "text/x-diff")
    output = ledger.put_artifact(EVIL.encode(), "text/plain")
    one = {"name": "pytest", "argv": ["pytest"], "when": "after", "ended": "exited", "exit_status": 1, "seconds": 2}
    before = ledger.put_artifact(b"red before the repair", "text/plain")
    repair = {"number": 1, "asked_by": "checks", "because": EVIL, "runs": [one | {"output_ref": before}], "calls": 3}
    judged = {"criterion": 1, "met": "no", "because": EVIL, "where": "difference", "quote": EVIL, "believed": True}
    review = {"agrees": False, "answer": "stop", "words": EVIL, "judgements": [judged]}
    more = {"diff_ref": diff, "changed_lines": 2, "repairs": [repair], "review": review}
    return Report.model_validate({"runs": [one | {"output_ref": output}], **more})


def worked(ledger: Ledger, kind: type[StepsDone] | type[ExecutionFailed], reference: str) -> str:
    """A run whose execution ended so, with that report; its id."""
    for seed in itertools.count():
        world = lived(random.Random(seed).choice, 60)
        if any(isinstance(fact, kind) for fact in world.facts):
            break
    assert isinstance(world.facts[0], Labelled)
    run = opened(ledger, world.facts[0])
    for fact in world.facts[1:]:
        told = {"report_ref": reference} | ({"reason": EVIL} if kind is ExecutionFailed else {})
        ledger.record(run, fact.model_copy(update=told) if isinstance(fact, kind) else fact)
    return run


@pytest.mark.parametrize("kind", [StepsDone, ExecutionFailed])
def test_the_patch_and_the_outputs_of_every_execution_are_kept_on_the_page(
    door: Door, kind: type[StepsDone] | type[ExecutionFailed]
) -> None:
    report = a_report(door.ledger)
    reference = door.ledger.put_artifact(report.model_dump_json().encode(), "application/json")
    run = worked(door.ledger, kind, reference)
    page = door.client.get(f"{door.url}/runs/{run}").text
    assert "2 changed lines" in page and "<script>" not in page and ">exit 1</span>" in page
    assert "asked for by the checks, 3 model calls" in page and "Criterion 1: no." in page
    for kept, content in (
        (report.diff_ref, b"--- a/x\n+++ b/x\n\xff"),
        (report.runs[0].output_ref, EVIL.encode()),
        (report.repairs[0].runs[0].output_ref, b"red before the repair"),
    ):
        assert f"/runs/{run}/outputs/{kept}" in page
        answer = door.client.get(f"{door.url}/runs/{run}/kept/{kept}")
        assert (answer.content, answer.headers["content-type"]) == (content, "text/plain; charset=utf-8")
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ("nothing", "does not hold this report any more"), ("something else", "is not a report"),
        ("something that went by its age", "It was dropped by its age"),
    ],
)  # fmt: skip
def test_nothing_is_given_out_that_no_report_of_the_run_names(door: Door, held: str, words: str) -> None:
    secret = door.ledger.put_artifact(b"of another run", "text/plain")
    run = worked(door.ledger, ExecutionFailed, sha("gone") if held == "nothing" else secret)
    if held.startswith("something that went"):
        door.ledger.record(run, RepositoryEnded(at=datetime(2002, 1, 1, tzinfo=UTC), how="gone"))
        door.ledger.prune(datetime.now(UTC) + timedelta(days=9_999))
    assert words in door.client.get(f"{door.url}/runs/{run}").text
    for one in (run, "r-none"):
        for way in ("kept", "outputs"):
            assert door.client.get(f"{door.url}/runs/{one}/{way}/{secret}").status_code == 404


def test_no_word_of_a_stranger_becomes_markup_or_a_script(shown: Door) -> None:
    for path in ("/runs", "/runs/r-000001"):
        answer = shown.client.get(shown.url + path)
        assert "<script>" not in answer.text and answer.text.count("<script") == 1
        assert "&lt;script&gt;" in answer.text
        assert "{{ 7*7 }}" in answer.text
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_only_a_web_address_becomes_a_link(door: Door) -> None:
    from app.web.sheets import FILTERS

    assert FILTERS["link"]("javascript:alert(1)") == ""
    assert FILTERS["link"]("https://github.test/a/b/pull/1") == "https://github.test/a/b/pull/1"


def test_a_plan_that_was_changed_in_the_ledger_is_not_shown_as_one(shown: Door, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as beside:
        beside.execute("UPDATE plans SET body = CAST(replace(body, 'rounds', 'does not round') AS BLOB)")
        beside.commit()
    page = shown.client.get(f"{shown.url}/runs/r-000001")
    assert page.status_code == 200
    assert "was changed in the ledger." in page.text
    assert "does not round" not in page.text


def test_every_run_that_can_happen_has_a_page(door: Door) -> None:
    states = set()
    for seed in range(20, 50):
        dice = random.Random(seed)
        request = a_request(run=f"r-{seed:06}", number=seed + 1)
        world = World(pick=lambda options, dice=dice: dice.choice(list(options)), request=request)
        for _ in range(60):
            world.step()
        assert isinstance(world.facts[0], Labelled)
        run = opened(door.ledger, world.facts[0])
        for fact in world.facts[1:]:
            door.ledger.record(run, fact)
        page = door.client.get(f"{door.url}/runs/{run}")
        assert page.status_code == 200, run
        view = door.ledger.run(run)
        assert view is not None
        assert page.text.count('<li><span class="by') == len(view.facts)
        states.add(view.state.name)
    assert {"closed", "proposed", "published"} <= states


def test_the_list_of_runs_can_be_walked_to_its_end(door: Door) -> None:
    for number in range(1, 121):
        request = a_request(run=f"r-{number:06}", number=number)
        opened(door.ledger, labelled(request, START + timedelta(minutes=number)))
    seen: list[str] = []
    path = "/runs?part=running"
    for _ in range(3):
        page = door.client.get(door.url + path).text
        seen += [part.partition('"')[0] for part in page.split('<a class="title" href="/runs/')[1:]]
        path = unescape(page.partition('<a rel="next" href="')[2].partition('"')[0])
    assert seen == [f"r-{number:06}" for number in range(120, 0, -1)]
    assert "No run is older" in door.client.get(f"{door.url}/runs?before=r-000001").text


def test_a_run_that_is_not_there_is_said_so(closed_door: Door) -> None:
    assert closed_door.client.get(f"{closed_door.url}/runs/r-nothere").status_code == 404
    assert "Setting the label on an issue opens a run" in closed_door.client.get(f"{closed_door.url}/runs").text
    assert closed_door.client.get(f"{closed_door.url}/").headers["location"] == "/runs"


def test_what_pages_are_drawn_with_may_be_kept_for_good_and_has_a_name_by_its_content(closed_door: Door) -> None:
    page = closed_door.client.get(f"{closed_door.url}/runs").text
    found = set(re.findall(r'"(/static/[^"]+)"', page))
    assert {path.split(".")[-1] for path in found} == {"css", "js", "svg"}
    for path in found:
        answer = closed_door.client.get(closed_door.url + path)
        assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"]
        assert hashlib.sha256(answer.content).hexdigest()[:12] in path
    assert closed_door.client.get(f"{closed_door.url}/static/style.css").status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_no_page_can_be_written_to(closed_door: Door, method: str) -> None:
    for path in ("/runs", "/runs/r-000001", "/live", "/numbers", "/healthz", "/readyz", "/metrics"):
        assert closed_door.client.request(method, closed_door.url + path).status_code == 405


def test_nothing_else_is_served(closed_door: Door) -> None:
    for path in ("/docs", "/openapi.json", "/redoc", "/webhooks", "/webhooks/github/"):
        answer = closed_door.client.get(closed_door.url + path)
        assert answer.status_code == 404 and "There is no page at this address." in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"x-forwarded-for": "203.0.113.9"},
        {"forwarded": "for=203.0.113.9"},
        {"via": "1.1 proxy"},
        {"host": "hooks.example.test"},
        {"host": "127.0.0.1.example.test"},
        {"host": "["},
    ],
)
def test_without_a_password_the_pages_are_shown_to_this_machine_only(
    closed_door: Door, headers: dict[str, str]
) -> None:
    for path in ("/", "/runs", "/runs/r-000001", "/runs/r-000001/live", "/live", "/numbers", "/doctor"):
        refused = closed_door.client.get(closed_door.url + path, headers=headers)
        assert refused.status_code == 403
        assert "this machine only" in refused.text
    assert closed_door.client.get(f"{closed_door.url}/healthz", headers=headers).status_code == 200


@pytest.fixture
def guarded(env: dict[str, str]) -> Iterator[Door]:
    with running(web_settings(env | {"COUNTERSIGN_PAGES_PASSWORD": "pässword"})) as door:
        yield door


def test_with_a_password_the_pages_are_shown_to_who_knows_it_from_anywhere(guarded: Door) -> None:
    far = {"host": "hooks.example.test", "x-forwarded-for": "203.0.113.9"}
    known = httpx.BasicAuth("anybody", "pässword".encode())
    assert guarded.client.get(f"{guarded.url}/runs", headers=far, auth=known).status_code == 200
    for wrong in ("", "Basic", "Basic !!", "Bearer x", "Basic YTpi"):
        refused = guarded.client.get(f"{guarded.url}/runs", headers=far | {"authorization": wrong})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic")


def test_ready_is_said_while_ledger_and_broker_answer(door_on_both: Door) -> None:
    answer = door_on_both.client.get(f"{door_on_both.url}/readyz")
    assert (answer.status_code, answer.text) == (200, "ready\n")


def test_a_schema_of_another_version_is_said_and_so_is_a_ledger_that_fails(door: Door, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as beside:
        beside.execute("UPDATE alembic_version SET version_num = '9999'")
        beside.execute("ALTER TABLE runs RENAME TO away")
        beside.commit()
    answer = door.client.get(f"{door.url}/readyz")
    assert answer.status_code == 503
    assert "schema is 9999" in answer.text
    assert door.client.get(f"{door.url}/healthz").status_code == 200
    assert door.client.get(f"{door.url}/runs").status_code == 503
    assert "countersign_ledger_up 0.0" in door.client.get(f"{door.url}/metrics").text


def test_a_ledger_that_answers_and_takes_nothing_is_not_ready(env: dict[str, str], tmp_path: Path) -> None:
    read_only = f"sqlite:///file:{tmp_path / 'ledger.db'}?mode=ro&uri=true"
    with running(web_settings(env | {"DATABASE_URL": read_only})) as door:
        answer = door.client.get(f"{door.url}/readyz")
        assert answer.status_code == 503 and "readonly" in answer.text
        assert door.client.get(f"{door.url}/runs").status_code == 200
        assert door.post("issues", labeled()).status_code == 503


def test_the_numbers_are_those_of_the_ledger_and_of_what_was_answered(door: Door) -> None:
    door.post("issues", labeled(), guid="one")
    door.post("issues", labeled(), guid="one")
    door.post("issues", labeled(), headers={"x-hub-signature-256": ""})
    door.post("push", {})
    lines = door.client.get(f"{door.url}/metrics").text.splitlines()
    for line in (
        'countersign_answers_total{because="recorded",status="202"} 1.0',
        'countersign_answers_total{because="duplicate",status="202"} 1.0',
        'countersign_answers_total{because="ignored",status="202"} 1.0',
        'countersign_answers_total{because="signature",status="401"} 1.0',
        'countersign_runs{state="wanted"} 1.0',
        'countersign_runs{state="closed"} 0.0',
        'countersign_owed_effects{belt="publisher",kind="look_up_authority"} 1.0',
        'countersign_leases{belt="publisher"} 0.0',
        'countersign_missed{what="deliveries"} 0.0',
        "countersign_ledger_up 1.0",
    ):
        assert line in lines, line
    # Prometheus' own reader takes every line.
    assert len(list(text_string_to_metric_families("\n".join(lines) + "\n"))) > 15
    assert any(line.startswith("countersign_web_process_resident_memory_bytes ") for line in lines)


def test_the_secret_is_on_no_page(shown: Door) -> None:
    for path in ("/runs", "/runs/r-000001", "/metrics", "/readyz"):
        assert SECRET not in shown.client.get(shown.url + path).text
