"""Mechanical rules on real git objects: every place and no other byte, within bounds of time and memory."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.rule import LiteralRule, RegexRule, SyntaxRule
from app.core.verdict import Allowed, Refused
from worker.repo.edits import Overlay
from worker.repo.fence import Fence
from worker.repo.mechanical import Place, Rewriting, files_of, rewrite
from worker.repo.rewriting import Unusable, edits_of

ALL = ("**/*",)


def made(rule, snapshot):
    outcome = rewrite(rule, snapshot, files_of(rule, snapshot))
    assert isinstance(outcome, Rewriting), outcome
    return {one.path: one.content for one in outcome.files}


def refused(rule, snapshot):
    outcome = rewrite(rule, snapshot, files_of(rule, snapshot))
    assert isinstance(outcome, Refused), outcome
    return str(outcome)


def literal(pattern, replacement, paths=ALL):
    return LiteralRule(pattern=pattern, replacement=replacement, paths=paths)


def regex(pattern, replacement, paths=ALL):
    return RegexRule(pattern=pattern, replacement=replacement, paths=paths)


def syntax(rule, fix, language="python", paths=ALL):
    return SyntaxRule(text=f"language: {language}\nrule:\n  pattern: {rule}\nfix: |\n  {fix}", paths=paths)


def test_every_place_changes_and_no_other_byte(snapshot_of):
    files = {
        "a.py": b"old = old_one\r\nnew\r\n", "b.txt": "\ufeffold \U0001f600 old".encode(), "sub/c.py": b"none\n",
        "bad.py": b"old \xff\n", "mixed.py": b"old\r\nold\n", "bin.py": b"old\0", "link.py": ("120000", b"old"),
        "utf16.py": "old".encode("utf-16"),
    }  # fmt: skip
    outcome = rewrite(literal("old", "n\new"), snapshot_of(files), files_of(literal("old", "n"), snapshot_of(files)))
    assert {one.path: one.content for one in outcome.files} == {
        "a.py": b"n\r\new = n\r\new_one\r\nnew\r\n",
        "b.txt": "\ufeffn\new \U0001f600 n\new".encode(),
    }
    assert outcome.left_out == ("bad.py", "bin.py", "mixed.py")
    assert outcome.files[0].places == (Place(1, 1, "old", "n\new"), Place(1, 1, "old", "n\new"))


def test_places_are_told_by_their_lines_as_they_are_now(snapshot_of):
    files = {"a.txt": b"x\nold\nold\n\ny old\n"}
    rule = regex(r"old\n(?=old)|y ", "z\n\n\n")
    outcome = rewrite(rule, snapshot_of(files), files_of(rule, snapshot_of(files)))
    assert [(place.start, place.end) for place in outcome.files[0].places] == [(2, 2), (5, 5)]


def test_globs_take_files_in_and_out_again(snapshot_of):
    files = dict.fromkeys(("src/a.py", "src/deep/b.py", "src/gen/c.py", "d.py", "src/e.md"), b"old\n")
    rule = literal("old", "new", ("src/**/*.py", "!src/gen/"))
    assert set(made(rule, snapshot_of(files))) == {"src/a.py", "src/deep/b.py"}
    files |= {"x.py": b"say(1)\n", "x.md": b"say(1)\n"}
    assert set(made(syntax("say($A)", "tell($A)"), snapshot_of(files))) == {"x.py"}


def test_groups_of_an_expression_stand_in_its_replacement(snapshot_of):
    files = {"a.txt": b"alpha=1\nbeta=22\n"}
    assert made(regex(r"^(?P<name>\w+)=(\d+)$", r"\2:\g<name>"), snapshot_of(files)) == {"a.txt": b"1:alpha\n22:beta\n"}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (regex("(", ""), "not a regular expression"),
        (regex("a", r"\3"), "does not fit the pattern"),
        (regex("b*", "c"), "matches where nothing stands, in a.py"),
        (syntax("say($A)", "tell($B)"), "names `$B`, which the rule does not capture"),
        (SyntaxRule(text="language: python\nrule: {kind: nosuch}\nfix: x", paths=ALL), "Kind `nosuch` is invalid"),
        (SyntaxRule(text="language: python\nrule: {patern: x}\nfix: x", paths=ALL), "unknown field `patern`"),
    ],
)
def test_a_rule_that_cannot_be_carried_out_is_refused_with_a_sentence(snapshot_of, rule, words):
    assert words in refused(rule, snapshot_of({"a.py": b"say(aab)\n"}))


def test_an_expression_that_takes_for_ever_is_ended(snapshot_of):
    began = time.monotonic()
    said = refused(regex("(?:a+a+)+[bc]", ""), snapshot_of({"slow.txt": b"a" * 3_000 + b"\n"}))
    assert "more than 1 s on slow.txt" in said
    assert time.monotonic() - began < 60


def test_a_syntax_rule_that_takes_for_ever_is_ended(snapshot_of):
    inner = "has: {kind: call, stopBy: end, has: {regex: zzz, stopBy: end}}"
    text = f"language: python\nrule: {{kind: call, inside: {{kind: module, stopBy: end, {inner}}}}}\nfix: x"
    rule = SyntaxRule(text=text, paths=ALL)
    snapshot = snapshot_of({"slow.py": b"".join(b"f(%d)\n" % n for n in range(4_000))})
    began = time.monotonic()
    outcome = rewrite(rule, snapshot, files_of(rule, snapshot), 1.0)
    assert isinstance(outcome, Refused)
    assert "took too long" in str(outcome)
    assert time.monotonic() - began < 30


def test_a_rule_that_makes_more_text_than_fits_is_ended(snapshot_of):
    said = refused(literal("a", "x" * 4_000), snapshot_of({"a.txt": b"a" * 18_000}))
    assert "could not be carried out" in said


def test_more_places_than_anybody_reads_are_refused():
    with pytest.raises(Unusable, match="more than 20,000 places"):
        edits_of({"kind": "literal", "pattern": "a", "replacement": "b"}, [("a", "a" * 20_001)])


def test_a_syntax_rule_fills_in_what_it_captured(snapshot_of):
    code = "# é \U0001f600\nif x:\n    say(one, two=[1,  2])  # why\nsay('a')\n"
    rule = syntax("say($$$ALL)", "tell(\n      $$$ALL,\n  )")
    assert made(rule, snapshot_of({"a.py": code.encode()}))["a.py"].decode() == (
        "# é \U0001f600\nif x:\n    tell(\n        one, two=[1,  2],\n    )  # why\ntell(\n    'a',\n)\n"
    )


def test_of_places_within_one_another_only_the_outer_one_changes(snapshot_of):
    snapshot = snapshot_of({"a.py": b"say(say(1))\n"})
    rule = syntax("say($A)", "tell($A)")
    outcome = rewrite(rule, snapshot, files_of(rule, snapshot))
    assert outcome.files[0].content == b"tell(say(1))\n"
    assert outcome.nested == 1


def test_a_syntax_rule_is_carried_out_in_each_language_that_a_form_may_name(snapshot_of):
    snapshot = snapshot_of({"a.ts": b"say(1);\n", "b.go": b"package a\nfunc f() { say(1) }\n", "c.rb": b"say(1)\n"})
    for language, path in (("typescript", "a.ts"), ("go", "b.go"), ("ruby", "c.rb")):
        assert set(made(syntax("say($A)", "tell($A)", language), snapshot)) == {path}


@given(st.text("ab\n", min_size=1, max_size=4), st.text("abc", max_size=3), st.text("ab\n", max_size=40))
def test_a_literal_rule_does_what_replacing_a_text_does(old, new, text):
    edits = edits_of({"kind": "literal", "pattern": old, "replacement": new}, [("f", text)])["edits"].get("f", [])
    at, pieces = 0, []
    for start, end, put in edits:
        pieces += [text[at:start], put]
        at = end
    assert "".join([*pieces, text[at:]]) == text.replace(old, new)


def test_a_whole_new_content_stays_within_the_steps_fence(tree_of):
    overlay = Overlay(tree_of({"a.py": b"old\r\n", "b.py": b"b\n"}))
    step = overlay.begin(Fence({"a.py": "change"}))
    assert isinstance(step.rewrite("b.py", b"x"), Refused)
    assert isinstance(step.rewrite("c.py", b"x"), Refused)
    assert not isinstance(step.rewrite("a.py", b"new\r\n"), Refused)
    assert step.keep() == Allowed()
    assert [(one.path, one.content) for one in overlay.changes()] == [("a.py", b"new\r\n")]
