"""What the amendment comment says: the difference, the digest that it is bound to, and nothing of the rest."""

from typing import Any

import pytest

from app.comments import amendment, draft, status
from app.core.amending import Wish, amended
from app.core.digest import digest, short
from app.core.plan import Plan
from app.core.policy import Approving, Policy
from app.core.run import Amended, Closed, ClosedReason, KeptStep, KeptWork, Proposal, Proposed
from tests.core.test_amended_plans import CHECK, CRITERION, MOST, further
from tests.fakes.plans import plan
from tests.rooms.comments.test_words import APPROVAL, HOSTILE, PROPOSAL, REQUEST, SPENT, report

ISSUE = "https://github.example/acme/sizes/issues/3"
BEFORE = plan(acceptance=[CRITERION], evidence=[{"path": "a.py", "start": 1, "end": 2, "shows": "Not shown again."}])
SHA = "a" * 64


def made(**wish: Any) -> Plan:
    asked = Wish.model_validate({"step": 2, "why": "The unit stands in a second file."} | wish)
    return amended(BEFORE, asked, 2, Policy(), MOST)


def offer(after: Plan, kept: int = 1, comment_id: int | None = 71) -> Proposal:
    steps = tuple(KeptStep(id=number, files_ref=SHA) for number in range(1, kept + 1))
    amends = Amended(
        version=1,
        digest=digest(BEFORE),
        comment_id=comment_id,
        step=2,
        why=after.amends.why if after.amends else "",
        work=KeptWork(steps=steps),
        report_ref=SHA,
        versions=(1,),
    )
    return PROPOSAL.model_copy(update={"version": 2, "digest": digest(after), "amends": amends})


def shown(kept: int = 1, policy: Policy | None = None, comment_id: int | None = 71, **wish: Any) -> str:
    after = made(**wish)
    return amendment.render(BEFORE, after, offer(after, kept, comment_id), ISSUE, policy)


EVERYTHING: dict[str, Any] = {
    "instead": further(2, "tests/test_units.py", intent="Test the units."),
    "steps": [further(3, "src/units.py", constraints=["Keep the names."])],
    "checks": [CHECK],
    "hosts": ("a.example:443",),
    "setup": [["make", "deps"]],
    "acceptance": ("Units are right.",),
}


def test_the_difference_is_said_whole_and_nothing_else_of_the_plan() -> None:
    text = shown(**EVERYTHING)
    after = made(**EVERYTHING)
    assert text.startswith(f"### Plan, version 2 · `{short(digest(after))}` · amends version 1\n")
    for said in (
        "**Step 2 takes more than the approved plan says.** The unit stands in a second file.",
        f"`/approve {short(digest(after))}`",
        "Step 1 is done and kept; the work then goes on with step 2.",
        "As approved:\n\n- **2. Change** `tests/test_sizes.py`: Test both sides",
        "- **2. Change** `tests/test_units.py`: Test the units.",
        "- **3. Change** `src/units.py`: Change it too.\n  - keep: Keep the names.\n  - done when: It is so.",
        "- `make lint`, must pass after the change: `make lint`",
        "4. Units are right. (step 3; shown by `make lint`)",
        "- `make deps`",
        "- a.example:443",
        "- dollars: 1.50 instead of 1.00",
        "- files: 4 instead of 3",
        f"as in [version 1 (`{short(digest(BEFORE))}`)]({ISSUE}#issuecomment-71), to the letter",
        f"The digest `{digest(after)}` is of the whole plan",
    ):
        assert said in text, text
    assert "Not shown again." not in text and "src/sizes.py" not in text and "[x]" not in text


@pytest.mark.parametrize(
    ("kept", "words"),
    [(0, "taken up again, beginning with step 2"), (1, "Step 1 is done"), (3, "Steps 1, 2 and 3 are done and kept")],
)
def test_what_is_done_already_is_said(kept: int, words: str) -> None:
    assert words in shown(kept, steps=[further(3)])


def test_titles_of_what_is_not_there_are_left_out() -> None:
    text = shown(acceptance=["It rounds up."], comment_id=None)
    for title in ("Further", "said anew", "Hard limits", "Run first", "](http"):
        assert title not in text


def test_whom_it_takes_is_said_as_for_any_plan() -> None:
    assert "It takes 2 approvals" in shown(policy=Policy(approve=Approving(count=2)), steps=[further(3)])


def test_a_models_words_are_dead_in_it() -> None:
    text = shown(why=HOSTILE, steps=[further(3, intent=HOSTILE, constraints=[HOSTILE])], acceptance=[HOSTILE])
    assert "@mira" not in text and "#12" not in text and "<img" not in text and "\n# Head" not in text


def test_an_offer_of_another_plan_is_not_said() -> None:
    after = made(steps=[further(3)])
    other = offer(after).model_copy(update={"amends": None})
    with pytest.raises(ValueError, match="not of this amendment"):
        amendment.render(BEFORE, after, other, ISSUE)
    with pytest.raises(ValueError, match="more than an amendment may"):
        amendment.render(BEFORE, after.model_copy(update={"summary": "Another."}), offer(after), ISSUE)


def test_status_and_draft_say_that_a_plan_was_amended() -> None:
    after = made(steps=[further(3)])
    waiting = status.render(Proposed(request=REQUEST, proposal=offer(after)))
    assert "which amends version 1 at step 2, waits for a maintainer" in waiting
    ended = Closed(request=REQUEST, reason=ClosedReason.REJECTED, words="No.", proposal=offer(after))
    assert "The change is kept" in status.render(ended)
    text = draft.body(after, APPROVAL, report(), SPENT)
    assert f"amends the approved plan `{short(digest(BEFORE))}`, since step 2 took more: The unit stands" in text
    assert "amends" not in draft.body(plan(), APPROVAL, report(), SPENT)
