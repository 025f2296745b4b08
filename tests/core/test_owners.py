"""Code owners as GitHub reads them, and the patterns that they share with policies."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.owners import MAX_BYTES, Owned, is_owner, owned, read_code_owners, teams_of
from app.core.pattern import Pattern, read_pattern
from app.core.verdict import Refused

PAGE = b"""\
# This is a comment.
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment. @nobody
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/*  docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/ @octocat
/apps/github
"""
"""One file with the forms that GitHub's page "About code owners" explains, in its order."""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("some/deep/file.rb", ("@global-owner1", "@global-owner2")),
        ("lib/a.js", ("@js-owner",)),
        ("a.go", ("docs@example.com",)),
        ("x/y.txt", ("@octo-org/octocats",)),
        ("build/logs/a/b", ("@octocat",)),
        ("docs/a.md", ("@doctocat",)),
        ("apps/x/a.js", ("@octocat",)),
        ("lib/apps/x.js", ("@octocat",)),
        ("scripts/x", ("@doctocat", "@octocat")),
        ("deeply/nested/logs/x", ("@octocat",)),
        ("apps/github", ()),
        ("apps/github/x.js", ()),
        ("apps/github.txt", ("@octocat",)),
    ],
)
def test_the_last_line_that_fits_decides(path: str, owners: tuple[str, ...]) -> None:
    assert read_code_owners(PAGE).of(path) == owners


@pytest.mark.parametrize(
    ("line", "owns", "not_owns"),
    [
        ("docs/*", ["docs/a.md"], ["docs/a/b.md", "x/docs/a.md"]),
        ("/*", ["a"], ["a/b"]),
        ("*", ["a", "a/b"], []),
        ("docs/**", ["docs/a", "docs/a/b"], ["docs"]),
        ("a/**/b", ["a/b", "a/x/y/b", "a/b/c"], ["b", "x/a/b"]),
        ("**/b", ["b", "a/b", "a/b/c"], ["ab"]),
        ("logs/", ["logs/x", "a/logs/x"], ["logs", "a/logs"]),
        ("/logs", ["logs", "logs/x"], ["a/logs"]),
        ("*.js", ["a.js", "x/a.js", "x.js/y"], ["a.jsx", "js"]),
        ("a?c", ["abc", "x/abc"], ["ac", "a/c"]),
        (r"my\ file.md", ["my file.md"], ["my"]),
        (r"a\*b", ["a*b"], ["axb"]),
        ("A.md", ["A.md"], ["a.md"]),
        ("ä.md", ["ä.md"], ["a\u0308.md"]),
    ],
)
def test_a_pattern_owns_what_it_names(line: str, owns: list[str], not_owns: list[str]) -> None:
    owners = read_code_owners(f"{line} @o\n".encode())
    assert owners.skipped == ()
    assert [path for path in owns if not owners.of(path)] == []
    assert [path for path in not_owns if owners.of(path)] == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("!a.md @o", "`!` does not take paths out"),
        ("*.[ch] @o", "`[` and `]` mean nothing"),
        (r"\#a @o", "escaped `#`"),
        ("a.md @o nobody", "`nobody` is no user, team or address"),
        ("a.md @", "is no user"),
        ("a.md @a/b/c", "is no user"),
        ("/ @o", "names nothing"),
        ("a//b @o", "names nothing"),
        ("../a @o", "names nothing"),
        ("a\\", "a backslash stands at its end"),
    ],
)
def test_a_line_that_github_calls_invalid_is_skipped_and_the_one_before_it_decides(line: str, why: str) -> None:
    owners = read_code_owners(f"* @first\n{line}\n".encode())
    assert [number for number, _ in owners.skipped] == [2]
    assert why in owners.skipped[0][1]
    assert owners.of("a.md") == owners.of("x.c") == ("@first",)


def test_line_ends_blank_lines_and_bytes_that_are_no_text_do_no_harm() -> None:
    owners = read_code_owners(b"\r\n  * @a\t@b  \r\n\xff\xfe @c\n   # no\n")
    assert owners.of("x") == ("@a", "@b")


def test_a_file_that_is_too_large_owns_nothing_and_says_so() -> None:
    owners = read_code_owners(b"* @a\n" + b"#" * MAX_BYTES)
    assert owners.of("x") == ()
    assert "larger than" in owners.skipped[0][1]


def test_paths_are_put_together_by_their_owners() -> None:
    found = owned(read_code_owners(PAGE), ["a.js", "x/y.txt", "b.js", "apps/github/x", "z.txt"])
    assert found == (
        Owned(path="a.js", count=2, owners=("@js-owner",)),
        Owned(path="x/y.txt", count=2, owners=("@octo-org/octocats",)),
    )
    assert teams_of(found) == ("octo-org/octocats",)


@pytest.mark.parametrize(
    ("login", "teams", "owner"),
    [
        ("Mira", (), True),
        ("mirabelle", (), False),
        ("otto", ("Acme/Core",), True),
        ("otto", ("other/core",), False),
        ("core", (), False),
        ("mira@example.org", (), False),
    ],
)
def test_an_owner_is_known_by_login_or_team_and_never_by_an_address(
    login: str, teams: tuple[str, ...], owner: bool
) -> None:
    part = Owned(path="a", count=1, owners=("@mira", "@acme/core", "mira@example.org"))
    assert is_owner(part, login, teams) is owner


# -- patterns, against a plain reading of the rules ----------------------------------------------------------------

PARTS = st.lists(st.sampled_from(["*", "**", "?", "a", "b", "ab", "a*", "*b", "a*b*", "x"]), min_size=1, max_size=4)
PATTERNS = st.builds(
    lambda parts, before, after: f"{before}{'/'.join(parts)}{after}",
    PARTS,
    st.sampled_from(["", "/"]),
    st.sampled_from(["", "/"]),
)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "aab", "x", "abab"]), min_size=1, max_size=4).map("/".join)


def plainly(pattern: str, path: str) -> bool:
    """The rules as one regular expression: slow where it is unlucky, and easy to read."""
    inner, out = pattern.strip("/"), ""
    parts = inner.split("/") if "/" in pattern[:-1] else ["**", *inner.split("/")]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            out += ".+" if last else "(?:[^/]+/)*"
        else:
            out += re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") + ("" if last else "/")
    ending = "/.*" if pattern.endswith("/") else "(?:/.*)?"
    return re.fullmatch(f"{out}{ending}", path) is not None


def known(text: str) -> Pattern:
    pattern = read_pattern(text)
    assert isinstance(pattern, Pattern)
    return pattern


@given(PATTERNS, PATHS)
def test_a_pattern_matches_as_the_rules_say(pattern: str, path: str) -> None:
    assert known(pattern).matches(path) is plainly(pattern, path)


@given(PATTERNS, PATHS, PATHS)
def test_what_is_below_a_path_that_matches_matches_as_well(pattern: str, path: str, below: str) -> None:
    if known(pattern).matches(path):
        assert known(pattern).matches(f"{path}/{below}")


@given(st.text(max_size=30), PATHS)
def test_any_text_is_a_pattern_or_has_a_reason_not_to_be(text: str, path: str) -> None:
    pattern = read_pattern(text)
    if isinstance(pattern, Refused):
        assert pattern.reason
    else:
        assert pattern.matches(path) in (True, False) and pattern.owns(path) in (True, False)


@given(st.binary(max_size=200), PATHS)
def test_any_bytes_are_a_file_of_owners(content: bytes, path: str) -> None:
    assert isinstance(read_code_owners(content).of(path), tuple)


def test_a_pattern_that_could_be_tried_in_ever_so_many_ways_is_tried_in_few() -> None:
    """With one way after another this would not end."""
    pattern = known("/".join(["**", "*a*a*a*a*a*a*a*b"] * 20))
    assert not pattern.matches("/".join(["a" * 200] * 60))
    assert pattern.matches("/".join(["a" * 200 + "b"] * 60))
