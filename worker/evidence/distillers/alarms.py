"""Lines that speak of something that went wrong, in any output."""

import re
from bisect import bisect_right
from itertools import accumulate

_WORDS = [
    "error",
    "fail",
    "fatal",
    "exception",
    "panic",
    "cannot",
    "can't",
    "couldn't",
    "undefined",
    "denied",
    "refused",
    "timeout",
    "abort",
    "assert",
    "unexpected",
    "invalid",
    "missing",
    "killed",
    "conflict",
    "unsafe",
    "unresolved",
    "unsupported",
    "mismatch",
    "unknown",
    "unreachable",
    "crash",
    "rejected",
    "illegal",
    "segmentation",
    "✗",
    "✘",
    "✖",
    "×",
]
_PHRASES = (
    "could not",
    "unable to",
    "not found",
    "no such",
    "timed out",
    "went wrong",
    "not allowed",
    "not permitted",
    "no space left",
    "out of memory",
    "does not exist",
)
_ALARMS = (*_WORDS, *_PHRASES)
_CALM_WORDS = [
    "ignored",
    "passed",
    "info",
    "debug",
    "trace",
    "checking",
    "downloading",
    "installing",
    "extracting",
    "unpacking",
    "preparing",
    "selecting",
    "compiling",
    "collecting",
    "-werror",
]
_CALM = re.compile(
    r"\b(?:0|no) (?:error|fail|conflict)|(?:error|fail|skip)[a-z ]{0,40}[:=] ?0\b|\bok\b|[:=]\s*0$|^\s*[✓✔√]"
)


def alarmed_lines(lines: list[str]) -> set[int]:
    """The numbers of the lines that hold a word for something that went wrong.

    Whole batches are searched for each word, which is many times faster than each line for all words.
    """
    if not lines:
        return set()
    text = "\n".join(lines).lower()
    ends = list(accumulate(len(line) + 1 for line in lines))
    if len(text) + 1 != ends[-1]:
        # A few letters are longer when they are small.
        ends = list(accumulate(len(line.lower()) + 1 for line in lines))
    found: set[int] = set()
    for word in _ALARMS:
        at = text.find(word)
        while at >= 0:
            number = bisect_right(ends, at)
            found.add(number)
            at = text.find(word, ends[number])
    return found


def is_calm(lowered: str) -> bool:
    """Whether a line with such a word says that all is well, or only what is being done."""
    return any(word in lowered for word in _CALM_WORDS) or _CALM.search(lowered) is not None
