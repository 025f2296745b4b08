"""A run's own label is known by its id, whatever it is called by now, and the other trigger labels by their names."""

from typing import Any

import pytest

from app.core.run import Request
from worker.github.marks import carries, label_words
from worker.github.views import LabelView


def wish(label: str, **more: Any) -> Request:
    values = {"run": "r-abcdefghijkl", "installation_id": 1, "repository_id": 2, "repository": "acme/greet"}
    about = {"issue_number": 3, "issue_title": "t", "issue_digest": "a" * 64, "author": None, "labeller": None}
    return Request(**(values | about | {"label": label} | more))


RENAMED = wish("ai-plan", label_id=9, renamed_from="countersign:docs", label_word="docs")
PLAIN = wish("countersign")


@pytest.mark.parametrize(
    ("request_", "labels", "there"),
    [
        (RENAMED, (LabelView(id=9, name="anything"),), True),
        (RENAMED, (LabelView(id=8, name="ai-plan"),), False),
        (RENAMED, ("AI-plan",), True),
        (PLAIN, (LabelView(id=8, name="Countersign"),), True),
        (PLAIN, ("bug",), False),
        (PLAIN, (), False),
    ],
)
def test_its_own_label_is_known_by_its_id_and_else_by_its_name(request_: Request, labels: Any, there: bool) -> None:
    assert carries(request_, labels) is there


def test_the_words_of_all_trigger_labels_are_read_and_its_own_counts_under_any_name() -> None:
    labels = (LabelView(id=9, name="ai-plan"), LabelView(id=4, name="Countersign: Tests"), "countersign", "bug")
    assert label_words(RENAMED, labels) == ("docs", "tests", "")
    assert label_words(PLAIN, ("countersign-old", "countersign:docs")) == ("docs",)
