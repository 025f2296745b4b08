"""What a test runner says of its own run: how many tests it ran, how many failed, and which.

Read from the summaries that the common runners print. What none of them printed is not known, and is not guessed.

A summary is a claim of the process that printed it, and tests are code of the same process: one that wants to can print
what its runner would. So where the command says which runner it is, no other's summary counts for it, and the last or
the least of its own does. Code that takes the place of the runner itself, by ending the process with status 0 behind a
summary of its own, is not told from it here: reviewers are told of what a change prints and ends.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from worker.evidence.distillers.cleaning import plain_output

MOST_NAMED = 200
_MOST_CHARACTERS = 8_000_000
"""Of the end of an output: summaries stand there."""


@dataclass(frozen=True, slots=True)
class Tally:
    """`ran` and `failed` are None where no summary was found. `failing` names what failed, in the runner's words,
    and `errors` the kinds of errors that are spoken of, as most languages name them, each once."""

    ran: int | None = None
    failed: int | None = None
    failing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


class Runner(StrEnum):
    """Those that end with a summary, whatever the project is."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    GO = "go"
    CARGO = "cargo"


def tally(output: str, by: Runner | None = None) -> Tally:
    """The sum over all summaries, or over those of one runner; of pytest, which may show those of inner runs, only the
    last. Of several by unittest, which come in no sure order, the least that ran counts."""
    text = plain_output(output[-_MOST_CHARACTERS:])
    found = [counted for runner in (_RUNNERS if by is None else (_OWN[by],)) for counted in runner(text)]
    names = tuple(dict.fromkeys(_named(text)))
    if not found:
        return Tally(failing=names[:MOST_NAMED], errors=_kinds(text))
    ran = min(ran for ran, _ in found) if by is Runner.UNITTEST else sum(ran for ran, _ in found)
    return Tally(ran, sum(failed for _, failed in found), names[:MOST_NAMED], _kinds(text))


_KIND = re.compile(r"\b[A-Z][A-Za-z0-9]{0,60}(?:Error|Exception|Failure)\b")
_MOST_KINDS = 100


def _kinds(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(match[0] for match in _KIND.finditer(text)))[:_MOST_KINDS]


_Counted = tuple[int, int]
"""Tests that ran, and those of them that failed."""


def _number(match: re.Match[str], *names: str) -> int:
    return sum(int(match[name] or 0) for name in names)


_PYTEST = re.compile(
    r"^(?:=+ )?(?:no tests (?:ran|collected)|\d+ \w+)(?:, \d+ [\w ]+)* in [\d.]+ ?s.*$|^=+ no tests ran.*$",
    re.MULTILINE,
)
_PROGRESS = re.compile(r"^([.sxXFERu,-]+) +\[ *(\d+)%\]$", re.MULTILINE)
"""All that it prints where it was told twice to be quiet, as where a project's own settings say so besides."""
_WORD = re.compile(r"(\d+) (passed|failed|errors?|xfailed|xpassed)\b")


def _pytest(text: str) -> Iterator[_Counted]:
    summaries = [match[0] for match in _PYTEST.finditer(text)]
    for line in summaries[-1:]:
        counts = {word.removesuffix("s"): int(number) for number, word in _WORD.findall(line)}
        yield sum(counts.values()), counts.get("failed", 0) + counts.get("error", 0)
    lines = _PROGRESS.findall(text)
    if not summaries and lines and lines[-1][1] == "100":
        signs = "".join(signs for signs, _ in lines)
        yield sum(map(signs.count, ".xXFE")), signs.count("F") + signs.count("E")


def _by(
    pattern: str, ran: Callable[[re.Match[str]], int], failed: Callable[[re.Match[str]], int]
) -> Callable[[str], Iterator[_Counted]]:
    form = re.compile(pattern, re.MULTILINE)

    def read(text: str) -> Iterator[_Counted]:
        for match in form.finditer(text):
            yield ran(match), failed(match)

    return read


_UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\s+^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?", re.MULTILINE)


def _unittest(text: str) -> Iterator[_Counted]:
    for ran, words in _UNITTEST.findall(text):
        counts = {name.strip(): int(number) for name, number in re.findall(r"([a-z ]+)=(\d+)", words)}
        failed = counts.get("failures", 0) + counts.get("errors", 0)
        yield int(ran) - counts.get("skipped", 0), failed


def _listed(pattern: str) -> Callable[[str], Iterator[_Counted]]:
    """Summaries as `Tests: 1 failed, 2 passed, 3 total`, in any order."""
    form = re.compile(pattern, re.MULTILINE)

    def read(text: str) -> Iterator[_Counted]:
        for match in form.finditer(text):
            counts = {word: int(number) for number, word in re.findall(r"(\d+) (failed|passed)", match[0])}
            yield sum(counts.values()), counts.get("failed", 0)

    return read


def _mocha(text: str) -> Iterator[_Counted]:
    for match in re.finditer(r"^\s*(\d+) passing\b.*$(?:\n\s*\d+ pending)?(?:\n\s*(\d+) failing)?", text, re.MULTILINE):
        yield int(match[1]) + int(match[2] or 0), int(match[2] or 0)


def _go(text: str) -> Iterator[_Counted]:
    """Packages: Go prints no number of tests without -v."""
    ok = len(re.findall(r"^ok[ \t]+\S+\t(?!.*\[no tests to run\])", text, re.MULTILINE))
    bad = len(re.findall(r"^FAIL\t\S+", text, re.MULTILINE))
    empty = re.search(r"^\?[ \t]+\S+\t\[no test files\]|\[no tests to run\]", text, re.MULTILINE)
    if ok or bad or empty:
        yield ok + bad, bad


def _tap(text: str) -> Iterator[_Counted]:
    """A plan of its own (`1..3`) with its lines at the left; what is to do or skipped counts as neither."""
    if not re.search(r"^1\.\.\d+", text, re.MULTILINE) or re.search(r"^# (?:tests|pass) \d+", text, re.MULTILINE):
        return
    lines = re.findall(r"^(not ok|ok)\b(?!.*# (?:SKIP|TO[D]O))", text, re.MULTILINE | re.IGNORECASE)
    yield len(lines), sum(line.lower() == "not ok" for line in lines)


_cargo = _by(
    r"^test result: \w+\. (?P<ok>\d+) passed; (?P<bad>\d+) failed;",
    lambda m: _number(m, "ok", "bad"),
    lambda m: _number(m, "bad"),
)
_OWN: Mapping[Runner, Callable[[str], Iterator[_Counted]]] = {
    Runner.PYTEST: _pytest,
    Runner.UNITTEST: _unittest,
    Runner.GO: _go,
    Runner.CARGO: _cargo,
}

_RUNNERS: tuple[Callable[[str], Iterator[_Counted]], ...] = (
    _pytest,
    _unittest,
    _listed(r"^Tests:\s+.*\btotal$"),
    _listed(r"^\s*Tests\s+.*\(\d+\)$"),
    _mocha,
    _go,
    _tap,
    _by(
        r"^(?:#|ℹ) tests (?P<all>\d+)\n(?:.*\n){0,3}?(?:#|ℹ) pass (?P<ok>\d+)\n(?:#|ℹ) fail (?P<bad>\d+)",
        lambda m: _number(m, "ok", "bad"),
        lambda m: _number(m, "bad"),
    ),
    _cargo,
    _by(
        r"^\d+% tests passed, (?P<bad>\d+) tests? failed out of (?P<all>\d+)",
        lambda m: _number(m, "all"),
        lambda m: _number(m, "bad"),
    ),
    _by(r"^No tests were found!!!$|^No tests executed!$|^No tests? found,? exiting", lambda m: 0, lambda m: 0),
    _by(
        r"^(?:\[\w+\] )?Tests run: (?P<all>\d+), Failures: (?P<bad>\d+), Errors: (?P<worse>\d+), "
        r"Skipped: (?P<left>\d+)$",
        lambda m: int(m["all"]) - int(m["left"]),
        lambda m: _number(m, "bad", "worse"),
    ),
    _by(
        r"^(?P<all>\d+) tests? completed(?:, (?P<bad>\d+) failed)?",
        lambda m: _number(m, "all"),
        lambda m: _number(m, "bad"),
    ),
    _by(r"^OK \((?P<all>\d+) tests?, \d+ assertions?\)", lambda m: _number(m, "all"), lambda m: 0),
    _by(
        r"^Tests: (?P<all>\d+), Assertions: \d+(?:, Errors: (?P<worse>\d+))?(?:, Failures: (?P<bad>\d+))?",
        lambda m: _number(m, "all"),
        lambda m: _number(m, "bad", "worse"),
    ),
    _by(
        r"^(?P<all>\d+) examples?, (?P<bad>\d+) failures?",
        lambda m: _number(m, "all"),
        lambda m: _number(m, "bad"),
    ),
    _by(
        r"^(?:Passed|Failed)!\s+- Failed:\s+(?P<bad>\d+), Passed:\s+(?P<ok>\d+)",
        lambda m: _number(m, "ok", "bad"),
        lambda m: _number(m, "bad"),
    ),
    _by(
        r"^# TOTAL: (?P<all>\d+)\n# PASS:\s+\d+\n# SKIP:\s+(?P<left>\d+)\n# XFAIL:\s+\d+\n# FAIL:\s+(?P<bad>\d+)",
        lambda m: int(m["all"]) - int(m["left"]),
        lambda m: _number(m, "bad"),
    ),
)

_NAMED = re.compile(
    r"^(?:FAILED|ERROR) (?P<pytest>\S+::\S+|\S+\.py\b)"
    r"|^(?:FAIL|ERROR): (?P<unittest>\S+ \(\S+\))"
    r"|^FAIL: (?P<automake>[\w./-]+)$"
    r"|^\s*--- FAIL: (?P<go>\S+)"
    r"|^FAIL\t(?P<package>\S+ \[\w+ failed\])$"
    r"|^test (?P<cargo>\S+) \.\.\. FAILED$"
    r"|^\s*● (?P<jest>(?!Console$)\S.*)$"
    r"|^\s*not ok \d+ (?:- )?(?P<tap>(?!.*# (?:SKIP|TO[D]O))\S.*)$"
    r"|^\s*(?:FAIL|×) +(?P<vitest>\S+ > .*)$"
    r"|^\s*FAIL +(?P<file>\S+\.[cm]?[jt]sx?)(?: [(\[].*)?$"
    r"|^rspec (?P<rspec>\S+:\d+)"
    r"|^\s*\d+ - (?P<ctest>\S+) \(Failed\)$",
    re.MULTILINE,
)


_SUMMARY = re.compile(r"^=+ short test summary info =+$", re.MULTILINE)


def _named(text: str) -> Iterator[str]:
    """Of pytest only its own summary: what tests printed may show the words of an inner run."""
    summary = max((match.start() for match in _SUMMARY.finditer(text)), default=-1)
    for match in _NAMED.finditer(text):
        if not match["pytest"] or match.start() > summary:
            yield next(name for name in match.groups() if name)[:300].strip()
