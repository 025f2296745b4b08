"""Labels that were set while nothing was delivered, and that GitHub's log has forgotten since, are found by reading."""

import json
from datetime import timedelta

from app.core.belts import Belt
from app.core.missed import KEPT_DAYS
from app.core.news import Seen
from app.core.run import Closed, ClosedReason, Wanted
from tests.fakes.story import REPO, Story
from worker.late_labels import AGAIN, LateLabels

OTHER = "acme/other"
LONGER = timedelta(days=KEPT_DAYS + 1)


def looks(story: Story) -> None:
    """The publisher was started anew, and looks for labels of which nobody was told."""
    LateLabels(story.shops[Belt.PUBLISHER], story.watch).look(story.now())
    story.crank()


def runs(story: Story) -> dict[tuple[str, int], int]:
    """How many runs each issue had."""
    found = [(one.repository, one.issue_number) for one in story.ledger.runs()]
    return {one: found.count(one) for one in found}


def test_a_label_that_the_log_forgot_begins_its_run_by_the_usual_gate_and_once(
    story_on_each_database: Story,
) -> None:
    story = story_on_each_database
    story.away |= {Belt.PLANNER}
    story.control.add_repo(OTHER, {"a": "b\n"}, collaborators={"mira": "maintain"})
    story.control.open_issue(OTHER, "mira", "Another", "one")
    story.catch_up()
    # The mint is away; the first label is still received.
    heard, taken_off, closed = (story.olga.opens_an_issue(title, "text") for title in ("heard", "taken off", "closed"))
    story.mira.labels(number=heard)
    story.web_is_away()
    story.mira.labels()
    form = story.olga.opens_an_issue("by a form", "text", labels=["countersign"], through="form")
    for number in (taken_off, closed):
        story.mira.labels(number=number)
    story.mira.unlabels(number=taken_off)
    story.mira.closes_the_issue(closed)
    story.mira.labels("bug", story.olga.opens_an_issue("another label", "text"))
    story.control.label(OTHER, 1, "countersign:docs", "mira")
    story.pass_time(LONGER)
    story.web_is_there()
    story.catch_up(rounds=2)
    places = story.ledger.unheard(story.now())
    assert runs(story) == {(REPO, heard): 1} and {one.repository for one in places} == {REPO, OTHER}
    # The publisher ends in the midst: one of the two could not be read yet, and the other is read once more.
    story.control.fault(f"GET .*/{OTHER}/issues$", status=503)
    looks(story)
    assert runs(story) == {(REPO, heard): 1, (REPO, 1): 1, (REPO, form): 1}
    again = next(one for one in places if one.repository == REPO)
    story.ledger.to_be_read([Seen(again.repository_id, REPO, again.installation_id)], again.gap, story.now())
    story.pass_time(AGAIN)
    looks(story)
    found = {(REPO, heard): 1, (REPO, 1): 1, (REPO, form): 1, (OTHER, 1): 1}
    assert runs(story) == found and story.ledger.unheard(story.now() + 2 * AGAIN) == ()
    assert isinstance(story.state(), Wanted) and story.state().request.labeller.login == "mira"
    refused = story.state(form)
    assert isinstance(refused, Closed) and refused.reason is ClosedReason.NOT_ALLOWED
    other = story.ledger.run(next(one.id for one in story.ledger.runs() if one.repository == OTHER))
    assert other is not None and other.state.request.label_word == "docs"
    # What was delivered comes after all; and the one that was heard of was read as well: no label counts twice.
    for one in story.control.deliveries():
        told = one["request"]["payload"]
        if one["action"] == "labeled" and told["issue"]["number"] == 1:
            assert story.deliver("issues", json.dumps(told).encode()) == 202
    story.crank()
    assert runs(story) == found
    assert all("labelled_again" not in story.kinds(number) for number in (1, heard))
    story.watch.close()
    assert [one for one in story.control.tokens() if not one["revoked"]] == []
    story.ended = True
