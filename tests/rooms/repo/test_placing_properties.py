"""What holds for every edit: placed where it is meant or refused, and nothing but its lines is different afterwards."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.verdict import Refused
from infra.bench.edit import damaged, outcome
from infra.bench.edit_cases import Hunk, Row
from infra.bench.edit_damage import DAMAGES
from worker.repo.difference import unified_diff
from worker.repo.edits import Overlay
from worker.repo.fence import Fence
from worker.repo.filetext import decode
from worker.repo.placed import Placement
from worker.repo.placing import place

CALLS = st.sampled_from(
    ["alpha(beta)", "alpha(gamma)", "if delta == 'one':", 'epsilon("two", 3)', "return zeta", "}", "# eta"]
)
INDENTS = st.sampled_from(["", "    ", "        ", "    ", "        "])
LINES = st.one_of(st.just(""), st.builds(lambda indent, call: indent + call, INDENTS, CALLS))
MANY = st.lists(LINES, min_size=1, max_size=14)


@st.composite
def hunks(draw: st.DrawFn) -> Hunk:
    """A file in which lines often stand twice, and a change of it with up to three lines around."""
    above, below = draw(MANY), draw(MANY)
    gone = draw(st.lists(LINES, max_size=4))
    fresh = draw(st.lists(st.one_of(LINES, st.builds(lambda indent: f"{indent}theta(1)", INDENTS)), max_size=4))
    before, after = above[max(len(above) - draw(st.integers(0, 3)), 0) :], below[: draw(st.integers(0, 3))]
    rows: list[Row] = [(" ", line) for line in before]
    rows += [("-", line) for line in gone] + [("+", line) for line in fresh] + [(" ", line) for line in after]
    return Hunk("a.py", (*above, *gone, *below), len(above) - len(before), tuple(rows))


@pytest.mark.parametrize("name", sorted(DAMAGES))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(hunk=hunks())
def test_a_damaged_edit_is_placed_where_it_is_meant_or_refused(name, hunk):
    if hunk.old == hunk.new:
        return
    edit = damaged(name, hunk)
    if edit is not None:
        assert outcome(edit)[0] != "wrong", edit


RAW = st.text("ab \t(é\r", max_size=5)
ENDING = st.sampled_from(["\n", "\r\n"])


@st.composite
def raw_files(draw: st.DrawFn) -> str:
    lines = draw(st.lists(st.tuples(RAW, ENDING), min_size=1, max_size=9))
    return "".join(line + ending for line, ending in lines) + draw(st.text("ab \t(é", max_size=5))


def diff_lines(diff: str) -> tuple[list[str], list[str]]:
    """The lines taken away and put in, by a unified diff."""
    body = diff.partition("@@")[2].split("\n")
    return [line[1:] for line in body if line.startswith("-")], [line[1:] for line in body if line.startswith("+")]


@settings(max_examples=100, deadline=None)
@given(
    raw=raw_files(),
    start=st.integers(0, 8),
    count=st.integers(1, 4),
    new=st.lists(st.text("abx \té", max_size=5), max_size=5),
)
def test_an_edit_and_then_the_difference_give_exactly_the_intended_lines(tree_of, raw, start, count, new):
    lines = raw.replace("\r\n", "\n").removesuffix("\n").split("\n")
    old = "".join(line + "\n" for line in lines[start : start + count])
    wanted = "".join(line + "\n" for line in new)
    tree = tree_of({"a.txt": raw.encode()})
    overlay = Overlay(tree)
    step = overlay.begin(Fence({"a.txt": "change"}))
    if isinstance(step.replace("a.txt", old, wanted), Refused):
        return
    step.keep()
    gone, put = diff_lines(unified_diff(tree, overlay.changes()))
    # Where the last line goes, the one before it is the last and ends as that did: without a newline.
    above = set() if raw.endswith("\n") else {*map(bare, lines[:start][-1:])}
    assert set(map(bare, gone)) <= {*map(bare, lines[start : start + count])} | above
    assert set(map(bare, put)) <= {*map(bare, new)} | above


def bare(line: str) -> str:
    return line.rstrip("\r")


@settings(max_examples=100, deadline=None)
@given(
    raw=raw_files(),
    start=st.integers(0, 8),
    count=st.integers(0, 4),
    new=st.lists(st.text("abx", max_size=3), max_size=4),
)
def test_splices_keep_every_byte_outside_of_them_and_the_end_of_the_file(raw, start, count, new):
    text = decode("a.txt", raw.encode())
    assert not isinstance(text, Refused)
    placed = place(
        text.plain, "".join(line + "\n" for line in text.plain.split("\n")[start : start + count]), "x\n".join(new)
    )
    if not isinstance(placed, Placement):
        return
    after = text.spliced(placed.splices).raw
    first, last = placed.splices[0].start, placed.splices[-1].end
    lines = raw.split("\n")
    assert after.startswith("".join(line + "\n" for line in lines[:first]).rstrip("\r\n"))
    assert after.endswith("\n".join(lines[last:]) if last < len(lines) - 1 else "")
    emptied_last = not raw.endswith("\n") and last == len(lines) and not lines[first - 1].strip("\r")
    assert not after or emptied_last or after.endswith("\n") == raw.endswith("\n")
