"""Plans that code makes: a rule from the issue's form, its places in the repository, and a step for each file."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pydantic import ValidationError

from app.core.guarded import guarded
from app.core.lint import plan_fits
from app.core.paths import shown
from app.core.plan import ChangeFile, Check, Evidence, ModelPins, Plan, PlanBudget, RuleUse, Who, made_visible
from app.core.policy import Policy
from app.core.rule import LiteralRule, Rule, RuleKind, SyntaxRule, read_rule
from app.core.template import Template
from app.core.verdict import Refused
from worker.belts.planner import Drafted, NoPlan, Task
from worker.box.checks import NamedCheck
from worker.box.provision import NOTHING_TO_PREPARE, Provisions
from worker.repo.difference import changed_lines
from worker.repo.mechanical import Place, Rewriting, Rewritten, files_of, rewrite, told
from worker.repo.reading import READ_LINES
from worker.repo.snapshot import Snapshot
from worker.repo.syntax import broken_at

AGAIN = "Edit the description, then set the label again."
MOST_EVIDENCE = 40
LINES_NAMED = 30
NOBODY = ModelPins(planner="none", executor="none", reviewer="none")


@dataclass(frozen=True, slots=True)
class RuleDesk:
    """What a plan is made of where no model has a part. It holds no token and no model."""

    template: Template
    policy: Policy
    snapshot: Snapshot
    checks: tuple[NamedCheck, ...]
    provisions: Provisions = NOTHING_TO_PREPARE
    """What the tree's set-ups are, and what they may reach from here."""


def draft(task: Task, desk: RuleDesk) -> Drafted | NoPlan:
    """1 the form, 2 the places, 3 the plan, which must fit like any other."""
    rule = _rule(task, desk)
    if isinstance(rule, Refused):
        return NoPlan(rule.reason, f"{rule.remedy} {AGAIN}".strip())
    outcome = rewrite(rule, desk.snapshot, files_of(rule, desk.snapshot))
    if isinstance(outcome, Refused):
        return NoPlan(outcome.reason, f"{outcome.remedy} {AGAIN}".strip())
    most = min(desk.template.limits.steps, desk.template.budget.execution.most.files, desk.policy.budget.files)
    if not outcome.files:
        return NoPlan("The rule changes nothing: no place in the files that its paths name fits it.", AGAIN)
    if len(outcome.files) > most:
        words = f"The rule changes {len(outcome.files):,} files, and a plan here may change {most}."
        return NoPlan(words, "Narrow `### Paths`, or raise `budget.files` in the policy file.")
    for one in outcome.files:
        line = broken_at(one.path, one.content)
        if line is not None and broken_at(one.path, desk.snapshot.read(one.path)) is None:
            return NoPlan(f"With the rule {shown(one.path)} would no longer parse: see line {line}.", AGAIN)
    return _plan(task, desk, rule, outcome)


def _rule(task: Task, desk: RuleDesk) -> Rule | Refused:
    kind = desk.template.rule
    assert kind is not None
    if task.wish:
        return Refused(
            "This plan is made by code from the issue's form, and code cannot follow words.",
            "`/revise` alone makes the plan anew.",
        )
    if any("in the description" in one for one in task.read.hidden):
        # What was taken out could have been part of the rule.
        return Refused("The description holds markup or characters that a reader does not see, so no rule is read.")
    rule = read_rule(kind, task.read.body)
    if isinstance(rule, Refused):
        return Refused(rule.reason, f"{rule.remedy} {_FORMS[kind]}".strip())
    return rule


_FORMS = {
    RuleKind.REPLACE: (
        "The form has the headings `### Pattern`, `### Replacement`, `### Mode` (`literal` or `regex`) and "
        "`### Paths` (a glob to a line); texts stand in fenced blocks."
    ),
    RuleKind.CODEMOD: (
        "The form has the headings `### Rule` (an ast-grep rule in YAML with `language`, `rule` and `fix`, in a "
        "fenced block) and `### Paths` (a glob to a line)."
    ),
}


def _plan(task: Task, desk: RuleDesk, rule: Rule, outcome: Rewriting) -> Drafted | NoPlan:
    request, read, usual = task.request, task.read, desk.template.budget.execution.usual
    lines = sum(sum(changed_lines(desk.snapshot.read(one.path), one.content)) for one in outcome.files)
    paths = [one.path for one in outcome.files]
    minutes = min(usual.minutes, desk.policy.budget.minutes)
    runnable = [one for one in desk.checks if not one.not_prepared]
    needed = desk.provisions.needed(runnable, paths)
    try:
        plan = Plan(
            run=request.run,
            version=task.version,
            template=desk.template.pin(),
            models=NOBODY,
            repository_id=request.repository_id,
            issue_number=request.issue_number,
            issue_digest=read.issue_digest,
            base_branch=read.base_branch,
            base_commit=read.base_commit,
            summary=_summary(rule, outcome),
            hypothesis="The rule stands in the issue's form. Code read it and found its places; no model was asked.",
            evidence=tuple(islice(_evidence(outcome), MOST_EVIDENCE)),
            constraints=("Each file becomes exactly what this plan lists, by its SHA-256, and no other file changes.",),
            out_of_scope=_out_of_scope(outcome),
            risks=(*_risks(rule), *needed.lacking),
            steps=tuple(_step(number, one) for number, one in enumerate(outcome.files, start=1)),
            checks=tuple(Check(name=one.name, argv=one.argv) for one in runnable),
            setup=needed.setup or None,
            hosts=needed.hosts,
            stop_conditions=desk.template.stop_conditions,
            budget=PlanBudget(usd="0", calls=0, minutes=minutes, files=len(paths), lines=max(lines, 1)),
            protected_paths=guarded(desk.policy, paths),
            rule=rule,
        )
    except ValidationError as error:
        first = error.errors()[0]
        return NoPlan(f"The rule makes no plan: {'.'.join(map(str, first['loc']))}: {first['msg']}.", AGAIN)
    fits = plan_fits(plan, desk.template, desk.policy)
    if isinstance(fits, Refused):
        remedy = "`!glob` under `### Paths` takes files out."
        return NoPlan(f"The rule makes a plan that may not be shown: {fits}", remedy)
    return Drafted(plan)


def _summary(rule: Rule, outcome: Rewriting) -> str:
    places = sum(len(one.places) for one in outcome.files)
    where = f"in {_counted(places, 'place')} of {_counted(len(outcome.files), 'file')}"
    if isinstance(rule, SyntaxRule):
        return f"Rewrites code by a syntax rule {where}."
    first = outcome.files[0].places[0]
    if isinstance(rule, LiteralRule):
        return f"Replaces {_shown(rule.pattern)} by {_shown(rule.replacement)} {where}."
    example = f"{_shown(first.old)} by {_shown(first.new)}"
    return f"Replaces what matches {_shown(rule.pattern)} {where}; the first: {example}."


def _step(number: int, one: Rewritten) -> ChangeFile:
    lines = [str(place.start) for place in one.places[:LINES_NAMED]]
    more = f" and {len(one.places) - LINES_NAMED:,} more" if len(one.places) > LINES_NAMED else ""
    result = hashlib.sha256(one.content).hexdigest()
    return ChangeFile(
        id=number,
        path=one.path,
        intent=f"The rule changes {_counted(len(one.places), 'place')}, at line {', '.join(lines)}{more}.",
        tools=(),
        done_when=f"The file's SHA-256 is {result}.",
        who=Who.RULE,
        rule=RuleUse(places=len(one.places), result=result),
    )


def _evidence(outcome: Rewriting) -> Iterator[Evidence]:
    for one in outcome.files:
        for place in one.places:
            end = min(place.end, place.start + READ_LINES - 1)
            yield Evidence(path=one.path, start=place.start, end=end, shows=made_visible(_becomes(place))[:4_000])


def _becomes(place: Place) -> str:
    if not place.new:
        return f"{_shown(place.old)} is taken out."
    return f"{_shown(place.old)} becomes {_shown(place.new)}."


def _out_of_scope(outcome: Rewriting) -> tuple[str, ...]:
    said, left = [], outcome.left_out
    if left:
        said.append(f"{_counted(len(left), 'file')} left as found, being no plain UTF-8 text: {told(left)}."[:600])
    if outcome.nested:
        said.append(f"{_counted(outcome.nested, 'place')} within another that changes: the outer one alone is changed.")
    return tuple(said)


def _risks(rule: Rule) -> tuple[str, ...]:
    if isinstance(rule, SyntaxRule):
        return ("Places are found by the form of the code, not by what its names refer to.",)
    return ("Places are found by their text alone, not by what it means: comments and strings count as well.",)


def _shown(text: str) -> str:
    """Some text as a code span in a sentence, on one line."""
    flat = " ".join(text.split()).replace("`", "'")
    short = flat if len(flat) <= 80 else f"{flat[:79]}…"
    return f"`{short}`" if short else "nothing"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
