"""The pages in a real Chromium: for everybody, on desk and phone, in light and dark; and hostile text does nothing."""

import hashlib
import json
import random
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from app.core.belts import Belt
from app.core.effects import DraftPlan, Execute, LookUpAuthority, Purpose, Say, Slot, SourceKind
from app.core.facts import ExecutionFailed, IssueEnd, IssueEnded, Labelled, Said
from app.core.report import Report
from app.core.span import Minted, Span, SpanKind
from app.ledger.outcomes import Claim
from app.ledger.store import Ledger
from app.settings import web_settings
from app.web.links import new_link
from tests.conftest import SERVERS, leave_out
from tests.fakes import services
from tests.fakes.browser import LOOKS, PHONE, Look, opened, window
from tests.fakes.deliveries import Told
from tests.fakes.facts import MIRA, START, World, a_request, drafted, found, labelled, sha
from tests.fakes.plans import plan
from tests.rooms.web.conftest import PATIENCE, Door, running
from tests.rooms.web.test_live import QUICK
from tests.rooms.web.test_pages import opened as open_run

HOSTILE = (
    "<script>document.title='taken'</script><img src=x onerror=document.title='taken'> \x1b[31mred\x07 "
    "\u202etxt.exe\u202c \u200b{{ 7*7 }} &amp; " + "long" * 400
)
LONG = "\n".join(f"line {number}" for number in range(1, 700)) + HOSTILE
PATCH = (
    "diff --git a/src/sizes.py b/src/sizes.py\n--- a/src/sizes.py\n+++ b/src/sizes.py\n@@ -1,2 +1,2 @@\n"
    f" around\n-old {HOSTILE}\n+new </pre><script>document.title='taken'</script>\n"
)


@pytest.fixture(scope="module")
def chromium(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """The session's Chromium."""
    try:
        started = pytestconfig.stash[SERVERS].chromium()
    except services.NotHere as absent:
        leave_out(str(absent))
        raise
    with opened(started) as browser:
        yield browser


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, empty_ledger: Path) -> Iterator[Door]:
    """One web process whose ledger has runs in every state, and one with everything that a page can show, hostile."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "ledger.db").write_bytes(empty_ledger.read_bytes())
    env = {"GITHUB_WEBHOOK_SECRET": "a secret", "COUNTERSIGN_DATA_DIR": str(folder)}
    with running(web_settings(env), pace=QUICK) as door:
        for seed in range(30, 44):
            _live_through(door.ledger, seed)
        _fill(door.ledger)
        yield door


def _live_through(ledger: Ledger, seed: int) -> None:
    request = a_request(run=f"r-{seed:06}", number=seed)
    world = World(pick=random.Random(seed).choice, request=request)
    for _ in range(40):
        world.step()
    assert isinstance(world.facts[0], Labelled)
    run = open_run(ledger, world.facts[0])
    for fact in world.facts[1:]:
        ledger.record(run, fact)


FULL = "r-aaaaaa"


def _fill(ledger: Ledger) -> None:
    """A run whose work failed, with two versions of a plan, observations, outputs, calls and tokens, all hostile."""
    told = Told(ledger, a_request(FULL, 1).model_copy(update={"issue_title": HOSTILE}))
    told.allowed()
    seen = {"number": 1, "tool": "search", "asked": HOSTILE, "text": HOSTILE, "reference": _keep(ledger, LONG)}
    note = {"id": "h1", "says": HOSTILE, "standing": "supported", "for": [1]}
    case = {"commit": "b" * 40, "notes": {"hypotheses": [note]}, "observations": [seen]}
    case_ref = _keep(ledger, json.dumps(case))
    first = plan(run=FULL, constraints=["<b>Keep</b> the name."])
    second = plan(run=FULL, version=2, summary="<i>Better</i> \u05d0\u05d1 words", checks=[])
    for version, made in ((1, first), (2, second)):
        digest = ledger.put_plan(FULL, made)
        told.settle(told.claim(DraftPlan), drafted(version, told.tick(), digest=digest, case_ref=case_ref))
        if version == 1:
            ledger.record(FULL, found(_asks(Purpose.REVISE), told.tick(), plan_version=1))
    for debt in ledger.debts():
        claim = ledger.claim(debt.effect_id, Belt.PUBLISHER, told.now, timedelta(minutes=5))
        if isinstance(claim, Claim) and isinstance(claim.effect, Say):
            slot, id = claim.effect.saying.slot, told.fresh()
            version = 2 if slot is Slot.PLAN else None
            said = {"slot": slot, "plan_version": version, "comment_id": id, "node_id": "IC", "comment_digest": sha(id)}
            told.settle(claim, Said(at=told.tick(), **said))
    ledger.record(FULL, found(_asks(Purpose.APPROVE), told.tick(), plan_version=2))
    execution = told.claim(Execute)
    assert isinstance(execution.effect, Execute)
    failed = {"plan_digest": execution.effect.plan_digest, "reason": HOSTILE, "report_ref": _report(ledger)}
    told.settle(execution, ExecutionFailed(at=told.tick(), **failed))
    began = {"run": FULL, "began_at": START, "seconds": 1.25, "outcome": HOSTILE, "kind": SpanKind.MODEL}
    model = {"name": "planner", "model": "strong-1", "input_tokens": 321, "usd": Decimal("0.12")}
    ledger.add_spans(Span.model_validate(began | model | {"belt": belt}) for belt in Belt)
    token = {"id": "m1", "run": FULL, "effect_id": 1, "belt": Belt.PUBLISHER, "purpose": "open_draft"}
    token |= {"permissions": {"contents": "write"}, "token_sha256": sha("token"), "repository_id": 1}
    ledger.record_mint(Minted.model_validate(token | {"minted_at": START, "expires_at": START + timedelta(hours=1)}))


def _asks(purpose: Purpose) -> LookUpAuthority:
    return LookUpAuthority(key="k", purpose=purpose, person=MIRA, source=SourceKind.COMMENT, source_id=77)


def _report(ledger: Ledger) -> str:
    one = {"name": "pytest", "argv": ["pytest", HOSTILE], "ended": "exited", "seconds": 2}
    one["output_ref"] = _keep(ledger, HOSTILE)
    ran = [one | {"when": "before", "exit_status": 0}, one | {"when": "after", "exit_status": 1}]
    told = {"runs": ran, "diff_ref": _keep(ledger, PATCH), "changed_lines": 2, "notes": [HOSTILE]}
    return _keep(ledger, Report.model_validate(told).model_dump_json())


def _keep(ledger: Ledger, text: str) -> str:
    return ledger.put_artifact(text.encode(), "text/plain")


PAGES = {
    "all lists": "/runs",
    "those that wait": "/runs?part=waiting",
    "those that ended, of a repository": "/runs?part=ended&repository=acme/widgets",
    "a list with nothing in it": "/runs?state=built&repository=acme/none",
    "a run": f"/runs/{FULL}",
    "an output": f"/runs/{FULL}/outputs/{hashlib.sha256(LONG.encode()).hexdigest()}?page=2",
    "numbers": "/numbers",
    "doctor": "/doctor",
    "nothing here": "/runs/r-nobody",
}


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_every_page_is_for_everybody_and_fits(chromium: Browser, house: Door, look: Look) -> None:
    """Folded parts are opened, since somebody will."""
    with window(chromium, look) as seen:
        seen.page.goto(new_link(house.data_dir, house.url))
        for name, path in PAGES.items():
            seen.page.goto(house.url + path)
            seen.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            assert seen.faults() == [], name
            assert seen.overflow() <= 0, name
            assert seen.page.title() != "taken", name


def test_hostile_text_stands_there_as_text_and_the_policy_is_not_even_needed(chromium: Browser, house: Door) -> None:
    with window(chromium) as seen:
        seen.page.goto(new_link(house.data_dir, house.url))
        seen.page.goto(f"{house.url}/runs/{FULL}")
        shown = seen.page.inner_text("h1")
        assert "<script>" in shown and "{{ 7*7 }}" in shown and "&amp;" in shown
        assert "\\u{202E}txt.exe" in shown and "\\u{001B}[31mred\\u{0007}" in shown and "\\u{200B}" in shown
        assert seen.page.locator("main script, main img, main iframe, main b script").count() == 0
        assert "</pre><script>" in seen.page.inner_text(".diff")
        assert seen.complaints == []


def test_the_pages_policy_lets_their_own_script_run_and_no_other(chromium: Browser, house: Door) -> None:
    with window(chromium, Look("strict", strict=True)) as seen:
        seen.page.goto(new_link(house.data_dir, house.url))
        seen.page.goto(f"{house.url}/runs?part=running")
        seen.page.wait_for_selector(".live:not([hidden])", timeout=PATIENCE * 1000)
        seen.page.evaluate(
            "() => { const one = document.createElement('script'); one.textContent = \"document.title = 'taken'\";"
            " document.body.append(one); }"
        )
        assert seen.page.title() != "taken" and any("Content Security Policy" in one for one in seen.complaints)


def test_a_page_follows_along_and_leaves_open_what_was_opened(chromium: Browser, house: Door) -> None:
    run = open_run(house.ledger, labelled(a_request("r-bbbbbb", 2), START + timedelta(days=40)))
    with window(chromium) as seen:
        seen.page.goto(new_link(house.data_dir, house.url))
        seen.page.goto(f"{house.url}/runs/{run}")
        seen.page.wait_for_selector(".live:not([hidden])", timeout=PATIENCE * 1000)
        seen.page.click("#fact-1 summary")
        house.ledger.record(run, IssueEnded(at=START + timedelta(days=41), how=IssueEnd.CLOSED, person=MIRA))
        seen.page.wait_for_selector("#fact-2", timeout=PATIENCE * 1000, state="attached")
        assert "cancelled" in seen.page.inner_text("h1")
        assert seen.page.locator("#fact-1").get_attribute("open") is not None
        assert seen.page.evaluate("document.activeElement.parentElement.id") == "fact-1"
        seen.page.wait_for_function("document.querySelector('.live').textContent === 'ended'")
        assert seen.complaints == []


def test_a_chart_has_a_column_for_each_number_of_its_table_and_none_is_drawn_of_nothing(
    chromium: Browser, house: Door
) -> None:
    with window(chromium) as seen:
        seen.page.goto(new_link(house.data_dir, house.url))
        seen.page.goto(f"{house.url}/numbers")
        hours = seen.page.locator("table").first.locator("tbody tr td:last-child").all_inner_texts()
        columns = seen.page.locator("figure", has_text="Time to approval").locator(".column")
        tall = columns.evaluate_all("all => all.filter(one => one.getBoundingClientRect().height > 1).length")
        assert tall == len([hour for hour in hours if hour != "–"]) > 0
        empty = seen.page.locator("figure", has_text="Executor")
        assert empty.locator("svg").count() == 0 and "nothing to draw yet" in empty.inner_text()


def test_without_scripts_every_page_is_whole_and_lists_can_be_searched(chromium: Browser, house: Door) -> None:
    with window(chromium, Look("no scripts", size=PHONE, scripts=False)) as seen:
        seen.page.goto(new_link(house.data_dir, house.url))
        seen.page.goto(f"{house.url}/runs")
        assert seen.page.is_hidden(".live")
        seen.page.select_option("select[name=state]", "closed")
        seen.page.click("button")
        assert "state=closed" in seen.page.url and seen.page.locator(".line").count() > 3
        seen.page.click(f"a[href='/runs/{FULL}']")
        seen.page.click("text=the full output of #1")
        seen.page.click("text=The end")
        assert "page 2 of 2" in seen.page.inner_text("nav[aria-label='Pages of the output, above']")
