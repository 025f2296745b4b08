"""What became of a pull request: by whom its commits are, and whether what was merged is what was opened."""

import pytest

from app.core.issue import Person
from app.core.outcome import BranchCommit, Outcome, PullRequestRead, outcome_of
from app.core.run import Closed, ClosedReason, PullRequest, State
from tests.fakes.facts import START, a_pull, lived

BOT, MIRA = Person(id=77, login="countersign[bot]", is_bot=True), Person(id=1, login="mira")


def commit(author: Person | None, merge: bool = False) -> BranchCommit:
    return BranchCommit(id="c" * 40, author=author, merge=merge)


def ended(reason: ClosedReason, pull: PullRequest | None = None) -> Closed:
    request = lived(lambda options: options[0], 1).state.request
    return Closed(request=request, reason=reason, words="", pull=pull)


@pytest.mark.parametrize(
    ("commits", "outcome"),
    [
        ([commit(BOT)], Outcome.MERGED),
        ([commit(BOT), commit(MIRA, merge=True)], Outcome.MERGED),
        ([commit(BOT), commit(MIRA)], Outcome.CHANGED),
        ([commit(BOT), commit(None)], Outcome.CHANGED),
        ([], Outcome.MERGED),
    ],
)
def test_a_merge_counts_as_changed_by_hand_where_a_person_made_one_of_its_commits(
    commits: list[BranchCommit], outcome: Outcome
) -> None:
    read = PullRequestRead(at=START, number=8, commits=tuple(commits))
    assert outcome_of(ended(ClosedReason.MERGED, a_pull(8)), [read]) is outcome
    assert outcome_of(ended(ClosedReason.PULL_REQUEST_CLOSED, a_pull(8)), [read]) is Outcome.CLOSED


def test_nothing_became_of_a_pull_request_that_is_open_or_never_was() -> None:
    states: list[State] = [ended(ClosedReason.REJECTED), ended(ClosedReason.CANCELLED, a_pull(8))]
    assert [outcome_of(one, []) for one in states] == [None, None]
    assert outcome_of(ended(ClosedReason.MERGED, a_pull(8)), []) is Outcome.MERGED
