"""Kept files are read back to the byte, with modes and moves, on their own commit alone."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.repo.edits import Held, Overlay
from worker.repo.fence import Create, Delete, Fence, Move, Replace
from worker.repo.layers import Layer, held_in, layer_of

BASE = "b" * 40


class Shelf:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        ref = hashlib.sha256(content).hexdigest()
        self.kept[ref] = content
        return ref


def again(held: dict[str, Held | None]) -> dict[str, Held | None]:
    shelf = Shelf()
    layer = layer_of(BASE, held, shelf.put)
    return held_in(Layer.model_validate_json(layer.model_dump_json()), BASE, shelf.kept.__getitem__)


_paths = st.lists(st.sampled_from(["a.py", "b/c d.txt", "é.md", "x"]), unique=True)
_files = st.none() | st.builds(
    Held, st.binary(max_size=30), st.sampled_from(["100644", "100755"]), st.none() | st.just("was/here.py")
)


@given(_paths.flatmap(lambda paths: st.fixed_dictionaries(dict.fromkeys(paths, _files))))
def test_whatever_is_written_down_is_read_back(held: dict[str, Held | None]) -> None:
    assert again(held) == held


def test_an_overlay_that_goes_on_holds_the_same_changes_and_takes_further_steps(tree_of):
    tree = tree_of({"a.sh": b"one\r\ntwo", "gone": b"x", "old": b"y"}, {"a.sh": "100755"})
    first = Overlay(tree)
    edits = [Replace("a.sh", "one", "1"), Delete("gone"), Move("old", "new"), Create("made", "m\n")]
    fence = Fence({"a.sh": "change", "gone": "delete", "old": "move", "made": "create"}, {"old": "new"})
    first.apply_all(fence, edits)
    second = Overlay(tree)
    second.resume(again(dict(first.held())))
    assert second.changes() == first.changes()
    assert second.read("a.sh") == b"1\r\ntwo"
    for overlay in (first, second):
        overlay.apply_all(Fence({"a.sh": "change"}), [Replace("a.sh", "two", "2")])
    assert second.changes() == first.changes()
    with pytest.raises(RuntimeError, match="another step"):
        second.resume({})


def test_files_of_another_commit_are_not_taken() -> None:
    with pytest.raises(ValueError, match="belong on"):
        held_in(layer_of(BASE, {}, Shelf().put), "c" * 40, lambda _: b"")
