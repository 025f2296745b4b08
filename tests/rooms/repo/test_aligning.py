"""Two texts side by side: as many lines as can be are the same, and nothing of either text is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from worker.repo import aligning
from worker.repo.aligning import opcodes
from worker.repo.difference import changed_lines

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "only once"]), max_size=12)


def longest(before: list[str], after: list[str]) -> int:
    """The plain table of the textbook."""
    row = [0] * (len(after) + 1)
    for line in before:
        above = row
        row = [0]
        for number, other in enumerate(after):
            row.append(above[number] + 1 if line == other else max(above[number + 1], row[number]))
    return row[-1]


def same(before: list[str], after: list[str]) -> int:
    return sum(i2 - i1 for tag, i1, i2, _, _ in opcodes(before, after) if tag == "equal")


@settings(max_examples=150, deadline=None)
@given(before=LINES, after=LINES)
def test_the_opcodes_cover_both_texts_and_keep_as_many_lines_as_can_be(before, after):
    at, out = (0, 0), []
    for tag, i1, i2, j1, j2 in opcodes(before, after):
        assert (i1, j1) == at
        assert tag == {(True, True): "replace", (True, False): "delete", (False, True): "insert"}[i2 > i1, j2 > j1] or (
            tag == "equal" and before[i1:i2] == after[j1:j2]
        )
        out += after[j1:j2]
        at = (i2, j2)
    assert at == (len(before), len(after))
    assert out == after
    assert same(before, after) == longest(before, after)


@settings(max_examples=100, deadline=None)
@given(before=LINES, after=LINES)
def test_texts_that_are_divided_first_lose_nothing_either(before, after):
    pairs = list(aligning._divided(before, after))
    assert pairs == sorted(set(pairs))
    assert [j for _, j in pairs] == sorted({j for _, j in pairs})
    assert all(before[i] == after[j] for i, j in pairs)


def test_the_lines_of_a_text_full_of_the_same_lines_are_counted_as_they_are():
    before = [f"    x = {number % 5}\n" for number in range(2_000)]
    after = ["changed\n" if number % 40 == 0 else line for number, line in enumerate(before)]
    assert changed_lines("".join(before).encode(), "".join(after).encode()) == (50, 50)


def test_what_is_too_large_to_compare_whole_is_divided_at_lines_that_are_there_once():
    before = [f"{number}\n" for number in range(60_000)]
    after = [f"new {number}\n" if number in (9, 30_000) else line for number, line in enumerate(before)]
    after.insert(40_000, "more\n")
    assert len(before) * len(after) > aligning.MOST_BITS
    assert changed_lines("".join(before).encode(), "".join(after).encode()) == (3, 2)
