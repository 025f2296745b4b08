"""What no reader sees is taken out, and what changes a picture stays."""

import pytest

from app.core.unseen import without_unseen

UNSEEN = [*"\u3164\u115f\u1160\uffa0\u200b\u202e\ufe00\ufe0f\U000e0041\U000e0100\x07"]


@pytest.mark.parametrize("c", UNSEEN)
def test_a_character_that_shows_nothing_is_gone(c: str) -> None:
    assert without_unseen(f"a{c}b{c}") == "ab"


def test_what_parts_words_or_changes_a_picture_stays_as_it_is_seen() -> None:
    seen = "\u2764\ufe0f \U0001f469\u200d\U0001f467 1\ufe0f\u20e3\n\t\u0600"
    assert without_unseen(seen) == seen
    assert without_unseen("one\u2028two\x0bthree") == "one two three"
