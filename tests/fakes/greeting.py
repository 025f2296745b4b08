"""A small repository with a real defect, and the model's part in mending it, whole or changed for a story."""

from collections.abc import Mapping
from typing import Any

ISSUE = "The greeting is misspelt\ngreet.sh says helo, it should say hello."
GREET = '#!/bin/sh\n# Says hello.\nname=${1:-world}\necho "helo $name"\n'
TEST = '#!/bin/sh\nset -e\nout=$(sh greet.sh)\ntest -n "$out"\n'
MAKEFILE = "test:\n\tsh tests/test_greet.sh\n"
FILES = {"greet.sh": GREET, "tests/test_greet.sh": TEST, "Makefile": MAKEFILE, "README.md": "# greet\n"}

PLAN: dict[str, Any] = {
    "summary": "greet.sh says hello with both letters.",
    "hypothesis": "The word is misspelt in the echo.",
    "evidence": [{"path": "greet.sh", "start": 4, "end": 4, "shows": "The misspelt word."}],
    "acceptance": [
        {"id": 1, "words": "The greeting is hello and the name.", "steps": [1], "checks": ["make test"]},
        {"id": 2, "words": "A test fails for any other greeting.", "steps": [2]},
    ],
    "constraints": ["The default name stays."],
    "risks": ["Somebody may rely on the misspelling."],
    "steps": [
        {"id": 1, "kind": "change", "path": "greet.sh", "intent": "Spell the word.", "done_when": "It says hello."},
        {
            "id": 2,
            "kind": "change",
            "path": "tests/test_greet.sh",
            "intent": "Test the whole greeting.",
            "done_when": "The test fails without step 1.",
        },
    ],
    "checks": [{"name": "make test", "expect": "fails_before_passes_after"}],
    "budget": {"usd": "1.00", "calls": 20, "minutes": 10, "files": 2, "lines": 20},
}


def calls(*made: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """One turn of tool calls."""
    return {"calls": [{"name": name, "input": given} for name, given in made], **more}


PLANNER = {
    "role": "planner",
    "turns": [
        calls(("search", {"pattern": "helo", "mode": "literal"}), ("read_file", {"path": "tests/test_greet.sh"})),
        calls(("read_file", {"path": "greet.sh"}), when=["greet.sh"]),
        calls(("submit_plan", PLAN), when=['echo "helo $name"']),
    ],
}
STEP_1 = {
    "role": "executor",
    "step": 1,
    "turns": [
        calls(("read_file", {"path": "greet.sh"})),
        calls(("replace", {"path": "greet.sh", "old": "helo", "new": "hello"})),
        calls(("step_done", {"note": "The word is spelt right."})),
    ],
}
STEP_2 = {
    "role": "executor",
    "step": 2,
    "turns": [
        calls(
            (
                "replace",
                {
                    "path": "tests/test_greet.sh",
                    "old": 'test -n "$out"\n',
                    "new": 'test -n "$out"\ntest "$out" = "hello world"\n',
                },
            )
        ),
        calls(("step_done", {"note": "The greeting is tested."})),
    ],
}


def judged(number: int, **changes: Any) -> dict[str, Any]:
    """A criterion that is met, with words of the difference that stand in every one."""
    said = {"id": number, "met": "yes", "because": "It is so.", "where": "difference", "quote": "diff --git"}
    return said | changes


def reviewing(verdict: str = "accept", words: str = "", about: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """The reviewer's part: it judges three criteria, as many as any plan here has, and ends so."""
    criteria = [judged(number) for number in (1, 2, 3)]
    ending = {"verdict": verdict, "words": words, "criteria": criteria, "findings": []} | more
    return {"role": "reviewer", "about": list(about), "turns": [calls(("review", ending), after_failure=True)]}


REVIEW = reviewing()
SCRIPT = {"name": "a misspelt greeting", "parts": [PLANNER, STEP_1, STEP_2, REVIEW]}


def script(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """These parts first, then the usual ones."""
    return {"name": "a misspelt greeting, otherwise", "parts": [*parts, PLANNER, STEP_1, STEP_2, REVIEW]}


def planning(*turns: Mapping[str, Any], about: tuple[str, ...] = ()) -> dict[str, Any]:
    """The planner's part: these turns and no more. `about` is what its page must show."""
    return {"role": "planner", "about": list(about), "turns": list(turns)}


def planned(**changes: Any) -> dict[str, Any]:
    """The usual plan with these fields changed; what it promises is kept by all of its steps and checks."""
    plan = PLAN | changes
    by = {"steps": [step["id"] for step in plan["steps"]], "checks": [check["name"] for check in plan["checks"]]}
    promise = [{"id": 1, "words": "The greeting is right.", **by}]
    other = "acceptance" not in changes and bool(changes.keys() & {"steps", "checks"})
    return plan | {"acceptance": promise} if other else plan


def submitting(about: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    """The planner's part: it submits the usual plan with these fields changed."""
    return planning(calls(("submit_plan", planned(**changes))), about=about)


def mending(repair: int, *made: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The executor's part in one repair: these calls, one after another, and then it is done."""
    turns = [calls(one, after_failure=True) for one in made]
    done = calls(("step_done", {"note": f"Mended ({repair})."}), **more)
    return {"role": "executor", "repair": repair, "turns": [*turns, done]}


def stepping(step: int, *made: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """The executor's part in one step: these calls, one after another, and then it is done."""
    turns = [calls(one, after_failure=True) for one in made]
    return {"role": "executor", "step": step, "turns": [*turns, calls(("step_done", {"note": "Done."}), **more)]}
