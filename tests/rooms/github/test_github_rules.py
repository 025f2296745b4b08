"""What rulesets ask of a branch, and which of their rules a commit of ours does not meet."""

from typing import Any

import pytest

from worker.github.rules import Offer, Rule, asks_for_signatures, fitting, unmet

OFFER = Offer("countersign/issue-7-abc", ("Round up\n\nFor issue 7.\n",), {"src/a.py": 10, "docs/big.bin": 3_000_000})


def rule(kind: str, **parameters: Any) -> Rule:
    return Rule(kind, parameters or None, "acme/app", 7)


def pattern(kind: str, operator: str, text: str, negate: bool = False) -> Rule:
    return rule(kind, operator=operator, pattern=text, negate=negate)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (rule("creation"), "Nobody may create the branch `countersign/issue-7-abc`"),
        (pattern("branch_name_pattern", "starts_with", "feature/"), "must start with `feature/`"),
        (pattern("branch_name_pattern", "contains", "issue", negate=True), "must not contain `issue`"),
        (pattern("commit_message_pattern", "regex", r"^(fix|feat): "), "message must match `^(fix|feat): `"),
        (pattern("commit_message_pattern", "ends_with", "signed"), "must end with `signed`"),
        (rule("file_path_restriction", restricted_file_paths=["src/*"]), "Nobody may push `src/a.py`"),
        (rule("file_extension_restriction", restricted_file_extensions=["*.bin"]), "with the ending of `docs/big.bin`"),
        (rule("max_file_size", max_file_size=2), "`docs/big.bin` is larger than 2 MB"),
        (rule("max_file_path_length", max_file_path_length=8), "`docs/big.bin` is longer than 8 characters"),
    ],
)
def test_a_rule_that_is_broken_is_named_with_its_ruleset(broken: Rule, words: str) -> None:
    (sentence,) = unmet((rule("deletion"), broken, rule("non_fast_forward")), OFFER)
    assert words in sentence and "ruleset 7 of acme/app" in sentence


@pytest.mark.parametrize(
    "met",
    [
        pattern("branch_name_pattern", "regex", r"^countersign/"),
        pattern("branch_name_pattern", "starts_with", "feature/", negate=True),
        pattern("commit_message_pattern", "contains", "issue 7"),
        pattern("commit_message_pattern", "ends_with", "issue 7."),
        rule("file_path_restriction", restricted_file_paths=["secrets/*"]),
        rule("file_extension_restriction", restricted_file_extensions=["exe"]),
        rule("file_extension_restriction"),
        rule("max_file_size", max_file_size=3),
        rule("max_file_path_length", max_file_path_length=12),
        rule("required_status_checks", do_not_enforce_on_create=True),
        rule("pull_request"),
        rule("a_kind_of_next_year"),
    ],
)
def test_a_rule_that_is_met_or_says_nothing_of_new_branches_is_not_named(met: Rule) -> None:
    assert unmet((met,), OFFER) == ()


def test_what_may_be_behind_a_refusal_is_named_only_where_nothing_is_certain() -> None:
    maybe = pattern("commit_author_email_pattern", "ends_with", "@acme.example")
    undecided = pattern("commit_message_pattern", "regex", "([a-z")
    assert [sentence[:20] for sentence in unmet((maybe, undecided), OFFER)] == [
        "The author's address",
        "The commit's message",
    ]
    assert len(unmet((maybe, undecided, rule("creation")), OFFER)) == 1


def test_a_pattern_without_end_is_given_up() -> None:
    endless = pattern("commit_message_pattern", "regex", r"^(a|a)*$")
    offer = Offer("b", ("a" * 60 + "!",), {})
    assert "must match" in unmet((endless,), offer)[0]


def test_the_first_message_that_the_rules_admit_is_taken() -> None:
    conventional = pattern("commit_message_pattern", "regex", r"^fix: ")
    numbered = pattern("commit_message_pattern", "regex", r"\(#\d+\)")
    messages = ("Round", "fix: Round", "Round (#7)", "fix: Round (#7)")
    assert fitting((), messages) == "Round"
    assert fitting((conventional,), messages) == "fix: Round"
    assert fitting((conventional, numbered), messages) == "fix: Round (#7)"
    assert fitting((pattern("commit_message_pattern", "contains", "JIRA-"),), messages) == "Round"


def test_signatures_are_asked_for_by_one_kind_of_rule() -> None:
    assert asks_for_signatures((rule("required_signatures"),))
    assert not asks_for_signatures((rule("creation"),))
