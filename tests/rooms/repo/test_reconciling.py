"""What steps and repairs changed, told by code: on top of one another, in their own paths, and no test taken away."""

import hashlib

import pytest

from app.core.digest import blob_id
from app.core.patch import StepChanges
from app.core.verdict import Allowed, Refused
from tests.fakes.plans import plan
from worker.belts.reconciling import Change, reconciled
from worker.belts.repairing import fence_of, taken
from worker.belts.step import StepMade
from worker.repo.edits import Applied, Overlay
from worker.repo.fence import Create, Delete, Edit, Fence, Move, Replace

TESTS = b"def test_one():\n    assert f() == 1\n\n\ndef test_two():\n    assert f() == 2\n"
FILES = {"src/a.py": b"one\n", "src/b.py": b"two\n", "src/test_b.py": TESTS, "tests/test_a.py": TESTS}
EVERYWHERE = Fence(
    {"src/a.py": "change", "src/b.py": "move", "src/c.py": "create", "tests/test_a.py": "delete"},
    {"src/b.py": "lib/b.py"},
    lambda path: True,
)


def keep(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def after(overlay: Overlay, *edits: Edit) -> Change:
    """The change that these edits make, which are kept."""
    before = overlay.at_present()
    assert overlay.apply_all(EVERYWHERE, edits) == Allowed()
    return Change(before, overlay, keep)


def steps(*kinds: tuple[str, str]) -> list[dict[str, object]]:
    return [
        {"id": number, "kind": kind, "path": path, "intent": "i", "done_when": "d"}
        | ({"to": "lib/b.py"} if kind == "move" else {})
        for number, (kind, path) in enumerate(kinds, 1)
    ]


def test_each_step_is_told_on_top_of_the_former_ones(tree_of):
    overlay = Overlay(tree_of(FILES))
    first = after(overlay, Replace("src/a.py", "one", "1"), Move("src/b.py", "lib/b.py")).files()
    assert [(one.kind, one.path) for one in first] == [
        ("create", "lib/b.py"), ("change", "src/a.py"), ("delete", "src/b.py")
    ]  # fmt: skip
    second = after(overlay, Replace("src/a.py", "1", "2"), Create("src/c.py", "c\n")).files()
    assert [(one.kind, one.path, one.content_ref) for one in second] == [
        ("change", "src/a.py", keep(b"2\n")), ("create", "src/c.py", keep(b"c\n"))
    ]  # fmt: skip
    assert second[0].base_blob == blob_id(b"1\n")
    back = after(overlay, Replace("src/a.py", "2", "one")).files()
    assert [(one.path, one.added_lines, one.removed_lines) for one in back] == [("src/a.py", 1, 1)]
    assert "src/a.py" not in [one.path for one in overlay.changes()]


def test_a_blobs_id_is_gits():
    assert blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_what_is_told_as_done_is_held_against_the_steps_own_path(tree_of):
    step, other = plan(steps=steps(("change", "src/a.py"), ("change", "src/b.py"))).file_steps()
    overlay = Overlay(tree_of(FILES))
    beside = after(overlay, Replace("src/test_b.py", "== 1", "== 3"))
    refused = reconciled(step, StepMade("Done."), beside, ())
    assert isinstance(refused, Refused)
    assert refused.reason == "Step 1 was told as done and has changed nothing in src/a.py. Its note: Done."
    seen = reconciled(step, StepMade("Done.", already=frozenset({"src/a.py"})), beside, ())
    assert isinstance(seen, StepChanges) and "already" in seen.nothing_to_do
    elsewhere = StepMade("Done.", already=frozenset({"src/test_b.py"}))
    assert isinstance(reconciled(step, elsewhere, beside, ()), Refused)
    real = reconciled(step, StepMade("Done."), after(overlay, Replace("src/a.py", "one", "1")), ())
    assert isinstance(real, StepChanges) and (real.step, real.nothing_to_do) == (1, "")
    idle = Change(overlay.at_present(), overlay, keep)
    by_other = reconciled(step, StepMade("Done."), idle, (real,))
    assert isinstance(by_other, StepChanges) and "step 1 had changed src/a.py" in by_other.nothing_to_do
    assert isinstance(reconciled(other, StepMade("Done."), idle, (real,)), Refused)


def test_a_credential_is_refused_in_the_step_that_brings_it_and_may_move_with_its_file(tree_of):
    secret = "ghp_" + "a1B2" * 10
    overlay = Overlay(tree_of(FILES | {"src/b.py": f"x = '{secret}'\n".encode()}))
    assert after(overlay, Move("src/b.py", "lib/b.py")).clean() == Allowed()
    verdict = after(overlay, Create("src/c.py", f"y = '{secret[::-1]}'\nz = 'ghp_{'Z9y8' * 10}'\n")).clean()
    assert isinstance(verdict, Refused) and "src/c.py, line 2" in verdict.reason


@pytest.fixture
def mending(tree_of):
    """A plan that changes, creates, moves and deletes; and the overlay after its steps."""
    kinds = ("change", "src/a.py"), ("move", "src/b.py"), ("create", "src/c.py"), ("delete", "tests/test_a.py")
    overlay = Overlay(tree_of(FILES | {"src/old.py": b"old\n", "src/test_a.py": TESTS}))
    edits = Replace("src/a.py", "one", "1"), Move("src/b.py", "lib/b.py"), Create("src/c.py", "c\n")
    assert overlay.apply_all(EVERYWHERE, (*edits, Delete("tests/test_a.py"))) == Allowed()
    return plan(steps=steps(*kinds)), overlay


@pytest.mark.parametrize(
    ("edit", "may"),
    [
        (Replace("src/a.py", "1", "2"), True),
        (Replace("lib/b.py", "two", "2"), True),
        (Replace("src/c.py", "c", "C"), True),
        (Create("src/test_c.py", "def test_c(): pass\n"), True),
        (Replace("src/test_a.py", "assert f() == 1", "pass"), False),
        (Delete("src/test_a.py"), False),
        (Delete("src/a.py"), False),
        (Delete("src/c.py"), False),
        (Create("tests/test_a.py", ""), False),
        (Replace("src/old.py", "old", "new"), False),
        (Create("src/other.py", "x\n"), False),
        (Move("src/a.py", "src/z.py"), False),
    ],
)
def test_a_repair_stays_inside_what_the_steps_did(mending, edit, may):
    of, overlay = mending
    verdict = overlay.apply_all(fence_of(of, overlay), (edit,))
    assert (verdict == Allowed()) is may, verdict


def test_a_repair_takes_away_no_test_that_was_there_whoever_may_touch_its_file(tree_of):
    overlay = Overlay(tree_of(FILES))
    fence = Fence({"tests/test_a.py": "change"})
    last, more = "    assert f() == 2\n", "\n\ndef test_new():\n    pass\n"
    brings = Replace("tests/test_a.py", last, last + more)
    assert overlay.apply_all(fence, (brings,)) == Allowed()
    edits = overlay.begin(fence)
    assert isinstance(edits.replace("tests/test_a.py", "def test_new():\n    pass\n", ""), Applied)
    assert taken("tests/test_a.py", edits, overlay) == []  # What a step brought, a repair may take back.
    assert isinstance(edits.replace("tests/test_a.py", "def test_two():\n    assert f() == 2\n", ""), Applied)
    assert taken("tests/test_a.py", edits, overlay) == ["test_two (tests/test_a.py)"]
    # Nor is it asked to put back what the plan's own step took away.
    takes = Replace("tests/test_a.py", "def test_one():\n    assert f() == 1\n", "")
    assert overlay.apply_all(fence, (takes,)) == Allowed()
    assert taken("tests/test_a.py", overlay.begin(fence), overlay) == []
