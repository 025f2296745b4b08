"""The executor's other work: questions answered by reading. It can change nothing, so what comes of it is a report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.core.budget import Meter
from app.core.plan import AnswerQuestion, Evidence, Plan, Who, made_visible
from app.core.report import Findings, QuestionAnswered
from app.core.span import SpanKind
from app.core.template import Template
from app.core.verdict import Refused
from worker.belts.reviewing import Shown, review
from worker.evidence.trace import Trace
from worker.evidence.untrusted import fence
from worker.model.client import Model
from worker.model.conversation import Answer, Done, Failed, Finished, Handler, Limits, Opening, converse
from worker.model.words import Tool
from worker.repo.reading import verify_citation
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache
from worker.repo.tools import ReadTools

MOST_ANSWERS_REFUSED = 3
"""Answers with wrong citations that go back to the model; after that the wrong ones are left out, and it is said."""

_LINE = {"type": "integer", "minimum": 1}
_WORDS = {"type": "string", "minLength": 1, "maxLength": 4000}
ANSWER = Tool(
    "answer",
    "Ends the work: the answer, with the lines that show it. Code verifies that they are there.",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": 12_000},
            "evidence": {
                "type": "array",
                "maxItems": 30,
                "items": {
                    "type": "object",
                    "properties": {
                        "path": {"type": "string", "maxLength": 4096},
                        "start": _LINE,
                        "end": _LINE,
                        "shows": {"type": "string", "minLength": 1, "maxLength": 2000},
                    },
                    "required": ["path", "start", "end", "shows"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["text", "evidence"],
        "additionalProperties": False,
    },
)
CANNOT = Tool(
    "cannot",
    "Ends the work without an answer, and says why.",
    {"type": "object", "properties": {"reason": _WORDS}, "required": ["reason"], "additionalProperties": False},
)


@dataclass(frozen=True, slots=True)
class Study:
    """What the reading is done with. It holds no token, and nothing in it can write."""

    template: Template
    standard: Model
    strong: Model
    reviewer: Model
    snapshot: Snapshot
    symbols: SymbolCache
    trace: Trace


def answer_all(plan: Plan, study: Study, meter: Meter) -> Findings | Refused:
    """Each question's answer, or why there is none; refused where not a single one could be answered.

    Raises `ModelUnavailable`: then nothing is known, and the work can be done again.
    """
    answers = tuple(_answered(step, plan, study, meter) for step in plan.questions())
    study.trace.step = 0
    if all(one.open for one in answers):
        return Refused(f"None of the questions could be answered. The first: {answers[0].open}")
    findings = Findings(answers=answers)
    text = (
        f"{fence('the approved plan', plan.model_dump_json(by_alias=True, indent=1))}\n\n"
        f"{fence('the report', findings.model_dump_json(indent=1))}\n"
    )
    bounds = study.template.limits
    limits = Limits(max_tokens=bounds.reply_tokens, replies=20)
    reading = ReadTools(study.snapshot, study.symbols, lines=bounds.read_lines).some("read_file", "search")
    sources = {"report": "\n".join(one.answer for one in answers)}
    shown = Shown(Opening(study.template.prompts.reviewer, text), plan.acceptance or (), sources)
    opinion = review(study.reviewer, shown, reading, meter, limits)
    # A report changes nothing, so an opinion on it keeps nothing back: it is shown beside it.
    return findings if isinstance(opinion, Refused) else findings.model_copy(update={"review": opinion})


def _answered(step: AnswerQuestion, plan: Plan, study: Study, meter: Meter) -> QuestionAnswered:
    study.trace.step = step.id
    desk = _Desk(step, study)
    limits = Limits(max_tokens=study.template.limits.reply_tokens)
    model = study.strong if step.who is Who.STRONG else study.standard
    opening = Opening(study.template.prompts.executor, _opening(step, plan))
    outcome = converse(model, opening, desk.tools(), meter, limits)
    if isinstance(outcome, Finished):
        return outcome.value
    return _open(step, outcome.reason)


class _Desk:
    """One question's tools, and how often an answer to it was refused."""

    def __init__(self, step: AnswerQuestion, study: Study) -> None:
        self._step = step
        self._study = study
        self._refused = 0

    def tools(self) -> dict[str, tuple[Tool, Handler[QuestionAnswered]]]:
        most = self._study.template.limits.read_lines
        reading = ReadTools(self._study.snapshot, self._study.symbols, lines=most).every()
        tools: dict[str, tuple[Tool, Handler[QuestionAnswered]]] = {
            name: (tool, self._noted(name, handler)) for name, (tool, handler) in reading.items()
        }
        tools["answer"] = (ANSWER, self._answer)
        tools["cannot"] = (CANNOT, lambda asked: Done(_open(self._step, str(asked["reason"]))))
        return tools

    def _noted(self, name: str, handler: Handler[Any]) -> Handler[QuestionAnswered]:
        def handle(asked: Mapping[str, object]) -> Answer | Failed | Done[QuestionAnswered]:
            with self._study.trace.noting(SpanKind.TOOL, name) as noted:
                outcome = handler(asked)
                noted.outcome = "refused" if isinstance(outcome, Failed) else "ok"
            return outcome

        return handle

    def _answer(self, asked: Mapping[str, Any]) -> Failed | Done[QuestionAnswered]:
        wrong, kept = [], []
        for one in asked["evidence"]:
            start, end = int(one["start"]), int(one["end"])
            verdict = verify_citation(self._study.snapshot, str(one["path"]), start, end)
            if isinstance(verdict, Refused):
                wrong.append(str(verdict))
            else:
                shows = made_visible(str(one["shows"]))[:4_000]
                kept.append(Evidence(path=str(one["path"]), start=start, end=end, shows=shows))
        text = str(asked["text"])
        if wrong and self._refused < MOST_ANSWERS_REFUSED:
            self._refused += 1
            return Failed("The answer was not accepted:\n" + "\n".join(f"- {fault}" for fault in wrong))
        if wrong:
            text += f"\n\n({len(wrong)} citations were left out: the lines that they named are not there.)"
        question = self._step.intent
        return Done(QuestionAnswered(step=self._step.id, question=question, answer=text, evidence=tuple(kept)))


def _open(step: AnswerQuestion, reason: str) -> QuestionAnswered:
    return QuestionAnswered(step=step.id, question=step.intent, answer="", open=reason)


def _opening(step: AnswerQuestion, plan: Plan) -> str:
    at = [one.id for one in plan.steps].index(step.id) + 1
    own = "\n".join(f"- {one}" for one in (*step.constraints, *plan.constraints)) or "- none"
    stops = "\n".join(f"- {one}" for one in plan.stop_conditions)
    known = "\n".join(f"- {one.path}:{one.start}-{one.end}: {one.shows}" for one in plan.evidence)
    short = f"{plan.summary}\n\n{plan.hypothesis}\n\nEvidence:\n{known}"
    return (
        f"Step {at} of {len(plan.steps)}\n\n"
        f"Question: {step.intent}\nAnswered when: {step.done_when}\nConstraints:\n{own}\n\n"
        f"{fence('the approved plan, in short', short)}\n\nStop, and call `cannot`, when:\n{stops}\n"
    )
