"""Paired comparison: tables with known p-values, and what must hold for any two results."""

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.paired import ALPHA, Compared, Judged, compare, sign_flip_test, sign_test


@pytest.mark.parametrize(
    ("up", "down", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (8, 2, 0.109375), (9, 1, 0.021484375), (3, 3, 1.0)],
)
def test_the_sign_test_gives_the_binomials_two_sides(up: int, down: int, p: float) -> None:
    assert sign_test(up, down) == sign_test(down, up) == pytest.approx(p)


@pytest.mark.parametrize(
    ("differences", "p"),
    [([], 1.0), ([0.0, 0.0], 1.0), ([0.5], 1.0), ([0.1] * 5, 0.0625), ([0.1] * 6, 0.03125), ([0.3, -0.1], 1.0)],
)
def test_the_sign_flip_test_on_small_tables(differences: list[float], p: float) -> None:
    assert sign_flip_test(differences) == pytest.approx(p)


@given(st.lists(st.integers(-1000, 1000).map(lambda one: one / 1000), max_size=8))
def test_the_sign_flip_test_counts_as_trying_out_every_sign_does(differences: list[float]) -> None:
    whole = [round(one * 1000) for one in differences]
    every = [
        abs(sum(sign * one for sign, one in zip(signs, whole, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(whole))
    ]
    assert sign_flip_test(differences) == pytest.approx(sum(one >= abs(sum(whole)) for one in every) / len(every))


def one(before: list[float | bool | None], after: list[float | bool | None]) -> Compared:
    (found,) = compare(_by_task(before), _by_task(after))
    return found


def _by_task(values: list[float | bool | None]) -> Mapping[str, Mapping[str, float | bool | None]]:
    return {f"task-{number}": {"figure": value} for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("before", "after", "judged"),
    [
        ([False] * 8, [True] * 8, Judged.BETTER),
        ([True] * 8, [False] * 8, Judged.WORSE),
        ([True] * 12, [True] * 10 + [False] * 2, Judged.NOISE),
        ([True] * 4, [False] * 4, Judged.TOO_FEW),
        ([0.9] * 8, [0.7] * 8, Judged.WORSE),
        ([0.9, 0.8] * 6, [0.8, 0.9] * 6, Judged.NOISE),
        ([True] * 8, [True] * 8, Judged.NOISE),
    ],
)
def test_a_difference_counts_only_where_it_is_more_than_noise(
    before: list[float | bool | None], after: list[float | bool | None], judged: Judged
) -> None:
    assert one(before, after).judged is judged


def test_only_tasks_that_both_results_know_are_compared() -> None:
    found = one([True, None, True, False], [True, True, None])
    assert (found.tasks, found.before, found.after, found.differing) == (1, 1.0, 1.0, 0)
    assert compare(_by_task([None]), _by_task([True])) == ()


def test_more_figures_do_not_find_more_differences() -> None:
    before = {f"t{n}": {"a": False, "b": 0.5, "c": 0.5} for n in range(6)}
    alone = {task: {"a": True} for task in before}
    (single,) = compare(before, alone)
    assert (single.p <= ALPHA, single.judged) == (True, Judged.BETTER)
    among = {task: {"a": True, "b": 0.5, "c": 0.5} for task in before}
    assert compare(before, among)[0].judged is Judged.NOISE


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_the_other_way_round_it_is_judged_the_other_way_round(pairs: list[tuple[bool, bool]]) -> None:
    there, back = one([a for a, _ in pairs], [b for _, b in pairs]), one([b for _, b in pairs], [a for a, _ in pairs])
    other = {Judged.BETTER: Judged.WORSE, Judged.WORSE: Judged.BETTER}
    assert back.judged is other.get(there.judged, there.judged)
    assert there.p == back.p
