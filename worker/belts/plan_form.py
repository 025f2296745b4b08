"""The form in which a planner submits a plan, and its reading: from a tool call to a plan, or to what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from app.core.estimate import PastRun, Place, estimate
from app.core.guarded import guarded
from app.core.lint import Code, Fault, plan_faults
from app.core.plan import Check, Evidence, Expectation, ModelPins, Plan, PlanBudget
from app.core.policy import Policy
from app.core.run import Request
from app.core.template import Must, Size, Template
from app.core.verdict import Refused
from worker.box.checks import Ground, NamedCheck, wrong_paths
from worker.box.provision import NOTHING_TO_PREPARE, Needed, Provisions
from worker.model.words import Tool
from worker.repo.reading import verify_citation, verify_quote
from worker.repo.standing import step_faults
from worker.repo.tree import Tree

_TEXT = {"type": "string", "minLength": 1, "maxLength": 4000}
_SHORT = {"type": "string", "minLength": 1, "maxLength": 600}
_SHORTS = {"type": "array", "items": _SHORT, "maxItems": 30}
_PATH = {"type": "string", "minLength": 1, "maxLength": 4096}
_LINE = {"type": "integer", "minimum": 1}
_COUNT = {"type": "integer", "minimum": 1, "maximum": 100000}


def _object(required: tuple[str, ...], **fields: object) -> dict[str, object]:
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


MOST_FAULTS_TOLD = 20

_EVIDENCE = _object(("path", "start", "end", "shows"), path=_PATH, start=_LINE, end=_LINE, shows=_TEXT, quote=_SHORT)
_NUMBER = {"type": "integer", "minimum": 1, "maximum": 999}
_NAME = {"type": "string", "minLength": 1, "maxLength": 64}
_STEP = _object(
    ("id", "kind", "path", "intent", "done_when"),
    id=_NUMBER,
    kind={"type": "string", "enum": ["change", "create", "delete", "move"]},
    path=_PATH,
    to=_PATH,
    intent=_TEXT,
    constraints=_SHORTS,
    done_when=_TEXT,
    who={"type": "string", "enum": ["standard", "strong"]},
    no_criterion_because=_SHORT,
)
_QUESTION = _object(
    ("id", "intent", "done_when"),
    id=_NUMBER,
    intent=_TEXT,
    constraints=_SHORTS,
    done_when=_TEXT,
    who={"type": "string", "enum": ["standard", "strong"]},
    no_criterion_because=_SHORT,
)
_CRITERION = _object(
    ("id", "words", "steps"),
    id={"type": "integer", "minimum": 1, "maximum": 99},
    words=_SHORT,
    steps={"type": "array", "items": _NUMBER, "maxItems": 300},
    checks={"type": "array", "items": _NAME, "maxItems": 20},
)
_CRITERIA = {"type": "array", "items": _CRITERION, "minItems": 1, "maxItems": 30}
_CHECK = _object(
    ("name", "expect"),
    name=_NAME,
    paths={"type": "array", "items": _PATH, "maxItems": 60},
    expect={"type": "string", "enum": [str(one) for one in Expectation]},
)
_BUDGET = _object(
    (),
    usd={"type": "string", "minLength": 1, "maxLength": 12},
    calls=_COUNT,
    minutes=_COUNT,
    files=_COUNT,
    lines=_COUNT,
)

SUBMIT_PLAN = Tool(
    "submit_plan",
    "Ends the work with a plan. Code verifies every citation, path and check; what is wrong comes back.",
    _object(
        ("summary", "hypothesis", "evidence", "steps", "checks"),
        summary=_TEXT,
        hypothesis=_TEXT,
        evidence={"type": "array", "items": _EVIDENCE, "minItems": 1, "maxItems": 40},
        acceptance=_CRITERIA,
        constraints=_SHORTS,
        out_of_scope=_SHORTS,
        risks=_SHORTS,
        steps={"type": "array", "items": _STEP, "minItems": 1, "maxItems": 300},
        checks={"type": "array", "items": _CHECK, "maxItems": 20},
        stop_conditions=_SHORTS,
        hosts=_SHORTS,
        budget=_BUDGET,
    ),
)


SUBMIT_QUESTIONS = Tool(
    "submit_plan",
    "Ends the work with a plan of questions to answer. Code verifies every citation; what is wrong comes back.",
    _object(
        ("summary", "hypothesis", "evidence", "steps"),
        summary=_TEXT,
        hypothesis=_TEXT,
        evidence={"type": "array", "items": _EVIDENCE, "minItems": 1, "maxItems": 40},
        acceptance=_CRITERIA,
        constraints=_SHORTS,
        out_of_scope=_SHORTS,
        risks=_SHORTS,
        steps={"type": "array", "items": _QUESTION, "minItems": 1, "maxItems": 60},
        stop_conditions=_SHORTS,
        budget=_object((), usd={"type": "string", "minLength": 1, "maxLength": 12}, calls=_COUNT, minutes=_COUNT),
    ),
)


def submit_plan(template: Template) -> Tool:
    """The form that a planner of this template fills in: what the template demands has to be there."""
    form = SUBMIT_QUESTIONS if template.answers else SUBMIT_PLAN
    fields, required = form.schema["properties"], form.schema["required"]
    assert isinstance(fields, dict) and isinstance(required, list)
    if Must.REGRESSION_TEST_OR_REASON in template.must_have:
        fields = fields | {"no_test_because": _SHORT}
    if Must.ACCEPTANCE in template.must_have:
        required = [*required, "acceptance"]
    return Tool(form.name, form.description, _object(tuple(required), **fields))


class _SubmittedCheck(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    paths: tuple[str, ...] = ()
    expect: Expectation


@dataclass(frozen=True, slots=True)
class Frame:
    """What a plan is made within; no model decides any of it."""

    request: Request
    version: int
    template: Template
    models: ModelPins
    policy: Policy
    base_branch: str
    base_commit: str
    issue_digest: str
    checks: tuple[NamedCheck, ...]
    ground: Ground
    """The exported base commit, in which a check's paths must exist."""
    files: int = 0
    """How many files the base commit has."""
    history: tuple[PastRun, ...] = ()
    """What past executions of the template's plans cost."""
    provisions: Provisions = NOTHING_TO_PREPARE
    """What the tree's set-ups are; a plan names those that its checks need, with all that they may reach."""


def read_plan(form: Mapping[str, object], frame: Frame, tree: Tree) -> Plan | list[Fault]:
    """The plan, or what is wrong with it, every fault by its sort, as far as a list of twenty goes.

    Shape and checks first, then what code verifies against the base commit, then what template and policy say.
    """
    try:
        checks, faults = _checks(form, frame)
        plan = _plan(form, frame, checks)
    except ValidationError as error:
        return _told([Fault(Code.SHAPE, f"{_place(fault['loc'])}: {fault['msg']}") for fault in error.errors()])
    faults += [Fault(Code.CITATION, str(fault)) for item in plan.evidence if (fault := _miscited(item, tree))]
    faults += step_faults(plan, tree)
    faults += _host_faults(form, plan)
    faults += plan_faults(plan, frame.template, frame.policy)
    return _told(faults) if faults else plan


def _host_faults(form: Mapping[str, object], plan: Plan) -> list[Fault]:
    asked = form.get("hosts")
    strangers = [str(host) for host in asked if host not in plan.hosts] if isinstance(asked, list) else []
    words = f"The plan names hosts to reach, and no set-up command of this repository may reach {', '.join(strangers)}."
    return [Fault(Code.POLICY, words)] if strangers else []


def _told(faults: list[Fault]) -> list[Fault]:
    if len(faults) <= MOST_FAULTS_TOLD:
        return faults
    return [*faults[:MOST_FAULTS_TOLD], Fault(Code.SHAPE, f"And {len(faults) - MOST_FAULTS_TOLD} more faults.")]


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(map(str, loc))


def _plan(form: Mapping[str, object], frame: Frame, checks: tuple[Check, ...]) -> Plan:
    words: dict[str, Any] = {key: value for key, value in form.items() if key not in ("checks", "budget")}
    if frame.template.answers:
        words["steps"] = [{"kind": "answer"} | step for step in _list(form.get("steps"))]
    request, usual = frame.request, frame.template.budget.execution.usual
    needed = _needed(form, frame, checks)
    if needed.lacking:
        words["risks"] = [*(form.get("risks") or ()), *needed.lacking]  # type: ignore[misc]
    return Plan.model_validate(
        words
        | {
            "run": request.run,
            "version": frame.version,
            "template": frame.template.pin(),
            "models": frame.models,
            "repository_id": request.repository_id,
            "issue_number": request.issue_number,
            "issue_digest": frame.issue_digest,
            "base_branch": frame.base_branch,
            "base_commit": frame.base_commit,
            "checks": checks,
            "setup": needed.setup or None,
            "hosts": needed.hosts,
            "budget": _budget(form.get("budget"), usual),
            "estimate": estimate(frame.history, Place(request.repository_id, frame.files), usual.usd),
            "stop_conditions": _stop_conditions(form, frame.template),
            "protected_paths": _protected(form, frame.policy),
        }
    )


def _checks(form: Mapping[str, object], frame: Frame) -> tuple[tuple[Check, ...], list[Fault]]:
    """The checks as commands, and what is wrong with them; a plan is never made of those that have a fault."""
    known = {check.name: check for check in frame.checks}
    created = {str(step["path"]) for step in _list(form.get("steps")) if step.get("kind") == "create"}
    created |= {str(step["to"]) for step in _list(form.get("steps")) if step.get("to")}
    made, faults = [], []
    for given in _list(form.get("checks")):
        one = _SubmittedCheck.model_validate(given)
        check = known.get(one.name)
        if check is None:
            words = f"There is no check {one.name!r} here; there are: {', '.join(known) or 'none'}."
            faults.append(Fault(Code.CHECK, words))
        elif (wrong := wrong_paths(check, one.paths, frame.ground, frozenset(created))) is not None:
            faults.append(Fault(Code.CHECK, f"Check {one.name}: {wrong}"))
        # What is said of a check elsewhere is judged by its name, so that one fault is not told as three.
        argv = check.argv if check else (one.name,)
        made.append(Check(name=one.name, argv=(*argv, *one.paths), paths=one.paths, expect=one.expect))
    return tuple(made), faults


def _needed(form: Mapping[str, object], frame: Frame, checks: tuple[Check, ...]) -> Needed:
    planned = {check.name for check in checks}
    return frame.provisions.needed([one for one in frame.checks if one.name in planned], _paths(form))


def _budget(asked: object, usual: Size) -> PlanBudget:
    given = {key: value for key, value in asked.items() if value is not None} if isinstance(asked, dict) else {}
    plain = {
        "usd": str(usual.usd),
        "calls": usual.calls,
        "minutes": usual.minutes,
        "files": usual.files,
        "lines": usual.lines,
    }
    return PlanBudget.model_validate(plain | given)


def _miscited(item: Evidence, tree: Tree) -> Refused | None:
    verdict = verify_citation(tree, item.path, item.start, item.end)
    if not isinstance(verdict, Refused) and item.quote is not None:
        verdict = verify_quote(tree, item)
    return verdict if isinstance(verdict, Refused) else None


def _list(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _stop_conditions(form: Mapping[str, object], template: Template) -> tuple[str, ...]:
    own = form.get("stop_conditions")
    said = [str(one) for one in own] if isinstance(own, list) else []
    return tuple(dict.fromkeys([*template.stop_conditions, *said]))


def _protected(form: Mapping[str, object], policy: Policy) -> tuple[str, ...]:
    """Said by code, so that the approver sees them whether the planner thought of it or not."""
    return guarded(policy, sorted(_paths(form)))


def _paths(form: Mapping[str, object]) -> set[str]:
    return {str(step[name]) for step in _list(form.get("steps")) for name in ("path", "to") if step.get(name)}
