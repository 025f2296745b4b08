"""Where the label names no kind of work, the planner may choose another than the usual one, and the plan shows it."""

from collections.abc import Callable

from app.core.belts import Belt
from app.core.run import Closed, Proposed
from tests.fakes.greeting import FILES, calls, planned, planning, script
from tests.fakes.story import Story

Making = Callable[..., Story]
README = {"id": 1, "kind": "change", "path": "README.md", "intent": "Say what it does.", "done_when": "It says so."}
DOCS = planned(steps=[README], checks=[], budget={"files": 1})
BECAUSE = "only the page is wrong."
CHOOSES = planning(
    calls(("other_kind", {"template": "docs", "because": BECAUSE})),
    calls(("submit_plan", DOCS)),
)


def rejected(story: Story) -> None:
    story.mira.says("/reject")
    story.away.clear()
    story.ends(Closed, "rejected by mira")


def test_the_planner_chooses_a_kind_the_plan_shows_it_and_a_revision_keeps_it(make_story: Making) -> None:
    again = planning(calls(("submit_plan", DOCS | {"summary": "The page says more."})), about=("The plan before",))
    story = make_story(script(again, CHOOSES))
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    body = story.plan_is_read()["body"]
    assert f"The label names no kind of work; the planner chose docs: {BECAUSE}" in body
    assert "template docs 1." in body
    state = story.state()
    assert isinstance(state, Proposed) and state.spent.calls == 2, "what was spent before it chose counts"
    story.mira.says("/revise more")
    assert "template docs 1." in story.plan_is_read(2)["body"]
    assert "other_kind" not in story.shown_to("planner")[-1], "it is asked once"
    rejected(story)


def test_a_label_that_names_a_kind_leaves_nothing_to_choose_and_what_policy_does_not_name_cannot_be_chosen(
    make_story: Making,
) -> None:
    story = make_story(script(planning(calls(("submit_plan", DOCS)))))
    story.mira.labels("countersign:docs")
    story.plan_is_read()
    assert "other_kind" not in str(story.model.requests)
    rejected(story)


def test_only_kinds_that_the_policy_names_can_be_chosen(make_story: Making) -> None:
    policy = "templates: {'': bugfix, docs: docs@1.1.0, replace: replace}\n"
    story = make_story(script(CHOOSES), FILES | {".github/countersign.yml": policy})
    story.away.add(Belt.EXECUTOR)
    story.mira.labels()
    (tool,) = [one for one in story.model.requests[0]["body"]["tools"] if one["name"] == "other_kind"]
    assert tool["input_schema"]["properties"]["template"]["enum"] == ["docs"]
    assert "template docs 1.1.0" in story.plan_is_read()["body"]
    rejected(story)
