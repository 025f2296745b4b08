"""What a run has brought before this planning: questions that were asked, the plan before, and its case file."""

from dataclasses import dataclass

from pydantic import ValidationError

from app.core.plan import Plan
from worker.evidence.artifacts import ArtifactShelf
from worker.evidence.casefile import CaseFile
from worker.evidence.untrusted import fence

PLAN_CHARACTERS = 20_000
_OURS = {"schema_", "run", "version", "template", "models", "repository_id", "issue_number", "issue_digest"}
"""Fields of a plan that no model wrote."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """`questions` are those put to the issue's author, one text for each time; `plan` is the one to be revised.

    `case` is the case file behind the last plan or question, and `moved` is true where there was one for another
    commit, whose lines are not those of this one.
    """

    questions: tuple[str, ...] = ()
    plan: Plan | None = None
    case: CaseFile | None = None
    moved: bool = False

    def told(self) -> list[str]:
        """What the page says of it."""
        parts = []
        if self.questions:
            words = fence("your questions", "\n\n".join(self.questions))
            parts.append(f"In this run you asked the issue's author; an answer stands among the comments:\n{words}")
        if self.plan is not None:
            text = self.plan.model_dump_json(indent=1, exclude=_OURS, exclude_none=True, by_alias=True)
            shown = text[:PLAN_CHARACTERS] + ("\n[… cut]" if len(text) > PLAN_CHARACTERS else "")
            parts.append(f"The plan before, version {self.plan.version}:\n{fence('the plan before', shown)}")
        if self.case is not None:
            parts.append("Your case file goes on from there.")
        if self.moved:
            parts.append("The branch has moved since; what was observed before is not in your case file any more.")
        return parts


NOTHING = Earlier()


def kept(case: CaseFile, shelf: ArtifactShelf) -> str:
    """Keeps the case file and answers with its reference."""
    return shelf.put_artifact(case.model_dump_json(by_alias=True).encode(), "application/json")


def read_case(reference: str, shelf: ArtifactShelf) -> CaseFile | None:
    """The case file behind a reference; None where there is none, or where it has a form that is not known any more."""
    content = shelf.artifact(reference) if reference else None
    if content is None:
        return None
    try:
        return CaseFile.model_validate_json(content)
    except ValidationError:
        return None
