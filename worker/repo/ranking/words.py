"""Words and names: how text and code are cut into what can be compared, the same way for every language."""

import re
import zlib
from functools import lru_cache
from pathlib import Path

NAME = re.compile(r"[^\W\d]\w*")
"""A name as programming languages write it; prose words are names too."""

_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LOOKS_LIKE_CODE = re.compile(r"[a-z0-9]_[a-zA-Z0-9]|^_+[a-z]|[a-z][A-Z]|^[A-Z][a-z]+[A-Z]|^[A-Z0-9]+_[A-Z0-9_]+$")

_HERE = Path(__file__).parent

STOP_WORDS = frozenset((_HERE / "silent.txt").read_text("utf-8").split())
"""Words of prose that say nothing about a place in code."""

CODE_WORDS = frozenset((_HERE / "keywords.txt").read_text("utf-8").split())
"""Words of programming languages and of examples; as names they point nowhere."""

_WHOLE = frozenset({"exception", "function", "version", "session", "section", "station", "partition"})
"""Words whose beginning is another word, or none."""


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """A word in lower case without its commonest endings: `caching`, `cached` and `caches` are one."""
    word = word.lower()
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    if word.endswith("ly") and len(word) > 6:
        word = word[:-2]
    for ending in ("izable", "izer"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            # `serializable`, `serializer` and `serialize` are one.
            return word[: -len(ending)] + "iz"
    for ending, left in (("ization", 4), ("isation", 4), ("ation", 4), ("ion", 4)):
        if word.endswith(ending) and len(word) - len(ending) >= left and word not in _WHOLE:
            # `serialization` and `serialize`, `configuration` and `configure`, `assertion` and `assert` are one.
            return word[: -len(ending)] + ("iz" if ending in ("ization", "isation") else "")
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and re.search("[aeiouy]", word[: -len(ending)]):
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    word = word[:-1] if word.endswith("e") and len(word) > 3 else word
    return word[:-2] if word.endswith("at") and len(word) > 6 else word


@lru_cache(maxsize=400_000)
def parts(name: str) -> tuple[str, ...]:
    """The stems of a name's parts, and of the whole where it has several: `getMarks` → get, mark, getmark."""
    # Humps are a habit of ASCII; other scripts have words with letters of which case is not known.
    found = [stem(part) for part in (_HUMP.findall(name) if name.isascii() else name.split("_"))]
    found = [part for part in found if len(part) > 1 and not part.isdigit()]
    if len(found) > 1:
        found.append(stem(name.strip("_")))
    return tuple(found)


def looks_like_code(name: str) -> bool:
    """True for names that prose would not hold: with underscores, humps or a leading underscore."""
    return bool(_LOOKS_LIKE_CODE.search(name))


def trigrams(text: str) -> set[int]:
    """Every three words that follow one another, as numbers that are the same in every process."""
    words = [word.lower() for word in NAME.findall(text)]
    return {fingerprint(" ".join(words[at : at + 3])) for at in range(len(words) - 2)}


def fingerprint(text: str) -> int:
    """A 32-bit number of a text, the same in every process."""
    return zlib.crc32(text.encode("utf-8", "replace"))


SILENT = frozenset(stem(word) for word in STOP_WORDS) | STOP_WORDS
"""Stems that are not asked for."""
