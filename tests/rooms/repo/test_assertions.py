"""Assertions that a change takes out of a test are seen, in the forms of the common frameworks."""

import pytest

from app.core.verdict import Allowed, Refused
from worker.repo.assertions import as_strict, told, weakened

PATH = "tests/test_a.py"


@pytest.mark.parametrize(
    "line",
    [
        "assert f() == 1", "self.assertEqual(f(), 1)", "expect(f()).toBe(1);", "f().should.equal(1)",
        't.Errorf("got %d", got)', "require.Equal(t, 1, f())", "assert_eq!(f(), 1);", "with pytest.raises(KeyError):",
        "EXPECT_EQ(1, f());", 'test "$out" = "hello"', "[ $status -eq 0 ]", 'grep -q hello out || exit 1',
    ],
)  # fmt: skip
def test_an_assertion_that_goes_or_becomes_a_comment_is_missed(line: str) -> None:
    before = f"def test_one():\n    {line}\n    other()\n".encode()
    ways = ("other()", f"# {line}", f"pass  # {line}", f"x = 1; // {line}")
    for after in (before.replace(line.encode(), way.encode()) for way in ways):
        refused = as_strict(PATH, before, after)
        assert isinstance(refused, Refused) and line in refused.reason and "does not name" in refused.reason
        assert told(PATH, before, after) == f"The test `{PATH}` asserts `{line}` no longer."
    assert as_strict(PATH, before, before.replace(b"    ", b"\t") + b"    assert more\n") == Allowed()


@pytest.mark.parametrize(
    "line", ["@pytest.mark.skip", "@unittest.skip('x')", "it.skip('a', () => {", "t.Skip()", "#[ignore]", "@Disabled"]
)
def test_what_is_newly_skipped_is_seen_and_what_was_skipped_is_not(line: str) -> None:
    test = "def test_one():\n    assert f() == 1\n"
    skipped = f"{line}\n{test}"
    assert isinstance(as_strict(PATH, test.encode(), skipped.encode()), Refused)
    assert f"newly skips by `{line}`" in told(PATH, test.encode(), skipped.encode())
    assert as_strict(PATH, skipped.encode(), test.encode()) == Allowed()
    assert told(PATH, skipped.encode(), skipped.encode() + b"    assert g()\n") == ""


def test_an_assertion_that_became_another_is_told_and_left_to_who_reads_it() -> None:
    before, after = b"assert f() == 1\nassert g()\n", b"assert g()\nassert f() == 2\n"
    assert weakened(before, after).gone == ("assert f() == 1",)
    assert as_strict(PATH, before, after) == Allowed()
    assert told(PATH, before, after) == f"The test `{PATH}` asserts `assert f() == 1` no longer."
    many = told(PATH, b"assert a\n" * 5, b"")
    assert many.count("`assert a`") == 3 and "and 2 more" in many
