"""A split as it is read on GitHub, and as it reads once somebody pasted it into an issue."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.comments import pieces
from app.comments.markdown import MAX_BODY, split
from app.core.split import Piece, Split
from tests.rooms.comments.test_markdown import live
from tests.rooms.comments.test_words import HOSTILE, REQUEST

READER = MarkdownIt("commonmark", {"html": True})


def blocks(text: str) -> list[str]:
    """The texts that can be copied."""
    return [token.content for token in READER.parse(text) if token.type == "fence"]


def a_split(covers: str = "Everything below `src/`.", title: str = "Second", reason: str = "Two things.") -> Split:
    first = Piece(title="First", covers="Move the name.")
    return Split(reason=reason, pieces=(first, Piece(title=title, covers=covers, after=(1,))))


def test_each_piece_is_a_text_to_copy_with_its_order_and_where_it_came_from() -> None:
    text = pieces.render(a_split(), REQUEST)
    assert "### Too much for one plan: 2 smaller issues\n\nTwo things." in text
    assert "Nothing was opened." in text and "set the label `countersign` on each" in text
    assert "**1. First**\n\n" in text and "**2. Second** (after 1)" in text
    assert blocks(text) == [
        "Move the name.\n\nPart 1 of 2 of #3.\n",
        "Everything below `src/`.\n\nPart 2 of 2 of #3. To be done after part 1 (First).\n",
    ]


def test_a_label_that_would_end_its_code_span_is_not_written() -> None:
    assert "the label of this issue on each" in pieces.render(a_split(), REQUEST.model_copy(update={"label": "a`b"}))


WORDS = st.lists(
    st.sampled_from([*"ab1 @#`~*[]()!<>|\\-", "://", "![x](y)", "fixes #1", "\n"]), min_size=1, max_size=40
)
TEXTS = WORDS.map(lambda words: "x" + "".join(words))


@given(TEXTS, TEXTS)
def test_nothing_in_it_is_live_here_nor_once_it_is_pasted(covers: str, title: str) -> None:
    made = a_split(covers, " ".join(title.split())[:100], covers)
    text = pieces.render(made, REQUEST)
    copied = blocks(text)
    assert len(copied) == 2
    tokens = [token.type for token in READER.parse(text)]
    assert tokens.count("heading_open") == 1 and "html_block" not in tokens
    for one in copied:
        assert live(one) <= {"paragraph_open"}
    assert "@mira" not in "".join(copied)


def test_hostile_words_call_close_and_load_nothing() -> None:
    (_, second) = blocks(pieces.render(a_split(HOSTILE, HOSTILE.split("\n")[0], HOSTILE), REQUEST))
    assert "@mira" not in second and "#12" not in second and "<img" not in second
    assert second.count("#3") == 1


def test_eight_long_pieces_fit_into_comments() -> None:
    made = tuple(Piece(title=f"Piece {n}", covers="<" * 4_000) for n in range(1, 9))
    parts = split(pieces.render(Split(reason="x" * 4_000, pieces=made), REQUEST))
    assert len(parts) > 1
    assert all(len(part) <= MAX_BODY and part.count("```") % 2 == 0 for part in parts)
