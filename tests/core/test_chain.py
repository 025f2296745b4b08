"""A chain of lines: whole as it was written, and broken at the first line that somebody touched."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.chain import FORMAT, Broken, Whole, chained, verified

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.text(alphabet="\ud800\udfffa\\\n"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def written(records, behind=None):
    return [line + b"\n" for line in chained(records, behind or Whole())]


def a_log(count=6):
    return written([{"type": "log", "id": "log", "format": FORMAT}, *({"id": str(n), "a": n} for n in range(count))])


@given(st.lists(VALUES, max_size=5), st.integers(0, 5))
def test_what_was_written_is_whole_whatever_it_holds_and_however_often_it_was_gone_on_with(values, cut):
    records = [{"id": "log", "format": FORMAT}, *({"id": str(n), "value": value} for n, value in enumerate(values))]
    first = written(records[: cut + 1])
    behind = verified(first)
    assert isinstance(behind, Whole)
    both = first + written(records[cut + 1 :], behind)
    assert both == written(records)
    whole = verified(both)
    assert isinstance(whole, Whole) and whole.lines == len(records) and whole.ids == {one["id"] for one in records}
    assert json.loads(both[-1])["hash"] == whole.last


def changed(line, **what):
    return json.dumps(json.loads(line) | what, separators=(",", ":"), sort_keys=True).encode() + b"\n"


HARMS = {
    "a value changed": lambda log: [*log[:2], changed(log[2], a=99), *log[3:]],
    "a value changed and its own hash with it": lambda log: [
        *log[:2], *written([{"id": "1", "a": 99}], Whole(2, json.loads(log[1])["hash"])), *log[3:]
    ],
    "a line left out": lambda log: [*log[:2], *log[3:]],
    "two lines exchanged": lambda log: [*log[:2], log[3], log[2], *log[4:]],
    "a line told twice": lambda log: [*log[:2], log[1], *log[2:]],
    "a line put in": lambda log: [*log[:2], *written([{"id": "x"}]), *log[2:]],
    "no JSON": lambda log: [*log[:2], b"{\n", *log[3:]],
    "no object": lambda log: [*log[:2], b"[]\n", *log[3:]],
    "blanks": lambda log: [*log[:2], log[2].replace(b",", b", "), *log[3:]],
    "the same key twice": lambda log: [*log[:2], log[2].replace(b'{"a":1', b'{"a":0,"a":1'), *log[3:]],
    "a line that was cut short": lambda log: [*log[:2], log[2][:-1]],
}


@pytest.mark.parametrize("harm", HARMS)
def test_every_change_breaks_the_chain_where_it_was_made(harm):
    broken = verified(HARMS[harm](a_log()))
    assert isinstance(broken, Broken)
    # Whoever changes a line and its hash is found at the next one.
    assert broken.line == (4 if "its own hash" in harm else 3)


def test_a_log_that_lost_its_beginning_or_is_another_one_is_none():
    assert isinstance(verified(a_log()[1:]), Broken)
    assert verified(written([{"id": "log", "format": "other/1"}])) == Broken(
        1, f"it does not begin a log of the form {FORMAT}."
    )
    assert verified([]) == Whole()
