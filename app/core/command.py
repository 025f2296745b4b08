"""Commands in comments: a pure reading of Markdown. Quoted, fenced or hidden text is never a command."""

import difflib
import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum


class Verb(StrEnum):
    """What a person can ask for on an issue."""

    APPROVE = "approve"
    REJECT = "reject"
    REVISE = "revise"
    CANCEL = "cancel"
    STATUS = "status"
    WHY = "why"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class Command:
    """One command: the verb, and what stood behind it (a digest for approve, words for revise)."""

    verb: Verb
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Misspelt:
    """A word so close to a command that its writer should be told."""

    written: str
    meant: Verb


@dataclass(frozen=True, slots=True)
class Several:
    """More than one different command in one comment; none of them is followed."""

    verbs: tuple[Verb, ...]


@dataclass(frozen=True, slots=True)
class NoCommand:
    """An ordinary comment."""


Reading = Command | Misspelt | Several | NoCommand

_HIDDEN = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_REPLY_HEAD = re.compile(r"^(on\b.{3,200}\bwrote:|-{2,}\s*original message\s*-{2,}|_{10,})\s*$", re.IGNORECASE)
_VERBS = {verb.value: verb for verb in Verb}
_COMMAND = re.compile(r"^/([A-Za-z][A-Za-z-]{1,30})(?:[ \t]+(.*))?$")


def read(text: str) -> Reading:
    """What a comment asks for.

    A command stands alone at the beginning of a line, outside quotations, code, HTML comments and the quoted
    tail of an e-mail reply. `/approve` takes one optional digest and nothing else, so that "/approve if the
    tests pass" approves nothing.
    """
    found = [reading for line in _spoken_lines(text) if (reading := _read_line(line)) is not None]
    commands = [reading for reading in found if isinstance(reading, Command)]
    verbs = tuple(dict.fromkeys(command.verb for command in commands))
    if len(verbs) > 1:
        return Several(verbs)
    if commands:
        return commands[0]
    return next((reading for reading in found if isinstance(reading, Misspelt)), NoCommand())


def _spoken_lines(text: str) -> list[str]:
    lines: list[str] = []
    fence = ""
    quoting = False
    for raw in _HIDDEN.sub("", _visible(text)).split("\n"):
        if fence:
            closing = _FENCE.match(raw)
            if closing and closing[1].startswith(fence) and not closing[2].strip():
                fence = ""
            continue
        opening = _FENCE.match(raw)
        if opening:
            fence, quoting = opening[1], False
            continue
        line = raw.strip()
        if _REPLY_HEAD.match(line):
            break
        if line.startswith(">"):
            quoting = True
            continue
        # A line right below a quotation still belongs to it (Markdown's lazy continuation).
        quoting = quoting and bool(line)
        if line and not quoting and not raw.startswith(("    ", "\t")):
            lines.append(line)
    return lines


def _visible(text: str) -> str:
    folded = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(ch for ch in folded if ch in "\n\t" or unicodedata.category(ch) not in {"Cc", "Cf", "Cs", "Co"})


def _read_line(line: str) -> Command | Misspelt | None:
    match = _COMMAND.match(line)
    if not match:
        return None
    word, argument = match[1].lower(), (match[2] or "").strip()
    verb = _VERBS.get(word)
    if verb:
        if verb is Verb.APPROVE and not re.fullmatch(r"`?[0-9a-fA-F]*`?", argument):
            return Misspelt(written=line[:80], meant=Verb.APPROVE)
        return Command(verb, argument.strip("`"))
    close = difflib.get_close_matches(word, list(_VERBS), n=1, cutoff=0.75)
    return Misspelt(written=f"/{word}", meant=_VERBS[close[0]]) if close else None
