"""Of a very large tree, the files that are compared: over real git objects, with the limits made small."""

import pytest

from worker.repo.ranking.gather import code_files
from worker.repo.ranking.issue import IssueText, read_issue
from worker.repo.ranking.narrowing import Most, narrowed

FILES = {f"lib/part_{number:03}.py": b"def part():\n    pass\n" for number in range(60)} | {
    "deep/below/basket.py": b"def empty():\n    pass\n",
    "deep/below/other.py": b"def rounded_total(amount):\n    return amount\n",
    "deep/above/caller.py": b"from deep.below.other import rounded_total\nrounded_total(1)\n",
    "zoo/keeper/feeding.py": b"def feed():\n    pass\n",
    "zoo/odd name.py": b"rounded_total\n",
}


@pytest.fixture
def chosen(snapshot_of):
    def choose(title: str, body: str = "", most: int = 8, **more: float) -> list[str]:
        snapshot = snapshot_of(FILES)
        asked = read_issue(IssueText(title, body))
        found = narrowed(asked, snapshot, code_files(snapshot), Most(files=most, **more))
        return [entry.path for entry in found]

    return choose


def test_a_tree_within_the_limit_is_compared_whole(chosen):
    assert sorted(chosen("Anything", most=100)) == sorted(FILES)


def test_files_that_hold_a_name_come_first_wherever_they_are(chosen):
    found = chosen("`rounded_total` is off by one")
    assert len(found) == 8
    assert set(found[:3]) == {"deep/below/other.py", "deep/above/caller.py", "zoo/odd name.py"}


def test_words_of_the_issue_in_a_path_count(chosen):
    assert chosen("The basket is wrong")[0] == "deep/below/basket.py"
    assert "zoo/keeper/feeding.py" in chosen("A keeper is late", most=4)


@pytest.mark.parametrize(
    "body",
    [
        "See `zoo/keeper/feeding.py`.",
        '```\n  File "/opt/zoo/keeper/feeding.py", line 1, in feed\n```',
        "`keeper.feeding`",
    ],
)
def test_a_path_a_frame_or_a_module_that_is_named_counts_most(chosen, body):
    assert chosen("`rounded_total` fails", body)[0] == "zoo/keeper/feeding.py"


def test_without_a_name_or_a_word_the_first_in_order_are_compared(chosen):
    assert chosen("Help", most=3) == sorted(FILES)[:3]


def test_a_search_that_takes_too_long_leaves_the_paths(chosen):
    assert chosen("`rounded_total` in the basket", most=3, seconds=0.0)[0] == "deep/below/basket.py"


def test_bytes_have_a_limit_as_well(chosen):
    found = chosen("`rounded_total` is off by one", most=100, bytes=120)
    assert found[0] in ("deep/below/other.py", "deep/above/caller.py", "zoo/odd name.py") and len(found) < 5
