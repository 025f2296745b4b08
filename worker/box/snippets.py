"""Programs in the text of an issue: its code blocks as one would run them, without prompts and without output."""

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST = 20_000
"""Characters of a snippet; a longer block is no reproduction."""

MOST_TEXT = 80_000

_BLOCKS = MarkdownIt("commonmark")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])

_LANGUAGES = {
    "python": ("py", "py3", "python", "python3", "pycon", "ipython", "ipython3", "pytest", "sage"),
    "javascript": ("js", "javascript", "node", "mjs", "cjs", "ecmascript", "es6"),
    "ruby": ("rb", "ruby", "irb"),
    "perl": ("pl", "perl"),
    "php": ("php",),
    "console": ("sh", "bash", "shell", "console", "zsh", "cmd", "bat", "powershell", "terminal", "shell-session"),
}
_LANGUAGE = {word: language for language, words in _LANGUAGES.items() for word in words}
_ENDINGS = {"py": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "rb": "ruby"}

_PROMPT = re.compile(r"(?:>>>|In \[\d+\]:)(?: |$)")
_CONTINUED = re.compile(r"(?:\.\.\.|[ ]*\.{3,}:)(?: |$)")
_COMMAND = re.compile(r"(?:[\w.@:~/()\\ -]{0,80})?(?:\$|PS [^>\n]{0,80}>|C:[^>\n]{0,80}>)[ \t]+(?P<words>\S.*)")
_PROGRAM = re.compile(r"[a-z][\w.+-]*")
_UNPLAIN = re.compile(r"[|&;<>$`*?(){}\\!]")
_QUOTED_WHOLE = re.compile(r"'[^']*'|\"[^\"$`\\!]*\"")
_SPAN = re.compile(r"(?<!`)`([^`\n]{1,300})`(?!`)")
_FILE = r"[\w./-]{1,80}\.(?:py|js|mjs|cjs|rb|toml|cfg|ini|json|ya?ml)|\.[a-z]{2,20}rc"
_SETTINGS = re.compile(r"\.[a-z]{2,20}rc|[\w-]+\.(?:toml|cfg|ini|json|ya?ml)")
_PYPROJECT = re.compile(r"^\[tool\.[\w.-]+\]", re.MULTILINE)
_PROSE_LINES = 2
_NAMED_INSIDE = re.compile(
    rf"(?:#|//)[ \t#*=-]*(?:contents? of |file:? ?|filename:? ?)?`?(?P<name>{_FILE})`?[ \t:*=-]*$", re.IGNORECASE
)
_NAMED_ABOVE = re.compile(
    rf"(?:^|[\s`*\"'(])(?P<name>{_FILE})[`*\"')]*[ \t]*(?:file)?[ \t]*:?[`*]*[ \t]*$", re.IGNORECASE
)
_TELLING = re.compile(
    r"^\s*(?:import |from \S+ import |def |class |@\w|\w[\w.]*\s*=[^=]|\w[\w.]*\(|with |for )", re.MULTILINE
)
_IMPORTS = re.compile(r"^(?:import \w|from \w[\w.]* import )", re.MULTILINE)
_JAVASCRIPT = re.compile(r"\brequire\(['\"]|^\s*(?:const|let|var) \w|^\s*import .* from ['\"]|=>", re.MULTILINE)
_SILENT = (ast.Constant, ast.Name, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.Compare, ast.Attribute)


@dataclass(frozen=True, slots=True)
class Snippet:
    """One program. `name` is the file that the text says it stands in, without folders; empty where it says none."""

    language: str
    code: str
    name: str = ""


def snippets_in(text: str) -> tuple[Snippet, ...]:
    """The programs among the code blocks of a Markdown text, in their order.

    Of a session at a prompt only what was typed is kept. What cannot be a program of its language is left out; a
    block without a language is taken for Python or JavaScript only where it reads like it.
    """
    found = []
    for block in _blocks(text):
        snippet = _snippet(block)
        if snippet is not None and 0 < len(snippet.code) <= LONGEST:
            found.append(snippet)
    return tuple(dict.fromkeys(found))


def settings_in(text: str) -> dict[str, str]:
    """Files of settings that the text shows, by name: those that it names, and tables of a `pyproject.toml`."""
    found: dict[str, str] = {}
    for block in _blocks(text):
        name = _name(block, block.code)
        if not _SETTINGS.fullmatch(name):
            name = "pyproject.toml" if _PYPROJECT.search(block.code) else ""
        if name and 0 < len(block.code) <= LONGEST:
            found.setdefault(name, block.code)
    return found


def commands_in(text: str) -> tuple[tuple[str, ...], ...]:
    """The commands that the text shows, each as its words: at a prompt, as a line of a shell block, within a line.

    Only plain ones: what a shell would have to expand, redirect or connect is left out.
    """
    found: list[tuple[str, ...]] = []
    for block in _blocks(text):
        lines = block.code.splitlines()
        typed = [match["words"] for match in (_COMMAND.fullmatch(line.strip()) for line in lines) if match]
        if not typed and _LANGUAGE.get(block.language) == "console":
            typed = lines
        found += [_plain_words(line) for line in (*block.spans, *typed)]
    return tuple(dict.fromkeys(words for words in found if words and _PROGRAM.fullmatch(words[0])))


@dataclass(frozen=True, slots=True)
class _Block:
    """A code block with the paragraph above it, and the code within the lines of all that stands above it.

    The last one has no code: it holds what stands after all blocks.
    """

    language: str
    code: str
    above: str
    spans: tuple[str, ...]


def _blocks(text: str) -> Iterator[_Block]:
    above: list[str] = []
    for token in _BLOCKS.parse(text[:MOST_TEXT].replace("\r\n", "\n").replace("\r", "\n")):
        if token.type in ("fence", "code_block"):
            yield _Block(_language(token), token.content, above[-1] if above else "", _spans(above))
            above = []
        elif token.type == "inline":
            above.append(token.content)
    yield _Block("", "", "", _spans(above))


def _spans(texts: list[str]) -> tuple[str, ...]:
    return tuple(span for text in texts for span in _SPAN.findall(text))


def _language(token: Token) -> str:
    first = re.split(r"[\s,{:]", token.info.strip().lower().lstrip("{.").strip(), maxsplit=1)[0]
    return first.rstrip("}")


def _snippet(block: _Block) -> Snippet | None:
    typed = _typed(block.code)
    code = block.code if typed is None else typed
    name = _name(block, code)
    language = _LANGUAGE.get(block.language, "" if block.language else _sniffed(code, name, prompted=typed is not None))
    if language == "console":
        language, code = "python", code if typed is not None else _after_prose(code)
    if language == "python":
        code = _unindented(code)
        return Snippet(language, code, name) if _is_python(code) else None
    return Snippet(language, code, name) if language and code.strip() and not _SETTINGS.fullmatch(name) else None


def _after_prose(code: str) -> str:
    """Of a form's field that was taken for a command: the program below a line or two of words; else nothing."""
    lines = code.splitlines(keepends=True)
    for skipped in range(_PROSE_LINES + 1):
        rest = "".join(lines[skipped:]).lstrip("\n")
        if _IMPORTS.search(rest) and _is_python(rest):
            return rest
    return ""


def _typed(code: str) -> str | None:
    """What was typed at the prompts of a Python session; None where there is none."""
    lines: list[str] = []
    typing = False
    for line in code.splitlines():
        stripped = line.strip()
        mark = _PROMPT.match(stripped) or (_CONTINUED.match(stripped) if typing else None)
        typing = mark is not None
        if mark is not None:
            lines.append(stripped[mark.end() :])
    return "\n".join([*lines, ""]) if lines else None


def _name(block: _Block, code: str) -> str:
    first = next((line.strip() for line in code.splitlines() if line.strip()), "")
    last_above = block.above.strip().splitlines()[-1:] or [""]
    named = _NAMED_INSIDE.match(first) or _NAMED_ABOVE.search(last_above[0][-200:])
    return named["name"].rpartition("/")[2] if named else ""


def _sniffed(code: str, name: str, *, prompted: bool) -> str:
    if prompted:
        return "python"
    ending = _ENDINGS.get(name.rpartition(".")[2], "")
    if ending:
        return ending
    if _TELLING.search(code) and _is_python(_unindented(code)):
        return "python"
    return "javascript" if _JAVASCRIPT.search(code) and ";" in code else ""


def _unindented(code: str) -> str:
    lines = code.expandtabs(4).splitlines()
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join([*(line[depth:].rstrip() for line in lines), ""]) if depth else code


def _is_python(code: str) -> bool:
    """Whether it is a program and does something: prose and lists of words can be valid Python, too."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(not (isinstance(node, ast.Expr) and isinstance(node.value, _SILENT)) for node in body)


def _plain_words(line: str) -> tuple[str, ...]:
    """The words of a line in which a shell would find nothing but words."""
    if _UNPLAIN.search(_QUOTED_WHOLE.sub("x", line)):
        return ()
    try:
        return tuple(shlex.split(line, comments=True))
    except ValueError:
        return ()
