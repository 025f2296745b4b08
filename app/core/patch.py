"""The patch: what the executor made. Contents are kept as artifacts; the patch holds their hashes."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from app.core.paths import safe_path
from app.core.verdict import Refused

FileMode = Literal["100644", "100755"]
"""A patch holds ordinary files only: no link, no submodule, no setuid."""

ChangeKind = Literal["change", "create", "delete", "move"]
ContentRef = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ObjectId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]


def _plain(path: str) -> str:
    checked = safe_path(path)
    if isinstance(checked, Refused):
        raise ValueError(checked.reason)
    return checked


SafePath = Annotated[str, AfterValidator(_plain)]


class FileChange(BaseModel):
    """One file's change against the base commit.

    `content_ref` is the SHA-256 of the whole new content (none for a deletion), `size` its length in bytes,
    `base_blob` the blob that was there before (none for a new file), `old_path` where a moved file was.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: ChangeKind
    path: SafePath
    mode: FileMode
    content_ref: ContentRef | None = None
    size: Annotated[int, Field(ge=0)] = 0
    base_blob: ObjectId | None = None
    old_path: SafePath | None = None
    added_lines: Annotated[int, Field(ge=0)] = 0
    removed_lines: Annotated[int, Field(ge=0)] = 0
    ignored_by: Annotated[str, Field(max_length=300)] = ""
    """The line of an ignore file by which git does not see this file, where it is new at its path."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if (self.kind == "delete") != (self.content_ref is None):
            raise ValueError(f"{self.path}: a deletion has no content, everything else has")
        if (self.kind == "create") != (self.base_blob is None):
            raise ValueError(f"{self.path}: a new file replaces no blob, everything else does")
        if (self.kind == "move") != (self.old_path is not None):
            raise ValueError(f"{self.path}: a moved file says where it was, nothing else does")
        return self


class StepChanges(BaseModel):
    """What one step changed on top of the former ones, or one repair on top of everything.

    It knows no move: a file that was moved went and came.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: Annotated[int, Field(ge=0)] = 0
    """The step's id; 0 for a repair."""
    repair: Annotated[int, Field(ge=0)] = 0
    """The repair's number; 0 for a step."""
    changes: tuple[FileChange, ...]
    nothing_to_do: str = ""
    """Why a step left no change of its own in its path, as code saw it."""

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.step > 0) == (self.repair > 0):
            raise ValueError("changes are those of a step or of a repair")
        paths = [change.path for change in self.changes]
        if len(paths) != len(set(paths)) or any(change.kind == "move" for change in self.changes):
            raise ValueError("a path is named by two changes, or a move is among them")
        return self


class Patch(BaseModel):
    """All changes of a run against one commit.

    No path is named twice, old paths included: GitHub asks for that (github-facts 113), and it makes the order
    of the changes meaningless.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_commit: ObjectId
    changes: tuple[FileChange, ...]
    steps: tuple[StepChanges, ...] = ()
    """The same, step by step and then repair by repair; empty where it was not recorded, and for a rule's work."""

    @model_validator(mode="after")
    def _paths_are_different(self) -> Self:
        named = [path for change in self.changes for path in (change.path, change.old_path) if path is not None]
        if len(named) != len(set(named)):
            raise ValueError("a path is named by two changes")
        return self

    @property
    def changed_lines(self) -> int:
        """Lines added plus lines removed, over all files."""
        return sum(change.added_lines + change.removed_lines for change in self.changes)
