"""Runs in the terminal: the lists of the pages, and a run's page, as text or as JSON."""

import argparse
import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from app.settings import environment, ledger_settings

if TYPE_CHECKING:
    from app.shown.plans import Drafted
    from app.shown.whole import Whole
    from app.shown.works import Work

TITLE = 60
WIDE = 200
NOT_FOUND = 1
_MARKS = {"add": "+", "del": "-", "changed": "~"}


def add_telling(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The commands `runs` and `show`; each sets `do`, which answers with an exit code."""
    runs = commands.add_parser("runs", help="the newest runs")
    runs.add_argument("--limit", type=_count, default=20, help="how many, 1 to 1000; 20 by default")
    part = runs.add_mutually_exclusive_group()
    for name, words in (("waiting", "a person"), ("running", "work of ours")):
        part.add_argument(f"--{name}", dest="part", action="store_const", const=name, help=f"that wait for {words}")
    part.add_argument("--ended", dest="part", action="store_const", const="ended", help="that have ended")
    runs.add_argument("--state", default="", help="in this state, such as proposed")
    runs.add_argument("--repository", default="", metavar="OWNER/NAME")
    runs.add_argument("--before", metavar="RUN", help="older than this run: the last one of the list before")
    runs.add_argument("--json", action="store_true", help="a line of JSON for each")
    runs.set_defaults(do=_runs)
    show = commands.add_parser("show", help="one run with everything that is kept of it")
    show.add_argument("run")
    show.add_argument("--json", action="store_true", help="all of it as JSON")
    show.set_defaults(do=_show)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1_000):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000")
    return int(text)


def _runs(asked: argparse.Namespace) -> int:
    from pydantic import TypeAdapter

    from app.ledger import open_ledger
    from app.ledger.outcomes import Part, RunSummary, Sought
    from app.shown.glances import Glance, Glances

    ledger = open_ledger(ledger_settings(environment()).url)
    repository = ledger.repository_named(asked.repository) if asked.repository else None
    if asked.repository and repository is None:
        sys.stderr.write(f"No run is known of a repository {asked.repository!r}.\n")
        return NOT_FOUND
    sought = Sought(Part(asked.part) if asked.part else None, asked.state, repository)
    found = Glances(ledger).beside(ledger.runs(asked.limit, asked.before, sought))
    if not found:
        any_run = "There are no runs yet: one begins when somebody sets the label on an issue.\n"
        sys.stderr.write(any_run if sought == Sought() and not asked.before else "No run is like that.\n")
    summaries, glances = TypeAdapter(RunSummary), TypeAdapter(Glance)
    for run, glance in found:
        if asked.json:
            told = summaries.dump_python(run, mode="json") | glances.dump_python(glance, mode="json")
            _out(json.dumps(told, ensure_ascii=True))
            continue
        pull = f" pull request {run.pull_number}" if run.pull_number else ""
        state = glance.reason or run.state
        issue = f"{_seen(run.repository)}#{run.issue_number}{pull}"
        _out(f"{run.id}  {state:<19} {_usd(glance.usd):>9}  {issue}  {run.issue_title[:TITLE]!r}")
    return 0


def _show(asked: argparse.Namespace) -> int:
    from pydantic import TypeAdapter

    from app.ledger import open_ledger
    from app.shown.whole import Whole, whole

    shown = whole(open_ledger(ledger_settings(environment()).url), asked.run)
    if shown is None:
        sys.stderr.write(f"There is no run {asked.run!r}; `countersign runs` lists them.\n")
        return NOT_FOUND
    if asked.json:
        _out(json.dumps(TypeAdapter(Whole).dump_python(shown, mode="json", by_alias=True), ensure_ascii=True, indent=1))
        return 0
    for line in _told(shown):
        _out(_seen(line))
    return 0


def _told(shown: "Whole") -> Iterator[str]:
    from app.shown.happenings import happening

    view = shown.view
    request, spent = view.state.request, view.state.spent
    yield f"{shown.repository}#{request.issue_number} {_flat(request.issue_title)}"
    yield f"run {view.id}, {_usd(spent.usd)} in {spent.calls} model calls; {shown.template() or 'no plan'}"
    yield f"state: {view.state.name}"
    yield shown.wait.sentence()
    if failed := shown.failed():
        yield f"failed so far: {failed}"
    yield from _head("What happened")
    for one in map(happening, view.facts):
        yield f"{one.seq:>3} {one.at:%Y-%m-%d %H:%M:%S} {one.by:<9} {one.kind}: {_flat(one.words)}"
    for drafted in shown.plans:
        yield from _plan(drafted)
    for work in shown.works:
        yield from _work(work)
    yield from _unwritten(shown)
    for one_case in shown.investigations:
        yield from _head(f"Observations for version {one_case.version}")
        yield from filter(None, [one_case.trouble])
        for seen in one_case.case.observations if one_case.case else ():
            place = f"{seen.path}:{seen.start}-{seen.end}" if seen.path else _flat(seen.asked)
            yield f"{seen.number:>3} {seen.tool} {place} ({seen.reference[:12]})"
    yield from _done(shown)


def _plan(drafted: "Drafted") -> Iterator[str]:
    plan = drafted.plan
    yield from _head(f"Plan, version {drafted.fact.version}")
    if plan is None:
        yield drafted.trouble
        return
    yield f"digest {drafted.fact.digest}, made from {plan.base_commit[:12]} of {plan.base_branch}"
    yield _flat(plan.summary)
    if drafted.since is not None:
        yield f"what differs from version {drafted.since}:" if drafted.differs else f"as version {drafted.since}"
    for one in drafted.differs:
        yield f"  {_MARKS[one.sort]} {one.what}: {_flat(one.words)}"
    for item in plan.evidence:
        yield f"  {item.path}:{item.start}-{item.end} {_flat(item.shows)}"
    for step in plan.steps:
        place = "" if step.kind == "answer" else f" {step.path}"
        yield f"  {step.id}. {step.kind}{place}: {_flat(step.intent)}"
    for check in plan.checks:
        yield f"  check {check.name}, {check.expect.replace('_', ' ')}: {' '.join(check.argv)}"


def _work(work: "Work") -> Iterator[str]:
    yield from _head(f"Work of {work.fact.at:%Y-%m-%d %H:%M:%S}")
    yield from filter(None, [work.trouble])
    for answer in work.findings.answers if work.findings else ():
        yield f"{_flat(answer.question)}: {_flat(answer.answer or answer.open)}"
    if work.report is None:
        return
    for run in work.report.runs:
        ended = "passed" if run.passed() else f"{run.ended}, exit status {run.exit_status}"
        yield f"  {run.name}, {run.when.replace('_', ' ')}: {ended}, {run.seconds:.1f} s ({run.output_ref[:12]})"
    yield f"patch, {work.report.changed_lines} changed lines:"
    yield from work.patch.splitlines()


def _unwritten(shown: "Whole") -> Iterator[str]:
    """What a staged run would have written; the difference stands with the work."""
    if shown.unwritten is None:
        return
    yield from _head("What would have been written (the run is staged)")
    staged = shown.unwritten.staged
    if staged is None:
        yield shown.unwritten.trouble
        return
    yield f"branch {staged.branch} from {staged.base_commit[:12]} of {staged.base_branch}"
    for obstacle in staged.obstacles:
        yield f"would be refused: {_flat(obstacle)}"
    for number, message in enumerate(staged.messages, start=1):
        yield f"commit {number}:"
        yield from (f"  {line}" for line in message.splitlines())
    yield f"draft pull request: {_flat(staged.title)}"
    yield from (f"  {line}" for line in staged.body.splitlines())
    yield f"difference: the patch of the newest work above ({staged.diff_ref[:12]})"


def _done(shown: "Whole") -> Iterator[str]:
    yield from _head("What was done")
    for span in shown.spans:
        outcome = _flat(f"{span.outcome} {span.detail}")
        told = f"{span.began_at:%H:%M:%S} {span.belt:<9} {span.kind} {span.name}: {outcome}, {span.seconds:.2f} s"
        cost = _usd(span.usd) if span.priced else "price not known"
        tokens = f"{span.input_tokens}, {span.cached_tokens}, {span.output_tokens} tokens in, cached, out"
        yield f"{told}; {span.model}, {tokens}, {cost}" if span.model else told
    yield from _head("Effects")
    for effect in shown.view.effects:
        lease = f", in work until {effect.lease_until:%H:%M:%S}" if effect.lease_until and not effect.settled_at else ""
        settled = "settled" if effect.settled_at else "owed"
        yield f"  {settled}: {effect.effect.key} ({effect.attempts} attempts{lease}) {_flat(effect.outcome)}"
    yield from _head("Tokens, by their hash")
    for mint in shown.mints:
        opens = ", ".join(f"{name}: {level}" for name, level in mint.permissions.items())
        told = f"  {mint.token_sha256[:12] or '–':<12} {mint.belt} for {mint.purpose}: {opens}"
        yield f"{told} refused: {_flat(mint.refused)}" if mint.refused else told


def _head(title: str) -> Iterator[str]:
    yield from ("", title, "-" * len(title))


def _flat(text: str) -> str:
    return _cut(" ".join(text.split()))


def _cut(text: str) -> str:
    return text if len(text) <= WIDE else f"{text[: WIDE - 1]}…"


def _usd(usd: Decimal) -> str:
    return f"${usd:.4f}"


def _seen(line: str) -> str:
    """Nothing of other people's text moves a cursor, colours a terminal or turns a line around."""
    from app.core.plan import made_visible

    return made_visible(line)


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")
