"""Text that people, repositories and tools wrote, made safe to be read as data.

What a reader of the rendered page would not see is taken out and reported (case PI-01); what is left is fenced so
that nothing in it can end the fence.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from markdown_it import MarkdownIt

from app.core.unseen import SPACES, is_unseen

MAX_CHARACTERS = 80_000
"""GitHub takes 65,536; what is longer did not come from there."""

REPORTED = 40
REPORTED_CHARACTERS = 400
_ROUNDS = 10

_PLAIN_ATTRIBUTES = frozenset(
    {"align", "border", "class", "colspan", "height", "id", "open", "rowspan", "start", "type", "valign", "width"}
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What a reader sees, and one sentence for each hidden thing that was taken out."""

    text: str
    hidden: tuple[str, ...]


def clean(text: str) -> Cleaned:
    """The text without HTML comments, invisible characters, image descriptions, titles and hidden attributes.

    Code blocks keep their markup, since there it is seen. Cleaning again changes nothing.
    """
    found: list[str] = []
    if len(text) > MAX_CHARACTERS:
        found.append(f"The text was cut at {MAX_CHARACTERS:,} of {len(text):,} characters.")
        text = text[:MAX_CHARACTERS]
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # First as the page's renderer saw it: without its invisible characters, a line may look like a code fence.
    text = _without_invisible(_without_markup(text, found), found)
    for _ in range(_ROUNDS):
        once = _without_markup(text, found)
        if once == text:
            break
        text = once
    else:
        # Somebody nested markup on purpose; nothing in it is markup any more.
        text = text.replace("<", "&lt;").replace("![", "!&#91;").replace("]:", "]&#58;").replace("](", "]&#40;")
        found.append("Markup was nested so deeply that all of it was disarmed.")
    seen = list(dict.fromkeys(found))
    if len(seen) > REPORTED:
        seen = [*seen[:REPORTED], f"{len(seen) - REPORTED} more hidden things were removed."]
    return Cleaned(text, tuple(seen))


def visible(text: str) -> Cleaned:
    """The text without its invisible characters, however long: for what is shown as it stands, such as plain text."""
    found: list[str] = []
    kept = _without_invisible(text.replace("\r\n", "\n").replace("\r", "\n"), found)
    return Cleaned(kept, tuple(found))


# --- characters -------------------------------------------------------------------------------------------------


def _without_invisible(text: str, found: list[str]) -> str:
    kept: list[str] = []
    names: Counter[str] = Counter()
    tagged: list[str] = []
    for at, c in enumerate(text):
        if not is_unseen(text, at):
            kept.append(c)
            continue
        if 0xE0020 <= ord(c) < 0xE007F:
            tagged.append(chr(ord(c) - 0xE0000))
        names[f"U+{ord(c):04X}"] += 1
        if c in SPACES:
            kept.append(" ")
    if names:
        listed = ", ".join(f"{name} ×{count}" for name, count in names.most_common(8))
        found.append(f"{names.total()} invisible characters: {listed}.")
    if tagged:
        found.append(_report("Text in tag characters", "".join(tagged)))
    return "".join(kept)


# --- markup -----------------------------------------------------------------------------------------------------

# Blocks alone: where code stands is all that is asked, and the inline rules are slow on hostile brackets.
_BLOCKS = MarkdownIt("commonmark")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """`change` on everything but fenced and indented code blocks, which a renderer shows as they are."""
    lines = text.split("\n")
    code: list[tuple[int, int]] = [
        (token.map[0], token.map[1])
        for token in _BLOCKS.parse(text)
        if token.type in ("fence", "code_block") and token.map is not None
    ]
    out: list[str] = []
    at = 0
    for start, stop in [*code, (len(lines), len(lines))]:
        if start > at:
            out.append(change("\n".join(lines[at:start])))
        if stop > start:
            out.append("\n".join(lines[start:stop]))
        at = max(at, stop)
    return "\n".join(out)


_LABEL = r"(?:[^\[\]\\]|\\.|\[(?:[^\[\]\\]|\\.)*\])*"
_TITLE = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)"
_TARGET = r"(?:<[^<>\n]*>|[^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*)"

_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_UNSEEN_BLOCK = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)|<\?(.*?)(?:\?>|\Z)|<!([A-Za-z].*?)(?:>|\Z)", re.DOTALL)
_IMAGE = re.compile(rf"!\[({_LABEL})\](?=[(\[])")
# A target takes all blanks before it for good: nothing is tried twice, however many there are.
_LINK_TITLE = re.compile(rf"(\]\(\s*+{_TARGET})(?:\s++|(?<=\s))({_TITLE})\s*\)")
_DEFINITION = re.compile(
    rf"^ {{0,3}}\[(?!\^)({_LABEL})\]:[ \t]*\n?[ \t]*(\S+)(?:[ \t]*\n?[ \t]*({_TITLE}))?[ \t]*$", re.MULTILINE
)
_REFERENCE = re.compile(rf"(!?)\[(?!\^)({_LABEL})\](?:\[({_LABEL})\])?(?![(:\[])")
_TAG = re.compile(r"<(/?[A-Za-z][A-Za-z0-9-]*)((?:\s|/)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE = re.compile(r"([^\s\"'<>/=]+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?")


def _report(what: str, words: str) -> str:
    words = " ".join(words.split())
    if len(words) > REPORTED_CHARACTERS:
        words = f"{words[:REPORTED_CHARACTERS]} … ({len(words):,} characters)"
    return f"{what}: “{words}”"


def _without_markup(text: str, found: list[str]) -> str:
    def told(what: str, words: str, instead: str = "") -> str:
        if words.strip():
            found.append(_report(what, words))
        return instead

    def unhidden(prose: str) -> str:
        prose = _COMMENT.sub(lambda m: told("HTML comment", m[1]), prose)
        prose = _UNSEEN_BLOCK.sub(lambda m: told("Unseen HTML", m[1] or m[2] or m[3] or ""), prose)
        prose = _TAG.sub(lambda m: _plain_tag(m[1], m[2], told), prose)
        prose = _IMAGE.sub(lambda m: told("Image description", m[1], "![]"), prose)
        return _LINK_TITLE.sub(lambda m: told("Link title", m[2][1:-1], f"{m[1]})"), prose)

    text = _outside_code(text, unhidden)
    targets: dict[str, str] = {}

    def undefined(prose: str) -> str:
        return _DEFINITION.sub(lambda m: _taken_definition(m, targets, told), prose)

    text = _outside_code(text, undefined)
    if not targets:
        return text
    return _outside_code(text, lambda prose: _REFERENCE.sub(lambda m: _inlined(m, targets, told), prose))


def _folded(label: str) -> str:
    return " ".join(label.split()).casefold()


def _taken_definition(found: re.Match[str], targets: dict[str, str], told: Callable[..., str]) -> str:
    """A link definition is never seen: its target goes to where it is used, its label and title are reported."""
    targets.setdefault(_folded(found[1]), found[2].strip("<>"))
    return told("Link definition", f"{found[1]} {(found[3] or '')[1:-1]}")


def _inlined(found: re.Match[str], targets: dict[str, str], told: Callable[..., str]) -> str:
    image, words, label = found[1], found[2], found[3]
    target = targets.get(_folded(label or words))
    if target is None:
        return found[0]
    if image:
        told("Image description", words)
    return f"{image}[{'' if image else words}]({target})"


def _plain_tag(name: str, attributes: str, told: Callable[..., str]) -> str:
    """The tag with nothing but where it points."""
    kept = ""
    for attribute, quoted in _ATTRIBUTE.findall(attributes):
        value = quoted.strip("\"'")
        if attribute.lower() in ("href", "src") and re.fullmatch(r"https?://[^\s<>\"']+|#[\w-]+", value):
            kept += f' {attribute.lower()}="{value}"'
        elif attribute.lower() not in _PLAIN_ATTRIBUTES or " " in value:
            told(f"Attribute {attribute.lower()[:40]}", value or attribute)
    return f"<{name}{kept}>"


# --- fencing ----------------------------------------------------------------------------------------------------

_DATA, _REQUEST = "untrusted-text", "request-text"
_LOOKALIKE = re.compile(r"[<＜﹤‹〈](?=[\s/／⁄∕]*(?:untrusted|request)[\s_-]*text)", re.IGNORECASE)


def fence(label: str, text: str) -> str:
    """`text` between marks that it cannot write itself: look-alikes of the marks in it are disarmed.

    The label is ours and short: letters, digits and a few signs; everything else becomes a blank.
    """
    return _between(_DATA, label, text)


def vouched(label: str, text: str) -> str:
    """As `fence`, with other marks: for what somebody with authority wrote, or set the label on.

    It says what is wanted. Like everything else that was read it decides neither tools nor limits nor policy.
    """
    return _between(_REQUEST, label, text)


def disarmed(text: str) -> str:
    """The text with nothing in it that looks like one of our marks."""
    return _LOOKALIKE.sub("&lt;", text)


def _between(tag: str, label: str, text: str) -> str:
    plain = re.sub(r"[^\w ./:#-]", " ", label)[:200].strip()
    return f'<{tag} from="{plain}">\n{disarmed(text)}\n</{tag}>'
