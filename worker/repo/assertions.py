"""What a change takes out of a test: assertions that stood there and do not stand there now, and new skips.

Read line by line, in the forms that the common frameworks have. What it does not know it does not see: an assertion
that only became another one is told, and whether it is as strict is for who reads it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.paths import shown
from app.core.verdict import Allowed, Refused, Verdict

_ASSERTS = re.compile(
    r"\bassert|\bASSERT_|\bEXPECT_|\bexpect\w*\s*[(.]|\.should\b|\bshould\.|\brequire\.\w+\(|\bXCTAssert"
    r"|\b[tb]\.(?:Error|Fatal|Fail)\w*\(|\bpytest\.(?:raises|warns)\b|\bself\.fail\(|\bCHECK\w*\("
    r"|^(?:test|grep|diff|cmp|\[\[?)\s|(?:\|\||&&)\s*(?:exit|return|fail)\b"
)
_SKIPS = re.compile(
    r"\bpytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\b|@(?:unittest\.)?(?:skip\w*|expectedFailure)\b"
    r"|\b(?:it|test|describe)\.(?:skip|todo)\b|\b(?:xit|xdescribe|xtest)\s*\(|\b[tb]\.Skip\w*\(|#\[ignore\b"
    r"|@(?:Disabled|Ignore)\b|\bGTEST_SKIP\b|\bself\.skipTest\("
)
_REMARK = re.compile(r"\s(?:#(?!\[)|//)\s.*")
_COMMENT = ("#", "//", "*", "/*", "--", ";")
_SHOWN = 3
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Weakened:
    """`gone` are lines with assertions, `fewer` how many more of them went than came, `skips` new lines that skip."""

    gone: tuple[str, ...]
    fewer: int
    skips: tuple[str, ...]


def weakened(before: bytes, after: bytes) -> Weakened:
    """What the second text lacks of the first one. A line that only moved or was indented is not gone."""
    was, now = _lines(before), _lines(after)
    gone = Counter(line for line in was if _asserts(line))
    come = Counter(line for line in now if _asserts(line))
    skips = Counter(line for line in now if _SKIPS.search(line)) - Counter(line for line in was if _SKIPS.search(line))
    fewer = gone.total() - come.total()
    return Weakened(tuple((gone - come).elements()), max(fewer, 0), tuple(skips.elements()))


def as_strict(path: str, before: bytes, after: bytes) -> Verdict:
    """Refused where fewer assertions stand in the test than before, or something in it is newly skipped."""
    found = weakened(before, after)
    if not found.fewer and not found.skips:
        return Allowed()
    what = f"takes out {_quoted(found.gone)}" if found.fewer else f"skips by {_quoted(found.skips)}"
    return Refused(
        f"{shown(path)} is a test that the plan does not name, and the change {what}.",
        "Only a plan that names the file may loosen it.",
    )


def told(path: str, before: bytes, after: bytes) -> str:
    """What a reader should know of a test that was changed; empty where everything that it asserted still stands."""
    found = weakened(before, after)
    words = [f"asserts {_quoted(found.gone)} no longer"] if found.gone else []
    words += [f"newly skips by {_quoted(found.skips)}"] if found.skips else []
    return f"The test `{path}` {' and '.join(words)}." if words else ""


def _asserts(line: str) -> bool:
    """What only a remark behind other code says is asserted by nothing."""
    return bool(_ASSERTS.search(_REMARK.sub("", line)))


def _lines(content: bytes) -> list[str]:
    return list(_code(content.decode("utf-8", "replace")))


def _code(text: str) -> Iterator[str]:
    for line in text.splitlines():
        stripped = line.strip()
        # An attribute of Rust begins as a comment of others does.
        if stripped and (not stripped.startswith(_COMMENT) or stripped.startswith("#[")):
            yield stripped


def _quoted(lines: tuple[str, ...]) -> str:
    shown_ = ", ".join(f"`{line[:_LONGEST]}`" for line in lines[:_SHOWN])
    return f"{shown_} and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else shown_
