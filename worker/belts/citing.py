"""What a reviewer cites, looked for by code in the texts that it was shown."""

from collections.abc import Mapping

LEAST = 3
"""Characters that a quote needs at least, blanks left out; less than that stands everywhere."""


def stands_in(quote: str, text: str) -> bool:
    """True where the quote stands in the text, letter by letter: whole or within a line, or over lines in a row.

    Blanks at its ends and at the ends of lines do not count. In a difference its lines may be given with or without
    the sign at their beginning.
    """
    wanted = "\n".join(line.rstrip() for line in quote.strip().splitlines())
    if len("".join(wanted.split())) < LEAST:
        return False
    lines = [line.rstrip() for line in text.splitlines()]
    return any(wanted in "\n".join(some) for some in (lines, [line[1:] for line in lines]))


def missing(where: str, quote: str, sources: Mapping[str, str]) -> str:
    """Why the citation cannot be believed, in one sentence; empty where it can."""
    if where not in sources:
        return f"there is nothing called {where!r} to cite; there is: {', '.join(sources)}"
    return "" if stands_in(quote, sources[where]) else f"these words do not stand in {where}: {quote[:200]!r}"
