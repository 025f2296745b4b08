"""Commands: what a comment asks for, and everything that only looks like asking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.command import Command, Misspelt, NoCommand, Several, read
from app.core.verb import COMMANDS, Verb


@pytest.mark.parametrize(
    "text",
    [
        "/approve",
        "/approve\r\n",
        "\n\n/approve   ",
        "/approve\n<!-- sync:root -->",
        "<!-- mail gateway -->\n/approve",
        "Looks right to me.\n\n/approve",
        "/APPROVE",
        "\u200b/approve\ufeff",
        "/approve\u3164",
        "\u115f/appr\U000e0061ove\ufe0e",
        "> why this file?\n\nBecause.\n\n/approve",
        "```\nsome log\n```\n/approve",
    ],
)
def test_an_approval_alone_on_a_line_is_a_command(text: str) -> None:
    """Case AP-03."""
    assert read(text) == Command(Verb.APPROVE)


@pytest.mark.parametrize(
    "text",
    [
        "> /approve\n\nnot yet, please",
        "On Tuesday, 3 March 2026 at 10:12, theo <theo@example.org> wrote:\n\n> /approve",
        "On Tue, Mar 3, 2026 theo wrote:\n/approve",
        "-----Original Message-----\n/approve",
        "> quoted\n/approve",
        "```\n/approve\n```",
        "~~~~\n/approve\n~~~\n/approve\n~~~~",
        "    /approve",
        "\t/approve",
        "<!-- /approve -->",
        "<!--\n/approve",
        "I would not /approve this",
        "`/approve`",
        "- /approve",
        "Would this be right?\n\n- ```\n  /approve\n  ```",
        "<blockquote>\n/approve\n</blockquote>",
        "<blockquote>\n\n/approve\n\n</blockquote>",
        "<pre>\n/approve\n</pre>",
        "<details><summary>x</summary>\n\n/approve\n\n</details>",
        "From: theo\nSent: Tuesday\nTo: mira\nSubject: Re: plan\n\n/approve",
        "Am 3. März 2026 schrieb theo <theo@example.org>:\n\n/approve",
        "Am 3. März 2026 um 10:12 schrieb theo <\ntheo@example.org>:\n\n/approve",
        "2026年3月3日(火) 10:12 theo <theo@example.org>:\n\n/approve",
        "theo <theo@example.org> 于2026年3月3日写道\uff1a\n\n/approve",
        "Den 3 mars skrev theo:\n\n/approve",
        "De : theo\nEnvoyé : mardi\n\n/approve",
        "---------- Forwarded message ---------\n\n/approve",
        "-----Ursprüngliche Nachricht-----\n\n/approve",
        "_____________\n\n/approve",
        "hi <!-- not yet\n\n/approve\n\n-->",
        "a `code\n/approve\nspan`",
        "a```\n/approve\n```",
        "approve",
        "# Why /approve is a command",
        "",
    ],
)
def test_quoted_fenced_hidden_or_mentioned_commands_ask_for_nothing(text: str) -> None:
    """Case AP-01."""
    assert read(text) == NoCommand()


@pytest.mark.parametrize("text", ["/aprove", "/approved", "/aproove"])
def test_a_misspelt_command_is_recognised_and_not_followed(text: str) -> None:
    """Case AP-03."""
    reading = read(text)
    assert isinstance(reading, Misspelt)
    assert reading.meant is Verb.APPROVE


@pytest.mark.parametrize("text", ["/approve if the tests pass", "/approve no", "/approve v1", "/approve ../x"])
def test_an_approval_with_conditions_approves_nothing(text: str) -> None:
    assert isinstance(read(text), Misspelt)


def test_an_approval_may_name_a_digest_also_in_a_code_span() -> None:
    assert read("/approve 0123abcDEF45") == Command(Verb.APPROVE, "0123abcDEF45")
    assert read("/approve `0123abcdef45`") == Command(Verb.APPROVE, "0123abcdef45")


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("/approve steps 1,3", "steps 1,3"),
        ("/approve step 3", "steps 3"),
        ("/Approve Steps 3, 1 2", "steps 1,2,3"),
        ("/approve steps 2-4,1", "steps 1,2,3,4"),
    ],
)
def test_an_approval_may_name_steps(written: str, kept: str) -> None:
    assert read(written) == Command(Verb.APPROVE, kept)


@pytest.mark.parametrize(
    "behind", ["steps", "steps one", "steps 0", "steps 1,,2", "steps 4-2", "steps 1 and more", "steps 1;2", "step 1234"]
)
def test_steps_that_cannot_be_read_are_not_guessed(behind: str) -> None:
    reading = read(f"/approve {behind}")
    assert isinstance(reading, Misspelt) and reading.form == "/approve steps 1,3"


def test_reasons_and_answers_go_on_to_the_end_of_their_paragraph() -> None:
    assert read("/reject not now,\nlater\n\nThanks") == Command(Verb.REJECT, "not now, later")
    assert read("/answer it has\ntwo") == Command(Verb.ANSWER, "it has two")
    assert read("/reject") == Command(Verb.REJECT)


def test_an_answer_needs_words_and_a_new_attempt_has_none() -> None:
    assert read("/answer") == Misspelt("/answer", Verb.ANSWER, "/answer and your words")
    assert read("/refresh") == Command(Verb.REFRESH)
    assert read("/refresh but smaller") == Misspelt("/refresh but smaller", Verb.REFRESH)
    assert read("/retry now") == Misspelt("/retry now", Verb.RETRY)


def test_every_verb_stands_in_the_table_and_its_rows_are_read_as_they_are_written() -> None:
    assert {one.verb for one in COMMANDS} == set(Verb)
    for one in COMMANDS:
        assert read(one.written) == Command(one.verb, one.argument), one.written


def test_the_words_behind_revise_are_kept() -> None:
    assert read("/revise use the retries option") == Command(Verb.REVISE, "use the retries option")


def test_a_wish_goes_on_to_the_end_of_its_paragraph_and_holds_no_command() -> None:
    wish = "use retries /approve it later"
    assert read("/revise use retries\n/approve it later\n\nThanks") == Command(Verb.REVISE, wish)


def test_two_different_commands_are_not_followed() -> None:
    assert read("/approve\n/reject") == Several(("/approve", "/reject"))
    assert read("/approve steps 1\n\n/approve") == Several(("/approve steps 1", "/approve"))
    assert read("/approve\n\n/approve") == Command(Verb.APPROVE)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Do not\n/approve\nthis!", "Do not /approve this!"),
        ("/approve\nThanks", "/approve Thanks"),
        ("/approve.", "/approve."),
        ("/approve!", "/approve!"),
        ("# /approve", "# /approve"),
        ("/approve\n---\nMira", "/approve ---"),
    ],
)
def test_a_command_amid_other_words_is_none_and_its_writer_is_told(text: str, written: str) -> None:
    assert read(text) == Misspelt(written, Verb.APPROVE)


@pytest.mark.parametrize(
    "text",
    [
        "</div>\n\n<blockquote>\n\n/approve\n\n</blockquote>",
        "</p></p>\n\n<details>\n\n/approve\n\n</details>",
        "<blockquote/>\n\n/approve\n\n</blockquote>",
        "mira said <blockquote>\n\n/approve\n\n</blockquote>",
        "see <DETAILS> below\n\n/approve\n\n</DETAILS>",
        "<details></p>\n\n/approve\n\n</details>",
        '<blockquote><a title="></a></blockquote>">\n\n/approve\n\n</blockquote>',
        '<blockquote><b x=a" y="></blockquote>"></b>\n\n/approve',
        '<div><i t="<!--"><blockquote><i t="-->"></i></i></div>\n\n/approve',
        "<blockquote>\n<!-- </blockquote>\n\n-->\n\n/approve",
        "<blockquote><!a </blockquote>\n\n/approve",
        '<div></div><b title="\n\n/approve\n\n">',
    ],
)
def test_html_that_does_not_balance_lets_no_quotation_speak(text: str) -> None:
    assert read(text) == NoCommand()


def test_html_that_quotes_nothing_does_not_keep_what_follows_from_being_heard() -> None:
    for before in (
        "A `Vec` is a Vec<String> here",
        "one<br>two",
        "<blockquote>old</blockquote>",
        "H<sub>2</sub>O",
        "<p align=center><img src='x>y' alt=\"a\"></p>",
        "`<!--` hides what follows",
        "I asked <theo@example.org> and these are his words:",
        "[1]: https://example.org",
    ):
        assert read(f"{before}\n\n/approve") == Command(Verb.APPROVE), before


def test_a_near_miss_beside_a_command_is_asked_about_before_anything_is_followed() -> None:
    assert read("/approve\n\n/reject.") == Several(("/approve", "/reject"))
    assert read("/approve\n\n/approve if the tests pass") == Misspelt("/approve if the tests pass", Verb.APPROVE)
    assert read("/approve `<!--` if it is good `-->`") == Misspelt("/approve `<!--` if it is good `-->`", Verb.APPROVE)


def test_what_a_footnote_says_is_no_command() -> None:
    """GitHub has footnotes; what is read here as the definition of a link would take its first line away."""
    for text in ("[^1]: see\n/approve", "[^1]:\n/approve"):
        assert isinstance(read(text), Misspelt), text


@pytest.mark.parametrize("piece", ["<a ", "<!--", '<a ="', "<b>", "</b>", "<a@", "<!-- a -->"])
def test_html_without_end_is_read_in_one_pass(piece: str) -> None:
    assert read(f"<div>{piece * 9_000}\n\n/approve") == NoCommand()


def test_the_same_command_twice_is_one() -> None:
    assert read("/cancel\n/cancel") == Command(Verb.CANCEL)


def test_another_bots_command_is_none_of_ours() -> None:
    assert read("/lgtm") == NoCommand()
    assert read("/assign @somebody") == NoCommand()


@given(st.text(max_size=400))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert isinstance(read(text), Command | Misspelt | Several | NoCommand)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\r\n"), max_size=60), max_size=6))
def test_nothing_within_a_quotation_is_ever_a_command(lines: list[str]) -> None:
    quoted = "\n".join(f"> {line}" for line in [*lines, "/approve"])
    assert read(quoted) == NoCommand()


PIECES = (*"\"'=><x `\n", "<b>", "</b>", "</p>", "</div>", "<div ", "\n\n", "<!--", "-->", "<!")


@given(st.sampled_from(("blockquote", "details")), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_nothing_gets_out_of_an_element_but_by_its_own_end(name: str, markup: str) -> None:
    assert not isinstance(read(f"<{name}>{markup}\n\n/approve"), Command)


@given(st.text(alphabet=st.characters(exclude_characters="`~\r\n"), max_size=80))
def test_nothing_within_a_fence_is_ever_a_command(text: str) -> None:
    assert read(f"```\n{text}\n/approve\n```") == NoCommand()
