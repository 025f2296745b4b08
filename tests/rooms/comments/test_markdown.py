"""Markdown that cannot be turned against its reader."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from app.comments.markdown import MAX_BODY, block, code, code_block, details, inline, split, visible
from app.comments.marker import mark, marked

READER = MarkdownIt("commonmark", {"html": True})
PIECES = [*"ab1 @#`~*_[]()!<>|\\/\n\r\t-+=.:&;\u200b\u202e\x1b\x07", "www.", "://", "GH-1"]
PIECES += ["<b>", "![x](y)", "&#64;"]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=80).map("".join)


def live(markdown: str) -> set[str]:
    """Everything in a text that is more than words and code."""
    tokens = READER.parse(markdown)
    flat = [child for token in tokens for child in [token, *(token.children or [])]]
    dead = {
        "text",
        "code_inline",
        "softbreak",
        "hardbreak",
        "inline",
        "paragraph_open",
        "paragraph_close",
        "text_special",
    }
    return {token.type for token in flat} - dead


@given(HOSTILE)
def test_somebodys_words_on_one_line_are_never_live(text: str) -> None:
    shown = inline(f"x {text}")
    assert live(shown) == set()
    assert "\n" not in shown


@given(HOSTILE)
def test_somebodys_words_in_a_block_are_never_live(text: str) -> None:
    assert live(block(f"x {text}")) == set()


@given(HOSTILE)
def test_nobody_is_mentioned_and_nothing_is_referred_to_outside_code(text: str) -> None:
    outside = re.sub(r"`[^`\n]+`", "", inline(text, 10_000))
    assert not re.search(r"@\w", outside)
    assert not re.search(r"(?<!&)#\w", outside)
    assert "://" not in outside
    assert "www." not in outside


@pytest.mark.parametrize("word", ["fixes #12", "closes acme/greet#4", "Resolves GH-9", "see https://evil.example/?q=1"])
def test_closing_words_and_links_of_a_model_close_and_link_nothing(word: str) -> None:
    """github-facts 138, 150, 154."""
    assert "&#8203;" in inline(word)


@given(st.text(alphabet=st.sampled_from(list("`~ab\n \x1b[]")), max_size=200))
def test_nothing_ends_a_code_block_from_within(text: str) -> None:
    """Case SE-02."""
    tokens = READER.parse(f"{code_block(text)}\n\nAfter.")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


@given(st.text(alphabet=st.sampled_from(list("`ab \n")), max_size=60))
def test_nothing_ends_a_code_span_from_within(text: str) -> None:
    (paragraph,) = [token for token in READER.parse(f"x {code(text)} y") if token.type == "inline"]
    kinds = [child.type for child in paragraph.children or []]
    assert kinds.count("code_inline") == 1


def test_terminal_sequences_links_and_progress_are_gone() -> None:
    """Case SE-02."""
    said = "\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\n10%\r50%\r100%\nend\x00\u202e"
    assert visible(said) == "red link\n100%\nend"
    assert visible("sure\u3164\u115f\U000e0041 \u2764\ufe0f") == "sure \u2764\ufe0f"


@given(st.lists(st.text(alphabet=st.sampled_from(list("ab`~ 😀")), max_size=40), max_size=60), st.integers(60, 300))
@example(["", "`", "`` ````", "`" * 8, "`" * 11, "`" * 14], 60)
def test_a_split_keeps_every_part_short_and_every_block_closed(lines: list[str], limit: int) -> None:
    """Case GH-03."""
    parts = split("\n".join(lines), limit)
    assert all(len(part) <= limit for part in parts)


def test_a_block_that_is_cut_is_closed_and_opened_again() -> None:
    body = "Before.\n```python\n" + "\n".join(f"line {n}" for n in range(100)) + "\n```\nAfter."
    parts = split(body, 300)
    assert len(parts) > 2
    for part in parts:
        fences = [token for token in READER.parse(part) if token.type == "fence"]
        assert len(fences) == 1
    assert all(part.startswith("```python\n") for part in parts[1:])
    shown = [line for part in parts for line in part.split("\n") if line.startswith("line ")]
    assert shown == [f"line {n}" for n in range(100)]
    assert parts[-1].endswith("After.")


def fenced(lines: list[str]) -> str:
    return "\n".join(["```py", *(line.replace("word", "code") for line in lines), "```"])


PROSE = st.integers(0, 99).map(lambda n: f"word {n}")
LEAVES = st.one_of(PROSE, st.lists(PROSE, min_size=1, max_size=30).map(fenced))
FOLDS = st.lists(LEAVES, min_size=1, max_size=6).map(lambda some: details("More", "\n\n".join(some)))
FOLDED_TWICE = st.lists(LEAVES | FOLDS, max_size=5).map(lambda some: details("Most", "\n\n".join(some)))
BODIES = st.lists(LEAVES | FOLDS | FOLDED_TWICE, min_size=1, max_size=8).map("\n\n".join)


@given(BODIES, st.integers(300, 600))
def test_what_is_folded_or_fenced_is_so_in_every_part_and_every_part_is_balanced(body: str, limit: int) -> None:
    """Case GH-03."""
    parts = split(body, limit)
    kept: list[str] = []
    for part in parts:
        assert len(part) <= limit
        html = "".join(token.content for token in READER.parse(part) if token.type == "html_block")
        assert html.count("<details>") == html.count("</details>") == part.count("<details>")
        code = [token.content for token in READER.parse(part) if token.type == "fence"]
        assert "word" not in "".join(code)
        assert sum(one.count("code ") for one in code) == part.count("code ")
        kept += [line for line in part.split("\n") if line.startswith(("word ", "code "))]
    assert kept == [line for line in body.split("\n") if line.startswith(("word ", "code "))]


def test_a_body_that_fits_is_not_touched() -> None:
    assert split("a\nb") == ("a\nb",)
    assert MAX_BODY < 65_536


def test_a_marker_is_found_only_with_its_own_key_and_text() -> None:
    """github-facts 151."""
    key = b"k" * 32
    body = f"words\n\n{mark(key, 'r-abc', 'plan-1')}"
    assert marked(key, body) == ("r-abc", "plan-1")
    assert marked(b"x" * 32, body) is None
    assert marked(key, body.replace("plan-1", "plan-2")) is None
    assert marked(key, "words") is None
