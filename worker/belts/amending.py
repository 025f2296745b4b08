"""Amending: a step's model says what the approved plan takes besides, and code makes the plan's next version of it.

Nothing is widened by it. The next version goes back to the people who approve; until then nothing is carried out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.core.amending import Wish, amended
from app.core.lint import Code, Fault, plan_faults
from app.core.plan import Check, Expectation, FileStep, Plan
from app.core.policy import Policy
from app.core.template import Template
from app.core.verdict import Refused
from worker.box.checks import Ground, NamedCheck, wrong_paths
from worker.box.provision import NOTHING_TO_PREPARE, Provisions
from worker.model.conversation import Done, Failed, Handler
from worker.model.words import Tool
from worker.repo.standing import step_faults
from worker.repo.tree import Tree

MOST_REFUSED = 3
"""How often an amendment that cannot be proposed goes back to the step's model; then the step ends without one."""

FAULTS_TOLD = 10

_WORDS = {"type": "string", "minLength": 1, "maxLength": 4000}
_SHORT = {"type": "string", "minLength": 1, "maxLength": 600}
_PATH = {"type": "string", "minLength": 1, "maxLength": 4096}
_STEP = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["change", "create", "delete", "move"]},
        "path": _PATH,
        "to": _PATH,
        "intent": _WORDS,
        "constraints": {"type": "array", "items": _SHORT, "maxItems": 30},
        "done_when": _WORDS,
    },
    "required": ["kind", "path", "intent", "done_when"],
    "additionalProperties": False,
}
_CHECK = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 64},
        "paths": {"type": "array", "items": _PATH, "maxItems": 60},
        "expect": {"type": "string", "enum": [str(one) for one in Expectation]},
    },
    "required": ["name", "expect"],
    "additionalProperties": False,
}

PROPOSE_AMENDMENT = Tool(
    "propose_amendment",
    "Ends the work without the step, and asks the people who approved the plan for more than it says: another "
    "behaviour, further files, checks or hosts. `why` tells them what you found. `this_step` is the step as it should "
    "read, where it should read otherwise. `steps` are done after all others. `checks` are named as the repository's "
    "own. `acceptance` says what will be true besides. Earlier steps stay; nothing of this one does, and it is done "
    "anew once they agree. Where the step can be done within its path and constraints, do it instead.",
    {
        "type": "object",
        "properties": {
            "why": _WORDS,
            "this_step": _STEP,
            "steps": {"type": "array", "items": _STEP, "maxItems": 30},
            "checks": {"type": "array", "items": _CHECK, "maxItems": 10},
            "hosts": {"type": "array", "items": _SHORT, "maxItems": 10},
            "acceptance": {"type": "array", "items": _SHORT, "maxItems": 10},
        },
        "required": ["why"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Amender:
    """What an amendment is made within, as a plan is; no model decides any of it."""

    plan: Plan
    version: int
    """The one that comes next."""
    template: Template
    policy: Policy
    tree: Tree
    checks: tuple[NamedCheck, ...]
    ground: Ground
    """The exported base commit, in which a check's paths must exist."""
    provisions: Provisions = NOTHING_TO_PREPARE
    """What the tree's set-ups are; no plan names any other, nor a host that they may not reach."""

    def next_version(self, step: FileStep, asked: Mapping[str, Any]) -> Plan | Refused:
        """The plan with what is asked for, or everything that is wrong with it."""
        try:
            wish, faults = self._wish(step, asked)
            if wish.asks_for_nothing():
                return Refused(
                    "The amendment asks for nothing beyond the plan.", "Do the step, or say that you cannot."
                )
            plan = amended(self.plan, wish, self.version, self.policy, self.template.budget.execution.most)
        except ValidationError as error:
            return _told([Fault(Code.SHAPE, f"{_place(one['loc'])}: {one['msg']}") for one in error.errors()])
        faults += step_faults(plan, self.tree)
        faults += plan_faults(plan, self.template, self.policy)
        return _told(faults) if faults else plan

    def _wish(self, step: FileStep, asked: Mapping[str, Any]) -> tuple[Wish, list[Fault]]:
        first = max(one.id for one in self.plan.steps) + 1
        further = [{"id": number, **one} for number, one in enumerate(asked.get("steps") or (), first)]
        faults: list[Fault] = []
        checks = [self._check(one, further, faults) for one in asked.get("checks") or ()]
        given: dict[str, Any] = {"step": step.id, "why": asked["why"], "steps": further, "checks": checks}
        given["acceptance"] = tuple(asked.get("acceptance") or ())
        given["hosts"] = tuple(host for host in asked.get("hosts") or () if host not in self.plan.hosts)
        if asked.get("this_step"):
            stays = {"id": step.id, "who": step.who, "no_criterion_because": step.no_criterion_because}
            given["instead"] = asked["this_step"] | stays
        strangers = [host for host in given["hosts"] if host not in self.provisions.hosts()]
        if strangers:
            words = f"No set-up command of this repository may reach {', '.join(strangers)}."
            faults.append(Fault(Code.POLICY, words))
        return Wish.model_validate(given | self._set_up(checks, further, given["hosts"])), faults

    def _set_up(self, checks: list[Check], further: list[dict[str, Any]], hosts: tuple[str, ...]) -> dict[str, Any]:
        """What further checks and steps take to prepare, with all that it may reach, as in any plan."""
        planned = {one.name for one in (*self.plan.checks, *checks)}
        paths = self.plan.paths() | {str(step[name]) for step in further for name in ("path", "to") if step.get(name)}
        needed = self.provisions.needed([one for one in self.checks if one.name in planned], paths)
        before = self.plan.setup or ()
        setup = (*before, *(words for words in needed.setup if words not in before))
        if setup == before:
            return {}
        return {
            "setup": setup,
            "hosts": tuple(dict.fromkeys((*hosts, *(host for host in needed.hosts if host not in self.plan.hosts)))),
        }

    def _check(self, asked: Mapping[str, Any], further: list[dict[str, Any]], faults: list[Fault]) -> Check:
        name, paths = str(asked["name"]), tuple(map(str, asked.get("paths") or ()))
        named = next((one for one in self.checks if one.name == name), None)
        if named is None:
            known = ", ".join(one.name for one in self.checks) or "none"
            faults.append(Fault(Code.CHECK, f"There is no check {name!r} here; there are: {known}."))
        elif (wrong := wrong_paths(named, paths, self.ground, self._created(further))) is not None:
            faults.append(Fault(Code.CHECK, f"Check {name}: {wrong}"))
        argv = (*(named.argv if named else (name,)), *paths)
        check = Check(name=name, argv=argv, paths=paths, expect=Expectation(str(asked["expect"])))
        if any((one.name, one.argv) == (check.name, check.argv) for one in self.plan.checks):
            faults.append(Fault(Code.CHECK, f"The plan has the check {name} already."))
        return check

    def _created(self, further: list[dict[str, Any]]) -> frozenset[str]:
        """What the plan makes, its further steps included: a check may be of that."""
        made = {step.path for step in self.plan.file_steps() if step.kind == "create"}
        made |= {step.to for step in self.plan.file_steps() if step.kind == "move"}
        made |= {str(step["path"]) for step in further if step["kind"] == "create"}
        return frozenset(made | {str(step["to"]) for step in further if step.get("to")})


@dataclass(slots=True)
class Proposing:
    """The tool of one step: an amendment that holds ends the work, one that does not goes back, some times."""

    amender: Amender
    step: FileStep
    refused: int = 0

    def tool(self, ended: Callable[[Plan | Refused], Any]) -> dict[str, tuple[Tool, Handler[Any]]]:
        """By name, with its handler; `ended` makes the end of the conversation of the plan, or of the last refusal."""

        def propose(asked: Mapping[str, object]) -> Failed | Done[Any]:
            plan = self.amender.next_version(self.step, asked)
            if isinstance(plan, Refused):
                self.refused += 1
                if self.refused <= MOST_REFUSED:
                    return Failed(str(plan))
            return Done(ended(plan))

        return {PROPOSE_AMENDMENT.name: (PROPOSE_AMENDMENT, propose)}


def _told(faults: list[Fault]) -> Refused:
    lines = "\n".join(f"- {fault}" for fault in faults[:FAULTS_TOLD])
    more = f"\n- and {len(faults) - FAULTS_TOLD} more" if len(faults) > FAULTS_TOLD else ""
    return Refused(
        f"This amendment cannot be proposed:\n{lines}{more}\n", "Mend it, do the step, or say that you cannot."
    )


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(map(str, loc))
