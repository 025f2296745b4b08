"""Runs as people look at them: patches told apart, outputs in pages, versions compared, numbers of many runs."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from app.core.belts import Belt
from app.core.blame import Blame, Whose
from app.core.differing import difference
from app.core.outcome import Outcome
from app.core.recording import RECORDS
from app.core.span import Span, SpanKind
from app.core.waiting import Wait
from app.core.work_score import WorkEnding, WorkScore
from app.shown.cases import Case
from app.shown.differences import changes
from app.shown.glances import Glance
from app.shown.happenings import whose
from app.shown.numbers import versions_of, weeks_of
from app.shown.outputs import LINE_CHARACTERS, LINES, output_page
from app.shown.patches import files_of
from app.shown.scores import RunScores
from app.web.charts import columns_of
from app.web.timeline import LANES, timeline
from tests.fakes.plans import plan
from worker.evidence.casefile import CaseFile
from worker.evidence.notes import Decision, Hypothesis, Notes, OpenQuestion, Standing
from worker.evidence.observations import Observation

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_a_patch_is_told_apart_by_its_hunks_and_not_by_what_lines_look_like() -> None:
    patch = (
        "diff --git a/a.sql b/a.sql\nindex 1..2 100644\n--- a/a.sql\n+++ b/a.sql\n@@ -1,3 +1,2 @@\n keep\n"
        "--- a comment\n-diff --git a/x b/x\n+diff --git a/y b/y\n\\ No newline at end of file\n"
        "diff --git a/old b/new\nrename from old\nrename to new\n"
    )
    first, second = files_of(patch)
    assert (first.path, first.added, first.removed) == ("a.sql", 1, 2)
    assert [sort for sort, _ in first.lines] == ["hunk", "", "del", "del", "add", "note"]
    assert (second.path, second.lines) == ("new", [("note", "rename from old"), ("note", "rename to new")])
    assert files_of("") == [] and files_of("no patch")[0].lines == [("note", "no patch")]


def test_an_output_comes_in_pages_with_its_numbers_and_long_lines_go_on() -> None:
    lines = ["x" * (LINE_CHARACTERS + 1), *(f"line {nr}" for nr in range(2, LINES + 3))]
    content = "\n".join([*lines, ""]).encode()
    first, last = output_page(content, 1), output_page(content, 99)
    assert (first.page, first.pages, last.page) == (1, 2, 2)
    assert [number for number, _ in first.lines[:3]] == [1, 0, 2] and first.lines[1][1] == "x"
    assert last.lines[-1] == (LINES + 2, f"line {LINES + 2}") and first.all_lines == LINES + 2
    assert output_page(b"\x1b[31mred\x1b[0m\r\n\xff", 1).lines == ((1, "red"), (2, "\ufffd"))
    assert output_page(b"", 1).lines == ((1, ""),)


def test_what_differs_between_versions_is_told_part_by_part() -> None:
    old = plan(constraints=["Keep the name."])
    new = plan(version=2, checks=[], summary="Otherwise.", base_commit="d" * 40, hosts=["a.example:443"])
    told = [(one.sort, one.what) for one in changes(difference(old, new))]
    assert told == [
        ("del", "check dropped"), ("del", "constraint dropped"), ("add", "host added"), ("changed", "base"),
        ("changed", "summary"),
    ]  # fmt: skip
    assert changes(difference(old, old)) == ()


def test_the_case_file_that_a_planner_keeps_can_be_read() -> None:
    seen = Observation(number=1, tool="read_file", asked="a", text="t", reference="a" * 64, path="a.py", start=2, end=3)
    notes = Notes(
        hypotheses=(Hypothesis(id="h1", says="so", standing=Standing.SUPPORTED, speaks_for=(1,)),),
        questions=(OpenQuestion(id="q1", asks="what?", settled="that"),),
        decisions=(Decision(id="d1", says="this", because="so"),),
    )
    kept = CaseFile(commit="b" * 40, notes=notes, observations=(seen,)).model_dump_json(by_alias=True)
    assert Case.model_validate_json(kept).model_dump(by_alias=True, mode="json") == json.loads(kept)


def test_every_kind_of_fact_is_somebodys_doing() -> None:
    kinds = {kind for process in RECORDS.values() for kind in process}
    assert {whose(kind) for kind in kinds} == {"people", "belts", *map(str, Belt)}
    assert whose("command_given") == whose("thumb_seen") == "people" and whose("plan_drafted") == "planner"


def a_glance(run: str, weeks: int = 0, **more: object) -> Glance:
    opened = MONDAY + timedelta(weeks=weeks)
    values: dict[str, object] = {
        "run": run, "reason": "", "wait": Wait("It waits."), "usd": Decimal(1), "unpriced_calls": 0, "approved": True,
        "opened_at": opened, "offered_at": opened, "approved_at": opened + timedelta(hours=4),
        "published_at": opened + timedelta(hours=5), "merged": True,
    }  # fmt: skip
    return Glance(**(values | more))  # type: ignore[arg-type]


NOTHING = {"approved": False, "approved_at": None, "published_at": None, "merged": False}
RUNS = [
    a_glance("good"),
    a_glance("rejected", reason="rejected", **NOTHING),
    a_glance("revised", 2, merged=False, usd=Decimal(4)),
    a_glance("older template", 2, approved_at=MONDAY + timedelta(weeks=2, hours=2)),
]


def test_a_draft_costs_what_the_runs_that_led_to_none_cost_as_well() -> None:
    first, between, last = weeks_of(RUNS)
    assert (first.drafts, first.usd, first.usd_each, first.usd_per_merge) == (1, 2, 2, 2)
    assert (between.drafts, between.usd_each, between.hours_to_approval) == (0, None, None)
    assert (last.merged, last.usd_each, last.hours_to_approval) == (1, Decimal("2.5"), 3.0)


def scored(template: str, as_made: bool | None, done: int | None, pull: Outcome | None = None) -> RunScores:
    """The scores of a run of whose four steps so many were done."""
    work = None if done is None else WorkScore(ending=WorkEnding.STOPPED, steps=4, done=done)
    return RunScores(
        run="r", repository="a/b", issue=1, template=template, outcome="closed", pull=pull, as_made=as_made, work=work,
        blame=Blame(whose=Whose.UNKNOWN),
    )  # fmt: skip


def test_versions_stand_in_their_order_with_the_means_of_the_scores_that_an_evaluation_gives() -> None:
    scores = [
        scored("bugfix 1.2.0", True, 4, Outcome.MERGED),
        scored("bugfix 1.2.0", False, None),
        scored("bugfix 1.2.0", None, 2, Outcome.CHANGED),
        scored("bugfix 1.10.0", True, 4, Outcome.CLOSED),
    ]
    old, new = versions_of(zip(RUNS, scores, strict=True))
    assert (old.template, new.template) == ("bugfix 1.2.0", "bugfix 1.10.0")
    assert (old.runs, old.decided, old.executions, old.usd_each) == (3, 2, 2, 2)
    half = WorkScore(ending=WorkEnding.STOPPED, steps=4, done=2).value() or 0.0
    assert (old.planner, old.executor) == (1 / 2, (1.0 + half) / 2) and (new.planner, new.executor) == (1.0, 1.0)
    assert [(one.merged, one.by_hand) for one in (old, new)] == [(2, 1), (0, 0)]
    assert versions_of([(RUNS[0], scored("", None, None))]) == ()


def test_a_column_is_as_tall_as_its_value_and_none_is_drawn_for_nothing() -> None:
    drawn = columns_of([("a", 3.0, "three"), ("b", None, "nothing"), ("c", 5.0, "five")])
    tall, none, taller = drawn.columns
    assert round(taller.height / tall.height, 3) == round(5 / 3, 3) and none.height == 0 and none.told == ""
    assert [words for _, words in drawn.rules] == ["0", "1.25", "2.5", "3.75", "5"]


def test_a_timeline_draws_work_to_scale_and_long_pauses_short() -> None:
    def did(belt: Belt, after: float, seconds: float) -> Span:
        began = {"run": "r", "belt": belt, "kind": SpanKind.EFFECT, "name": "say", "outcome": "ok"}
        return Span.model_validate(began | {"began_at": MONDAY + timedelta(seconds=after), "seconds": seconds})

    drawn = timeline([], [did(Belt.PLANNER, 0, 10), did(Belt.EXECUTOR, 86_400 * 3, 30)])
    first, second = drawn.bars
    assert round(second.width / first.width, 2) == 3.0 and second.y > first.y
    assert [pause.words for pause in drawn.pauses] == ["3 d"] and drawn.seconds == 40
    assert second.x + second.width <= 1000 and len(drawn.lanes) == len(LANES)
    assert timeline([], []).bars == ()
