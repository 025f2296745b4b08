"""The fixed part of the planner's page: the repository card with its advice files, and the issue as it was read."""

from app.core.run import Request
from worker.belts.reading_up import ReadUp
from worker.box.checks import NamedCheck
from worker.evidence.untrusted import fence
from worker.repo.snapshot import Snapshot

ADVICE_CHARACTERS = 6_000
ADVICE = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", "CONTRIBUTING.md")
TOP_SHOWN = 80


def card(request: Request, read: ReadUp, snapshot: Snapshot, checks: tuple[NamedCheck, ...]) -> str:
    """What the repository is, at the base commit."""
    files = snapshot.list()
    top = sorted({entry.path.split("/")[0] + ("/" if "/" in entry.path else "") for entry in files})
    named = "\n".join(_check(check) for check in checks) or "- none was found"
    head = f"{request.repository}, branch {read.base_branch}, commit {read.base_commit}, {len(files):,} files."
    return f"# Repository card\n\n{head}\nAt the top: {', '.join(top[:TOP_SHOWN])}\nChecks:\n{named}{_advice(snapshot)}"


def issue(request: Request, read: ReadUp, wish: str) -> str:
    """The issue with its conversation, all of it data."""
    parts = [
        f"# Issue {request.issue_number}",
        fence(f"issue by {read.author}", f"{read.title}\n\n{read.body or '(no description)'}"),
    ]
    if read.conversation:
        parts.append(fence("comments, oldest first", "\n\n---\n\n".join(read.conversation)))
    if wish:
        parts.append(f"A maintainer asked for another version of the plan:\n{fence('the wish', wish)}")
    if read.hidden:
        parts.append(f"{len(read.hidden)} hidden pieces of text were removed; the approver will be told.")
    return "\n\n".join(parts)


def _check(check: NamedCheck) -> str:
    here = f"; cannot be run here: {check.not_prepared}" if check.not_prepared else ""
    return f"- {check.name} (paths: {check.paths}){here}"


def _advice(snapshot: Snapshot) -> str:
    """Instruction files are read at the base commit, as advice and as data (github-facts 194)."""
    told = []
    for path in ADVICE:
        entry = snapshot.entry(path)
        if entry is not None and entry.kind == "file" and entry.size < 200_000:
            text = snapshot.read(path).decode("utf-8", "replace")[:ADVICE_CHARACTERS]
            told.append(fence(f"advice file {path}", text))
    return "\n\n" + "\n\n".join(told) if told else ""
