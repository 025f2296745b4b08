"""Policy: permission levels as GitHub tells them, and a file that is believed whole or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.policy import Level, Policy, level_of, parse_policy
from app.core.verdict import Refused


@pytest.mark.parametrize(
    ("permission", "role", "level"),
    [
        ("admin", "admin", Level.ADMIN),
        ("write", "maintain", Level.MAINTAIN),
        ("write", "write", Level.WRITE),
        ("read", "triage", Level.TRIAGE),
        ("read", "read", Level.READ),
        ("none", "none", Level.NONE),
        ("write", "release-captain", Level.WRITE),
        ("read", "release-captain", Level.READ),
        ("admin", "read", Level.ADMIN),
        # Contradictions and words nobody knows never raise a level.
        ("read", "write", Level.READ),
        ("read", "admin", Level.READ),
        ("none", "maintain", Level.NONE),
        ("owner", "admin", Level.NONE),
        ("", "", Level.NONE),
    ],
)
def test_a_level_is_what_both_fields_together_say(permission: str, role: str, level: Level) -> None:
    """github-facts 74, 75; case AP-02."""
    assert level_of(permission, role) is level


def test_no_file_and_an_empty_file_mean_the_safe_defaults() -> None:
    policy = parse_policy("")
    assert policy == Policy()
    assert (policy.label.role, policy.approve.role, policy.approve.days) == ("write", "write", 7)
    assert policy.label.apps == ()


def test_a_file_sets_what_it_names() -> None:
    policy = parse_policy("approve: {role: admin, labeller_may_approve: false}\nlabel: {apps: [77]}\n")
    assert isinstance(policy, Policy)
    assert (policy.approve.role, policy.approve.labeller_may_approve, policy.label.apps) == ("admin", False, (77,))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("approvers: [mira]", "approvers"),
        ("approve: {role: read}", "approve.role"),
        ("approve: {days: 0}", "approve.days"),
        ("label: {apps: [0]}", "label.apps.0"),
        ("budget: {usd: 100000}", "budget.usd"),
        ("approve:\n  role: [", "line 2"),
        ("- a\n- b", "mapping"),
        ("version: 2", "version"),
        ("x: " + "a" * 70_000, "64,000"),
    ],
)
def test_a_file_that_is_not_understood_is_refused_with_its_line_or_key(text: str, named: str) -> None:
    refused = parse_policy(text)
    assert isinstance(refused, Refused)
    assert named in refused.reason


@given(st.text(max_size=300))
def test_any_text_gives_a_policy_or_a_reason(text: str) -> None:
    assert isinstance(parse_policy(text), Policy | Refused)


def test_documentation_is_chosen_by_host_or_not_spoken_of() -> None:
    chosen = parse_policy("documentation: [docs.example.com, 'wiki.example.com:8443']")
    assert isinstance(chosen, Policy) and chosen.documentation == ("docs.example.com", "wiki.example.com:8443")
    none = parse_policy("documentation: []")
    assert isinstance(none, Policy) and none.documentation == ()
    assert Policy().documentation is None
    refused = parse_policy("documentation: docs.example.com")
    assert isinstance(refused, Refused) and "`documentation`" in refused.reason
