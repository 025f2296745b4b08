"""A program of its own: finds what a mechanical rule changes in some files. JSON in, JSON out.

Expressions and syntax rules come from people, and some take for ever or more memory than there is: so they run in a
process that can be ended, without any of ours. It imports nothing of the house.

In: `{"rule": {...}, "files": [[path, text], ...]}`. Out: `{"edits": {path: [[start, end, new], ...]}, "nested": 3}`
with offsets in characters, in order and apart from one another; or `{"refused": "one sentence"}`.
"""

import json
import re
import resource
import sys
from collections.abc import Callable, Iterator
from typing import Any

MOST_PLACES = 20_000
FILE_SECONDS = 1.0
"""Of processor time, for one expression on one file."""

MEMORY_BYTES = 3_000_000_000

_Edit = tuple[int, int, str]
_Find = Callable[[str, str], Iterator[_Edit]]
_METAVARIABLE = re.compile(r"\$\$\$([A-Z_][A-Z0-9_]*)|\$([A-Z_][A-Z0-9_]*)")


class Unusable(Exception):
    """The rule cannot be carried out; the text is one sentence that says why."""


def edits_of(rule: dict[str, Any], files: list[tuple[str, str]]) -> dict[str, Any]:
    """Every place in every file; of places within one another only the outer one."""
    find = {"literal": _literal, "regex": _regex, "syntax": _syntax}[rule["kind"]](rule)
    found: dict[str, list[_Edit]] = {}
    places = nested = 0
    for path, text in files:
        end = 0
        for edit in find(path, text):
            if edit[0] < end:
                nested += 1
                continue
            end = edit[1]
            if text[edit[0] : edit[1]] == edit[2]:
                continue
            places += 1
            if places > MOST_PLACES:
                raise Unusable(f"The rule fits more than {MOST_PLACES:,} places; narrow it or its paths.")
            found.setdefault(path, []).append(edit)
    return {"edits": found, "nested": nested}


def _literal(rule: dict[str, Any]) -> _Find:
    old, new = rule["pattern"], rule["replacement"]

    def find(path: str, text: str) -> Iterator[_Edit]:
        at = text.find(old)
        while at >= 0:
            yield at, at + len(old), new
            at = text.find(old, at + len(old))

    return find


def _regex(rule: dict[str, Any]) -> _Find:
    import regex

    try:
        pattern = regex.compile(rule["pattern"], regex.MULTILINE)
    except regex.error as error:
        raise Unusable(f"The pattern is not a regular expression: {error}.") from error

    def find(path: str, text: str) -> Iterator[_Edit]:
        try:
            for match in pattern.finditer(text, timeout=FILE_SECONDS):
                if match.start() == match.end():
                    raise Unusable(f"The pattern matches where nothing stands, in {path}; make it match some text.")
                yield match.start(), match.end(), match.expand(rule["replacement"])
        except TimeoutError as error:
            words = f"The pattern took more than {FILE_SECONDS:g} s on {path}; make it simpler."
            raise Unusable(words) from error
        except (regex.error, IndexError) as error:
            raise Unusable(f"The replacement does not fit the pattern: {error}.") from error

    return find


def _syntax(rule: dict[str, Any]) -> _Find:
    from ast_grep_py import SgRoot

    language, wanted, fix = rule["language"], rule["find"], rule["fix"]

    def find(path: str, text: str) -> Iterator[_Edit]:
        root = SgRoot(text, language).root()
        try:
            nodes = root.find_all(wanted)
        except Exception as error:
            raise Unusable(f"ast-grep does not take the rule: {_reason(error)}") from error
        spans = [(node.range().start.index, -node.range().end.index, number) for number, node in enumerate(nodes)]
        for start, end, number in sorted(spans):
            if start < -end:
                yield start, -end, _filled(fix, nodes[number], text, _indent(text, start))

    return find


def _filled(fix: str, node: Any, text: str, indent: str) -> str:
    """The fix with what was captured, as it stands in the file; its further lines begin where the match's line does."""

    def captured(name: re.Match[str]) -> str:
        if name[1]:
            several = node.get_multiple_matches(name[1])
            return text[several[0].range().start.index : several[-1].range().end.index] if several else ""
        one = node.get_match(name[2])
        if one is None:
            raise Unusable(f"The rule's `fix` names `${name[2]}`, which the rule does not capture.")
        return str(one.text())

    return _METAVARIABLE.sub(captured, fix.replace("\n", f"\n{indent}"))


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _reason(error: Exception) -> str:
    """The last cause that is named before the stack trace."""
    lines = str(error).partition("Stack backtrace")[0].strip().splitlines()
    last = lines[-1].strip() if lines else "no reason is given"
    return re.sub(r"^\d+: ", "", last)[:300].rstrip(".") + "."


def main() -> int:
    """Answers once. What cannot be carried out is an answer as well."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    asked = json.load(sys.stdin.buffer)
    try:
        answer = edits_of(asked["rule"], [(path, text) for path, text in asked["files"]])
    except Unusable as error:
        answer = {"refused": str(error)}
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
