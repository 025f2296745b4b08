"""What kept steps made of the files, written down and read back: the next attempt goes on from the same bytes."""

from collections.abc import Callable, Mapping
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.core.patch import ContentRef, FileMode, ObjectId, SafePath
from worker.repo.edits import Held


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    path: SafePath
    mode: FileMode | None = None
    content_ref: ContentRef | None = None
    came_from: SafePath | None = None

    @model_validator(mode="after")
    def _is_there_or_gone(self) -> Self:
        if (self.mode is None) != (self.content_ref is None) or (self.mode is None and self.came_from is not None):
            raise ValueError(f"{self.path}: a file has a mode and a content, and one that is gone has nothing")
        return self


class Layer(BaseModel):
    """Every file that differs from the base commit, by the reference of its content; no content for what is gone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_commit: ObjectId
    files: Annotated[tuple[_File, ...], Field(max_length=10_000)]


def layer_of(base_commit: str, held: Mapping[str, Held | None], keep: Callable[[bytes], str]) -> Layer:
    """The files in the order of their paths; contents are handed to `keep`, which answers with their SHA-256."""
    files = tuple(_written(path, held[path], keep) for path in sorted(held))
    return Layer(base_commit=base_commit, files=files)


def held_in(layer: Layer, base_commit: str, read: Callable[[str], bytes]) -> dict[str, Held | None]:
    """The same files again. Raises ValueError for a layer on another commit, and what `read` raises."""
    if layer.base_commit != base_commit:
        raise ValueError(f"these files belong on {layer.base_commit}, not on {base_commit}")
    return {one.path: _read_back(one, read) for one in layer.files}


def _written(path: str, held: Held | None, keep: Callable[[bytes], str]) -> _File:
    if held is None:
        return _File(path=path)
    return _File(path=path, mode=held.mode, content_ref=keep(held.content), came_from=held.came_from)


def _read_back(one: _File, read: Callable[[str], bytes]) -> Held | None:
    if one.mode is None or one.content_ref is None:
        return None
    return Held(read(one.content_ref), one.mode, one.came_from)
