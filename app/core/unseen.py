"""Characters that no reader sees: formats, controls, blank letters, variation selectors and tag characters."""

import unicodedata

SPACES = frozenset("\u2028\u2029\x85\x0b\x0c")
"""Invisible ones that part words, and leave a space behind."""

_VISIBLE_FORMATS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2")
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_TAGS = range(0xE0000, 0xE0080)
_SELECTORS = (range(0xFE00, 0xFE10), range(0x180B, 0x1810), range(0xE0100, 0xE01F0))


def is_unseen(text: str, at: int) -> bool:
    """Whether the character at this place shows nothing. The joiner and the selector within an emoji, which change
    what is seen and hide nothing, do not count."""
    return _is_invisible(text[at]) and not _joins_emoji(text, at)


def without_unseen(text: str) -> str:
    """The text as a reader sees it; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    shown = ((" " if c in SPACES else "") if is_unseen(text, at) else c for at, c in enumerate(text))
    return "".join(shown)


def _is_invisible(c: str) -> bool:
    if c in "\n\t" or " " <= c <= "~" or c in _VISIBLE_FORMATS:
        return False
    point = ord(c)
    unseen = c in _BLANK_LETTERS or any(point in each for each in _SELECTORS) or point in _TAGS
    return unseen or unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _joins_emoji(text: str, at: int) -> bool:
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    pictured = before != "" and (unicodedata.category(before) in ("So", "Sk") or before in "\ufe0f#*0123456789©®")
    if text[at] == "\ufe0f":
        return pictured and before != "\ufe0f"
    return text[at] == "\u200d" and pictured and after != "" and unicodedata.category(after) == "So"
