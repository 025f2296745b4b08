"""The split comment: an issue that is too much for one plan, cut into texts that a person can open as issues."""

from app.comments.markdown import block, code_block, inline
from app.core.run import Request
from app.core.split import Piece, Split

WHOLE = 5_000
"""More than the longest text of a piece."""


def render(split: Split, request: Request) -> str:
    """The whole comment; longer than one body where the pieces are. Each text is dead Markdown in a block to copy.

    Pasted into an issue it reads as it was meant, and still calls nobody, closes nothing and links to nothing but
    the issue that it came from.
    """
    count = len(split.pieces)
    lead = (
        f"### Too much for one plan: {count} smaller issues\n\n{block(split.reason, WHOLE)}\n\n"
        "Nothing was opened. Each block below is the text of an issue: open those that you want, change them as you "
        f"like, and set the label {_label(request)} on each. A piece that waits for others is best labelled when "
        "theirs are merged."
    )
    return "\n\n".join([lead, *(_piece(number, split, request) for number in range(1, count + 1))])


def _piece(number: int, split: Split, request: Request) -> str:
    piece = split.pieces[number - 1]
    text = f"{block(piece.covers, WHOLE)}\n\nPart {number} of {len(split.pieces)} of #{request.issue_number}."
    if piece.after:
        text += f" {_waits(piece, split)}"
    return f"**{number}. {inline(piece.title)}**{_after(piece)}\n\n{code_block(text, 'markdown', 4 * WHOLE)}"


def _after(piece: Piece) -> str:
    return f" (after {', '.join(map(str, sorted(set(piece.after))))})" if piece.after else ""


def _waits(piece: Piece, split: Split) -> str:
    titles = [f"part {number} ({inline(split.pieces[number - 1].title)})" for number in sorted(set(piece.after))]
    return f"To be done after {' and '.join(titles)}."


def _label(request: Request) -> str:
    return f"`{inline(request.label)}`" if "`" not in request.label else "of this issue"
