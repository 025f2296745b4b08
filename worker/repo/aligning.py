"""Two texts side by side: which lines are in both, in the same order, and as many as can be.

A longest common subsequence with one bit for each line of the second text, so that a thousand scattered changes of a
long file cost no more than one. What is too large even for that is first divided at lines that both texts have once.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

MOST_BITS = 1_000_000_000
"""Lines of the one times lines of the other: 125 MB."""

Opcode = tuple[str, int, int, int, int]


def opcodes(before: Sequence[str], after: Sequence[str]) -> list[Opcode]:
    """`equal`, `delete`, `insert` and `replace` over all lines of both, as `difflib` writes them."""
    out: list[Opcode] = []
    i = j = 0
    for left, right, size in [*_blocks(_pairs(before, after)), (len(before), len(after), 0)]:
        if i < left or j < right:
            tag = "delete" if j == right else "insert" if i == left else "replace"
            out.append((tag, i, left, j, right))
        if size:
            out.append(("equal", left, left + size, right, right + size))
        i, j = left + size, right + size
    return out


def _blocks(pairs: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Runs of pairs that follow one another in both."""
    start: tuple[int, int] | None = None
    size = 0
    for left, right in pairs:
        if start is not None and (left, right) == (start[0] + size, start[1] + size):
            size += 1
            continue
        if start is not None:
            yield (*start, size)
        start, size = (left, right), 1
    if start is not None:
        yield (*start, size)


def _pairs(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The numbers of lines that are the same, rising in both."""
    head = 0
    most = min(len(before), len(after))
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    yield from ((number, number) for number in range(head))
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    inner = _longest if len(left) * len(right) <= MOST_BITS else _divided
    yield from ((i + head, j + head) for i, j in inner(left, right))
    yield from ((len(before) - tail + n, len(after) - tail + n) for n in range(tail))


def _longest(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A longest common subsequence.

    A bit of a row is 0 where one more line of `after` makes the subsequence longer by one.
    """
    where: dict[str, int] = {}
    for number, line in enumerate(after):
        where[line] = where.get(line, 0) | 1 << number
    every = (1 << len(after)) - 1
    row = every
    rows = []
    for line in before:
        both = row & where.get(line, 0)
        row = (row + both | row - both) & every
        rows.append(row)
    out = []
    i, j = len(before) - 1, len(after) - 1
    while i >= 0 and j >= 0:
        if rows[i] >> j & 1:
            j -= 1
        elif before[i] != after[j]:
            i -= 1
        else:
            out.append((i, j))
            i, j = i - 1, j - 1
    return reversed(out)


def _divided(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Divided at lines that both have once and that are in the same order; without any, nothing is the same."""
    ends = [*_landmarks(before, after), (len(before), len(after))]
    i = j = 0
    for left, right in ends if len(ends) > 1 else []:
        yield from ((a + i, b + j) for a, b in _pairs(before[i:left], after[j:right]))
        if left < len(before):
            yield left, right
        i, j = left + 1, right + 1


def _landmarks(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The longest rising run of lines that are single in both."""
    counts, others = Counter(before), Counter(after)
    place = {line: number for number, line in enumerate(after)}
    pairs = [(i, place[line]) for i, line in enumerate(before) if counts[line] == 1 and others[line] == 1]
    lasts: list[int] = []
    chain: list[int] = []
    previous: list[int] = []
    for number, (_, j) in enumerate(pairs):
        at = bisect_left(lasts, j)
        lasts[at : at + 1] = [j]
        chain[at : at + 1] = [number]
        previous.append(chain[at - 1] if at else -1)
    out = []
    number = chain[-1] if chain else -1
    while number >= 0:
        out.append(pairs[number])
        number = previous[number]
    return out[::-1]
