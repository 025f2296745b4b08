"""What the executor works with, how far it is, and how its work ends."""

from dataclasses import dataclass, field

from app.core.patch import Patch, StepChanges
from app.core.plan import Plan
from app.core.policy import Policy
from app.core.report import Repair, Report
from app.core.span import SpanKind
from app.core.template import Template
from app.core.verdict import Refused
from worker.belts.amending import Amender
from worker.belts.progress import Progress
from worker.belts.proving import Prover
from worker.evidence.trace import Trace
from worker.model.client import Model
from worker.repo.edits import Overlay
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache


@dataclass(frozen=True, slots=True)
class BenchModels:
    """Who does standard steps, who strong ones, and who reads the result."""

    standard: Model
    strong: Model
    reviewer: Model


@dataclass(frozen=True, slots=True)
class Bench:
    """What the executor works with. It holds no token, and no way to get one; for a rule's work not even a model."""

    template: Template
    policy: Policy
    models: BenchModels | None
    snapshot: Snapshot
    symbols: SymbolCache
    prover: Prover
    trace: Trace
    progress: Progress
    amender: Amender

    def keep(self, content: bytes) -> str:
        """Keeps a file's content; answers with the SHA-256 by which it is found."""
        return self.prover.keep(content, "application/octet-stream")

    def note(self, name: str, outcome: str) -> None:
        """A span for one call of a tool that ended so."""
        with self.trace.noting(SpanKind.TOOL, name) as noted:
            noted.outcome = outcome


@dataclass(slots=True)
class Walk:
    """The work so far: the edits that were kept, step by step, and what the report is to say of them."""

    overlay: Overlay
    kept: list[StepChanges] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Made:
    """The steps are done, the patch is inside the plan, the checks were shown."""

    patch: Patch
    report: Report


@dataclass(frozen=True, slots=True)
class Stopped:
    """The work ended without a result that may leave the box."""

    refused: Refused
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class Paused:
    """The plan takes more than was approved: this one is wanted, and the report tells what is done and kept."""

    plan: Plan
    report: Report
