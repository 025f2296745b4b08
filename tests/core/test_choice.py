"""Which version of a template a run gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.choice import Candidate, Chosen, VersionRules, Why, choose, current_version, ordered, read_rules
from app.core.verdict import Refused

KNOWN = {"bugfix": ("1.2.0", "1.9.0", "1.10.0"), "docs": ("1.0.0",)}
NONE = VersionRules()


def test_the_newest_by_number_is_current() -> None:
    assert ordered({"1.9.0", "1.10.0", "1.2.0"}) == KNOWN["bugfix"]
    assert choose("bugfix", "r-1", KNOWN, NONE) == Chosen("bugfix", "1.10.0", Why.CURRENT)


def test_a_repository_gets_exactly_the_version_that_it_pins() -> None:
    assert choose("bugfix@1.2.0", "r-1", KNOWN, NONE) == Chosen("bugfix", "1.2.0", Why.PINNED)
    refused = choose("bugfix@3.0.0", "r-1", KNOWN, NONE)
    assert isinstance(refused, Refused)
    assert "1.2.0, 1.9.0, 1.10.0" in str(refused)


@pytest.mark.parametrize(("rules", "current"), [("bugfix@1.2.0", "1.2.0"), ("bugfix<=1.9.5", "1.9.0")])
def test_the_operator_bounds_what_anybody_gets(rules: str, current: str) -> None:
    ruled = read_rules(rules, "")
    assert isinstance(ruled, VersionRules)
    assert choose("bugfix", "r-1", KNOWN, ruled) == Chosen("bugfix", current, Why.CURRENT)
    assert isinstance(choose("bugfix@1.10.0", "r-1", KNOWN, ruled), Refused)
    assert choose("docs", "r-1", KNOWN, ruled) == Chosen("docs", "1.0.0", Why.CURRENT)


def test_a_bound_below_everything_allows_nothing() -> None:
    ruled = read_rules("bugfix<=0.9.0", "")
    assert isinstance(ruled, VersionRules)
    assert isinstance(choose("bugfix", "r-1", KNOWN, ruled), Refused)


@pytest.mark.parametrize("asked", ["", "feature", "../bugfix", "bugfix@", "bugfix@1", "bugfix@latest", "Bugfix"])
def test_a_template_that_is_not_there_is_refused_with_those_that_are(asked: str) -> None:
    assert "bugfix, docs" in str(choose(asked, "r-1", KNOWN, NONE))


@given(st.integers(0, 100), st.integers(0, 2**32))
def test_a_candidate_gets_about_its_share_and_a_run_always_the_same(percent: int, seed: int) -> None:
    rules = VersionRules(candidates={"bugfix": Candidate("1.10.0", percent)})
    runs = [f"r-{seed}-{number}" for number in range(400)]
    chosen = [choose("bugfix", run, KNOWN, rules) for run in runs]
    assert chosen == [choose("bugfix", run, KNOWN, rules) for run in runs]
    got = sum(one == Chosen("bugfix", "1.10.0", Why.CANDIDATE) for one in chosen)
    assert got + chosen.count(Chosen("bugfix", "1.9.0", Why.CURRENT)) == 400
    assert abs(got / 4 - percent) < 15
    assert percent not in (0, 100) or got == percent * 4


def test_who_pins_a_version_is_given_no_candidate() -> None:
    rules = VersionRules(candidates={"bugfix": Candidate("1.10.0", 100)})
    assert choose("bugfix@1.9.0", "r-1", KNOWN, rules) == Chosen("bugfix", "1.9.0", Why.PINNED)


def test_a_candidate_beside_a_pin_of_the_operators_is_his_own_word() -> None:
    rules = read_rules("bugfix@1.2.0", "bugfix@1.10.0:100%")
    assert isinstance(rules, VersionRules)
    assert choose("bugfix", "r-1", KNOWN, rules) == Chosen("bugfix", "1.10.0", Why.CANDIDATE)
    assert current_version("bugfix", KNOWN["bugfix"], rules) == "1.2.0"


@pytest.mark.parametrize(
    ("versions", "candidates"),
    [("bugfix", ""), ("bugfix>=1.0.0", ""), ("bugfix@1", ""), ("", "bugfix@1.0.0"), ("", "bugfix@1.0.0:101%")],
)
def test_a_setting_that_cannot_be_meant_is_refused(versions: str, candidates: str) -> None:
    assert isinstance(read_rules(versions, candidates), Refused)


def test_several_rules_stand_in_one_setting() -> None:
    assert read_rules(" bugfix@1.2.0, docs<=2.0.0 ", "bugfix@1.9.0:5 docs@1.0.0:10%") == VersionRules(
        {"bugfix": "1.2.0"}, {"docs": "2.0.0"}, {"bugfix": Candidate("1.9.0", 5), "docs": Candidate("1.0.0", 10)}
    )
