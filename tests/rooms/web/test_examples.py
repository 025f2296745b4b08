"""Every example delivery that GitHub published for our events goes through the receiver."""

from collections import Counter

from app.settings import web_settings
from app.web.intake import READERS
from tests.fakes.webhook_examples import Example, examples
from tests.rooms.web.conftest import Door, running

APP = {"id": 901}


def followed(example: Example) -> bool:
    return example.payload.get("action") in READERS.get(example.event, {})


def test_the_examples_are_those_of_github_and_of_its_enterprise_server() -> None:
    assert Counter(example.source for example in examples()) == {"api.github.com": 141, "ghes-35": 52}


def test_no_example_delivery_is_an_error_and_each_is_recorded_or_ignored_with_a_reason(
    env: dict[str, str],
) -> None:
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    with running(web_settings(env | {"COUNTERSIGN_LABEL": "bug"})) as door:
        for number, example in enumerate(examples()):
            answer = door.post(example.event, example.payload | {"installation": APP}, guid=f"example-{number}")
            said = next(iter(answer.json()))
            outcomes[said] += 1
            expected = (200, {"pong"}) if example.event == "ping" else (202, {"ignored", "recorded"})
            if answer.status_code != expected[0] or said not in expected[1]:
                wrong.append(f"{example.event}.{example.payload.get('action')}: {answer.status_code} {answer.text}")
            if said == "recorded" and not followed(example):
                wrong.append(f"{example.event}.{example.payload.get('action')} was recorded and is not followed")
        assert wrong == []
        assert door.recorded() == outcomes["recorded"]
        opened = {(run.repository, run.issue_number) for run in door.ledger.runs()}
    # `bug` is the label of each published `issues.labeled` of an open issue.
    assert ("Codertocat/Hello-World", 1) in opened
    assert outcomes["recorded"] >= 20
    assert outcomes["ignored"] > outcomes["recorded"]


def test_with_another_trigger_label_no_example_opens_a_run(door: Door) -> None:
    for example in examples():
        if example.event == "issues":
            door.post(example.event, example.payload | {"installation": APP})
    assert door.ledger.runs() == ()
