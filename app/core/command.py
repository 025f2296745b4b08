"""Commands in comments: a pure reading of Markdown. Quoted, fenced or hidden text is never a command."""

import difflib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.core.unseen import without_unseen
from app.core.verb import BEHIND, Behind, Verb


@dataclass(frozen=True, slots=True)
class Command:
    """One command: the verb, and what stood behind it.

    For approve a digest, or `steps 1,3` as `steps_of` reads it; for others somebody's words.
    """

    verb: Verb
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Misspelt:
    """A word so close to a command that its writer should be told."""

    written: str
    meant: Verb
    form: str = ""
    """How it is written with what has to stand behind it, where that was wrong or missing."""


@dataclass(frozen=True, slots=True)
class Several:
    """More than one different command in one comment, each as it would be written; none of them is followed."""

    written: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoCommand:
    """An ordinary comment."""


Reading = Command | Misspelt | Several | NoCommand

_WROTE = "wrote|schrieb|a écrit|escribió|ha scritto|написал|schreef|skrev|napisał|escreveu|kirjoitti|yazdı"
_REPLY_HEAD = re.compile(
    rf"^(?:.{{3,200}}\b(?:{_WROTE})\b.{{0,120}}:|-{{2,}}\s*original message\s*-{{2,}}"
    r"|-{4,}\s*[^\W\d_][^-]{5,60}-{4,}|begin forwarded message:)\s*$",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"<[^<>\s]{1,200}@[^<>\s]{1,200}>.{0,60}[:\uff1a]\s*$")
"""The end of such a head in whatever language: an address in its brackets, and a colon; a date stands before it."""
_MAIL_FIELD = re.compile(
    r"^\W{0,2}(?:from|von|de|da|van|från|fra|od|от|差出人|发件人|寄件者)\s?[:\uff1a]\W{0,2}\s", re.IGNORECASE
)
_HTML = re.compile(
    r"""
    <!--(?:-?>|.*?(?:--!?>|(?P<open_comment>\Z)))
    |<(?P<close>/?)(?P<name>[a-z][^\s/>]*+)
     (?:[\s/]|[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^\s>"'][^\s>]*+)?+)?+)*+>
    |<[!?/][^>]*+>
    |(?P<open_tag><[a-z!?/].*)
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
"""Comments and tags as a browser tells them apart: a `>` within an attribute's quotes ends nothing."""
_UNENDED = ""
"""Stands for a comment or tag without an end, which takes in all that follows."""
_VOID = frozenset({"br", "hr", "img", "input", "wbr"})
_QUOTING = frozenset(
    {"blockquote", "code", "del", "details", "div", "dl", "kbd", "li", "ol", "pre", "q", "s", "samp", "strike"}
    | {"summary", "table", "td", "th", "tr", "tt", "ul"}
)
"""What GitHub lets stand amid a sentence's words, and what makes the paragraphs after it a quotation, code or aside."""
# What looks like a link's definition may be a footnote's on GitHub, and then the next line is a part of it.
_MARKDOWN = MarkdownIt("commonmark", {"html": True}).disable("reference")
_VERBS = {verb.value: verb for verb in Verb}
_COMMAND = re.compile(r"^/([A-Za-z][A-Za-z-]{1,30})([.!?,;:]*)(?:[ \t]+(.*))?$")
_FREE = "|".join(verb for verb, behind in BEHIND.items() if behind in (Behind.WORDS, Behind.MAYBE_WORDS))
_WISH = re.compile(rf"^/(?:{_FREE})(?![\w-])", re.IGNORECASE)
_DIGEST = re.compile(r"`?[0-9a-fA-F]*`?")
_SOME = r"\d{1,3}(?:-\d{1,3})?"
_STEPS = re.compile(rf"steps?[ \t]+({_SOME}(?:(?:[ \t]*,[ \t]*|[ \t]+){_SOME})*)", re.IGNORECASE)


def read(text: str) -> Reading:
    """What a comment asks for.

    A command stands in a paragraph of its own, outside headings, quotations, lists, code, HTML and the quoted tail of
    an e-mail reply. `/approve` takes one optional digest, or numbers of steps, and nothing else, so that "/approve if
    the tests pass" approves nothing.
    """
    found = [reading for said in _paragraphs(text) for reading in _read_said(said)]
    commands = list(dict.fromkeys(reading for reading in found if isinstance(reading, Command)))
    if len(commands) > 1:
        return Several(tuple(f"/{one.verb} {one.argument}".rstrip()[:80] for one in commands))
    misspelt = [reading for reading in found if isinstance(reading, Misspelt)]
    if commands:
        # Whoever meant two things, or made a condition, is asked, however the other is spelt.
        other = next((one for one in misspelt if one.meant is not commands[0].verb), None)
        if other is not None:
            return Several((f"/{commands[0].verb}", f"/{other.meant}"))
    if misspelt:
        return misspelt[0]
    return commands[0] if commands else NoCommand()


@dataclass(frozen=True, slots=True)
class _Said:
    """The lines of a paragraph; or, of a heading, what its writer may have meant."""

    lines: list[str]
    heading: list[Misspelt] | None = None


def _paragraphs(text: str) -> list[_Said]:
    """The lines of each paragraph in which something can be said, as rendered.

    Within a quotation, list, code, table or HTML element nothing is spoken. What follows the head of a quoted mail is
    somebody else's.
    """
    paragraphs: list[_Said] = []
    inside: tuple[str, ...] = ()
    heading = ""
    for token in _MARKDOWN.parse(_visible(text)):
        if token.type == "hr" and token.markup.startswith("_" * 10):
            break
        if token.type == "html_block":
            inside = _inside(inside, token.content)
        if token.type in ("heading_open", "paragraph_open"):
            heading = token.markup
        if token.type != "inline" or token.level != 1:
            continue
        children = token.children or []
        spoken = _without_comments(token.content, children)
        if _is_head_of_mail(spoken):
            break
        if not inside and spoken:
            paragraphs.append(_Said(spoken, _headed(spoken, heading) if heading else None))
        for child in children:
            if child.type == "html_inline":
                inside = _inside(inside, child.content, _QUOTING)
            elif child.type == "text" and "<!--" in child.content:
                # It is shown, since it is no comment without its end; whoever wrote it meant to hide what follows.
                inside = (*inside, _UNENDED)
    return paragraphs


def _without_comments(content: str, children: Sequence[Token]) -> list[str]:
    """The lines of a paragraph that say something."""
    for child in children:
        if child.type == "html_inline" and child.content.startswith("<!--"):
            content = content.replace(child.content, "", 1)
    return [line.strip() for line in content.split("\n") if line.strip()]


def _is_head_of_mail(lines: list[str]) -> bool:
    if any(_REPLY_HEAD.match(line) or _MAIL_FIELD.match(line) for line in lines):
        return True
    whole = " ".join(lines[-3:])[-600:]
    return any(map(str.isdigit, whole)) and _ADDRESSED.search(whole.replace("< ", "<")) is not None


def _read_said(said: _Said) -> Sequence[Command | Misspelt]:
    return _spoken(said.lines) if said.heading is None else said.heading


def _headed(lines: list[str], mark: str) -> list[Misspelt]:
    """A heading is no line of its own: whose command became one, by a mark before it or dashes below, is told so."""
    whole = " ".join(lines)
    written = f"{mark} {whole}" if mark.startswith("#") else f"{whole} {mark * 3}"
    named = [match[1].lower() for line in lines if (match := _COMMAND.match(line))]
    return [Misspelt(written[:80], _VERBS[word]) for word in named if word in _VERBS]


def _spoken(lines: list[str]) -> list[Command | Misspelt]:
    """What a paragraph says: nothing but commands, or a wish to its end.

    A line amid other words is no command, since "Do not\\n/approve\\nthis" is one sentence; its writer is told so.
    """
    if _WISH.match(lines[0]):
        lines = [" ".join(lines)]
    if all(_COMMAND.match(line) for line in lines):
        return [reading for line in lines if (reading := _read_line(line)) is not None]
    whole = " ".join(lines)
    if "`" in whole:
        # It may be code that goes over several lines.
        return []
    meant = [verb for line in lines if line[0] == "/" and (verb := _VERBS.get(line[1:].lower())) is not None]
    return [Misspelt(whole[:80], verb) for verb in meant]


def _inside(elements: tuple[str, ...], html: str, counted: frozenset[str] | None = None) -> tuple[str, ...]:
    """In which elements one stands behind this HTML. An end without its own beginning ends nothing."""
    stack = list(elements)
    for match in _HTML.finditer(html):
        name = (match["name"] or "").lower()
        if match["open_comment"] is not None or match["open_tag"] is not None:
            stack.append(_UNENDED)
        elif not name or name in _VOID or (counted is not None and name not in counted):
            continue
        elif not match["close"]:
            stack.append(name)
        elif name in stack:
            del stack[len(stack) - 1 - stack[::-1].index(name)]
    return tuple(stack)


def _visible(text: str) -> str:
    folded = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(ch for ch in without_unseen(folded) if unicodedata.category(ch) != "Co")


def _read_line(line: str) -> Command | Misspelt | None:
    match = _COMMAND.match(line)
    if not match:
        return None
    word, argument = match[1].lower(), (match[3] or "").strip()
    verb = _VERBS.get(word)
    if verb is not None and match[2]:
        return Misspelt(line[:80], verb)
    if verb is not None:
        return _with_argument(verb, argument, line)
    close = difflib.get_close_matches(word, list(_VERBS), n=1, cutoff=0.75)
    return Misspelt(written=f"/{word}", meant=_VERBS[close[0]]) if close else None


def _with_argument(verb: Verb, argument: str, line: str) -> Command | Misspelt:
    match BEHIND[verb]:
        case Behind.PLAN if argument.lower().startswith("step"):
            kept = steps_of(argument)
            if kept is None:
                return Misspelt(line[:80], verb, f"/{verb} steps 1,3")
            return Command(verb, f"steps {','.join(map(str, kept))}")
        case Behind.PLAN if not _DIGEST.fullmatch(argument):
            return Misspelt(line[:80], verb)
        case Behind.PLAN:
            return Command(verb, argument.strip("`"))
        case Behind.WORDS if not argument:
            return Misspelt(line[:80], verb, f"/{verb} and your words")
        case Behind.NOTHING if argument:
            return Misspelt(line[:80], verb)
        case _:
            return Command(verb, argument)


def steps_of(argument: str) -> tuple[int, ...] | None:
    """The steps that `steps 1,3` or `steps 2-4` names, rising; None where it names none that a plan could have."""
    match = _STEPS.fullmatch(argument.strip())
    if match is None:
        return None
    named: set[int] = set()
    for part in re.split(r"[ \t,]+", match[1]):
        first, _, last = part.partition("-")
        named |= set(range(int(first), int(last or first) + 1)) or {0}
    return None if 0 in named else tuple(sorted(named))
