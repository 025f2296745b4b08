"""The rule's work in the executor: applied by code, and held against what the approved plan lists, byte for byte."""

import hashlib

from app.core.paths import shown
from app.core.plan import ChangeFile, Plan
from app.core.rule import Rule
from app.core.verdict import Refused
from worker.repo.edits import Overlay
from worker.repo.fence import Fence
from worker.repo.mechanical import rewrite
from worker.repo.snapshot import Snapshot

OTHERWISE = "Ask for a new plan with `/revise`."


def apply_rule(plan: Plan, rule: Rule, overlay: Overlay, snapshot: Snapshot) -> Refused | None:
    """Every step's file is what the plan says it will be, or nothing was kept and the difference is named."""
    entries = [entry for step in plan.file_steps() if (entry := snapshot.entry(step.path)) is not None]
    outcome = rewrite(rule, snapshot, tuple(entries))
    if isinstance(outcome, Refused):
        return outcome
    made = {one.path: one for one in outcome.files}
    for step in plan.file_steps():
        result = made.pop(step.path, None)
        listed = step.rule if isinstance(step, ChangeFile) else None
        if result is None or listed is None:
            return Refused(f"Step {step.id}: the rule changes nothing in {shown(step.path)} now.", OTHERWISE)
        if (len(result.places), hashlib.sha256(result.content).hexdigest()) != (listed.places, listed.result):
            return Refused(
                f"Step {step.id}: the rule makes something else of {shown(step.path)} than the plan lists.", OTHERWISE
            )
        edits = overlay.begin(Fence.of(step))
        for refused in (edits.rewrite(step.path, result.content), edits.keep()):
            if isinstance(refused, Refused):
                return Refused(f"Step {step.id}: {refused.reason}", refused.remedy)
    return None
