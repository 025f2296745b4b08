"""Whether a file still parses and what it defines: asked before and after a step, so that no edit breaks it unseen."""

import io
import tokenize
from collections import Counter

from worker.repo.symbols import MAX_PARSED_BYTES, Symbol, extract, language_of, parser_of


def broken_at(path: str, content: bytes) -> int | None:
    """The first line that does not parse, or None: it parses, is too large, or its language is not known."""
    language = language_of(path)
    if language is None or len(content) > MAX_PARSED_BYTES:
        return None
    if language == "python" and (line := _indented_wrongly(content)) is not None:
        return line
    stack = [parser_of(language).parse(content).root_node]
    lines: list[int] = []
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            lines.append(node.start_point.row + 1)
        elif node.has_error:
            stack.extend(node.children)
    return min(lines, default=None)


def lost_definitions(path: str, before: bytes, after: bytes) -> tuple[Symbol, ...]:
    """What the file defined before and does not any more, as it stood then; none where its language is not known.

    Of definitions with one name that are fewer now, the last ones count as lost.
    """
    language = language_of(path)
    if language is None or before == after:
        return ()
    left = Counter(one.name for one in extract(language, after))
    lost = []
    for one in extract(language, before):
        if left[one.name] > 0:
            left[one.name] -= 1
        else:
            lost.append(one)
    return tuple(lost)


def _indented_wrongly(content: bytes) -> int | None:
    """The first Python line whose indent does not fit, which the grammar lets pass.

    An indent may only follow a line that ends in a colon, and must follow it. What the tokenizer cannot read at all
    is left to the grammar.
    """
    opened = False
    last = ""
    try:
        for token in tokenize.tokenize(io.BytesIO(content).readline):
            if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
                continue
            if token.type == tokenize.NEWLINE:
                opened = last == ":"
                continue
            if (token.type == tokenize.INDENT) != opened and token.type != tokenize.DEDENT:
                return token.start[0]
            if token.type == tokenize.DEDENT and opened:
                return token.start[0]
            opened = False
            last = token.string
    except IndentationError as error:
        return error.lineno
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):
        return None
    return None
