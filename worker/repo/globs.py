"""Path globs, as people write them in tools and policies."""

import re


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A pattern to `search` a whole path with.

    `*` and `?` stay within one part, `**` spans parts, `[...]` is a set; a glob without `/` is held against the file
    name alone, and one that ends in `/` against everything below that folder.
    """
    glob = glob.removeprefix("./")
    start = r"\A(?:.*/)?" if "/" not in glob else r"\A"
    if glob.endswith("/"):
        glob += "**"
    return re.compile(start + "".join(_pieces(glob.lstrip("/"))) + r"\Z", re.DOTALL)


def _pieces(glob: str) -> list[str]:
    out = []
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", glob, re.DOTALL):
        if piece == "**/":
            out.append("(?:.*/)?")
        elif piece == "**":
            out.append(".*")
        elif piece in ("*", "?"):
            out.append("[^/]*" if piece == "*" else "[^/]")
        elif piece.startswith("[") and len(piece) > 2:
            body = piece[1:-1].removeprefix("!")
            inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", body)
            out.append(f"[^/{inner}]" if piece[1] == "!" else f"[{inner}]")
        else:
            out.append(re.escape(piece))
    return out
