"""What an unattended run leaves: facts, plan, tokens, times and memory, as they were recorded and measured."""

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from app.core.effects import Purpose, Slot
from app.core.facts import AuthorityFound, CommandGiven, DraftOpened, Fact, Labelled, Said
from app.core.run import Published
from app.core.span import Span, SpanKind
from app.ledger.outcomes import RunView
from app.ledger.store import Ledger
from infra.demo.stage import Stage


def memory_of(pids: Mapping[str, int]) -> dict[str, int]:
    """Resident memory of each process in kB; 0 for one that does not run."""
    return {name: _resident(pid) for name, pid in pids.items()}


def result_of(ledger: Ledger, view: RunView, stage: Stage, idle: Mapping[str, int]) -> dict[str, Any]:
    """The content of `result.json`."""
    state = view.state
    plan = ledger.plan(view.id, state.last_version) if state.last_version else None
    busy = memory_of(stage.pids())
    published = state if isinstance(state, Published) else None
    return {
        "run": view.id,
        "repository": stage.repo,
        "issue": stage.issue,
        "model": "scripted" if stage.scripted else "real",
        "state": state.name,
        "facts": [one.fact.model_dump(mode="json") for one in view.facts],
        "plan": plan.model_dump(mode="json", by_alias=True) if plan else None,
        "digest": published.proposal.digest if published else None,
        "approver": published.approval.model_dump(mode="json") if published else None,
        "branch": published.pull.branch if published else None,
        "commit": published.pull.commit if published else None,
        "pull_request": {"number": published.pull.number, "draft": published.pull.draft} if published else None,
        "tokens": _tokens(ledger, stage.repo),
        "seconds": _seconds(ledger, view),
        "memory_kb": {
            "idle": dict(idle),
            "idle_total": sum(idle.values()),
            "after": busy,
            "after_total": sum(busy.values()),
        },
        "cost": state.spent.model_dump(mode="json"),
    }


def _tokens(ledger: Ledger, repository: str) -> list[dict[str, Any]]:
    return [
        {
            "belt": one.belt,
            "purpose": one.purpose,
            "permissions": one.permissions,
            "repository_id": one.repository_id,
            "repository": repository,
            "sha256": one.token_sha256,
            "minted_at": one.minted_at.isoformat(),
            "expires_at": one.expires_at.isoformat(),
            "revoked_at": one.revoked_at.isoformat() if one.revoked_at else None,
            "seconds": round((one.revoked_at - one.minted_at).total_seconds(), 3) if one.revoked_at else None,
            "refused": one.refused,
        }
        for one in ledger.mints()
    ]


def _seconds(ledger: Ledger, view: RunView) -> dict[str, Any]:
    facts = [one.fact for one in view.facts]
    spans = ledger.spans(view.id)
    return {
        "label to plan comment": _phase(_at(facts, _is_label), _at(facts, _is_plan_comment), spans),
        "approve to draft": _phase(_at(facts, _is_approve), _at(facts, _is_draft), spans),
    }


def _phase(begin: datetime | None, end: datetime | None, spans: tuple[Span, ...]) -> dict[str, float] | None:
    if begin is None or end is None:
        return None
    within = [span for span in spans if begin <= span.began_at <= end]
    model = sum(span.seconds for span in within if span.kind is SpanKind.MODEL)
    checks = sum(span.seconds for span in within if span.kind is SpanKind.CHECK)
    whole = (end - begin).total_seconds()
    return {
        "whole": round(whole, 3),
        "model": round(model, 3),
        "checks": round(checks, 3),
        "outside_model": round(whole - model, 3),
        "outside_model_and_checks": round(whole - model - checks, 3),
    }


def _at(facts: list[Fact], wanted: Callable[[Fact], bool]) -> datetime | None:
    return next((fact.at for fact in facts if wanted(fact)), None)


def _is_label(fact: Fact) -> bool:
    return isinstance(fact, Labelled)


def _is_plan_comment(fact: Fact) -> bool:
    return isinstance(fact, Said) and fact.slot is Slot.PLAN


def _is_approve(fact: Fact) -> bool:
    return isinstance(fact, CommandGiven) or (isinstance(fact, AuthorityFound) and fact.purpose is Purpose.APPROVE)


def _is_draft(fact: Fact) -> bool:
    return isinstance(fact, DraftOpened)


def _resident(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    line = next((one for one in status.splitlines() if one.startswith("VmRSS:")), "VmRSS: 0 kB")
    return int(line.split()[1])
