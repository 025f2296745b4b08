"""Who decides, and who did: in the plan comment, the status and the draft."""

from app.comments import deciding, draft, status
from app.comments import plan as plan_comment
from app.core.issue import Person
from app.core.policy import Approving, Policy, Protecting
from app.core.run import Approved, Proposed
from tests.fakes.plans import plan
from tests.rooms.comments.test_words import APPROVAL, PROPOSAL, REQUEST, SPENT, report

OTTO = APPROVAL.model_copy(update={"person": Person(id=2, login="otto@x"), "role_name": "admin", "source": "reaction"})
TOUCHES = PROPOSAL.model_copy(update={"paths": ("poetry.lock", "src/a.py", "src/b.py")})


def test_one_approval_that_is_enough_is_not_spoken_of() -> None:
    known = PROPOSAL.model_copy(update={"paths": ("src/a.py",)})
    assert deciding.beyond_one(Policy(), known) == deciding.beyond_one(None, known) == ""
    assert "It takes" not in plan_comment.render(plan(), known, "", Policy())


def test_what_it_takes_beyond_one_is_said_where_one_says_yes() -> None:
    text = plan_comment.render(plan(), TOUCHES, "", Policy())
    assert "> **It takes 2 approvals, each by somebody else, since it touches `poetry.lock` (lock file).**\n" in text
    strict = Policy(
        approve=Approving(count=3, code_owners="must", labeller_may_approve=False, author_may_approve=False),
        protected=Protecting(paths=("src/",)),
    )
    assert deciding.beyond_one(strict, TOUCHES) == (
        "It takes 3 approvals, each by somebody else. Code owners of everything that it touches have to be among those "
        "who approve. Somebody other than who set the label and who wrote the issue has to approve."
    )


def test_many_protected_paths_are_counted() -> None:
    many = PROPOSAL.model_copy(update={"paths": tuple(f"src/{n}.py" for n in range(9))})
    assert " and 4 more." in deciding.beyond_one(Policy(protected=Protecting(paths=("src/",))), many)


def test_approvals_so_far_and_all_approvers_are_named_in_the_status() -> None:
    two = Policy(approve=Approving(count=2))
    waiting = Proposed(request=REQUEST, policy=two, proposal=TOUCHES, given=(OTTO,))
    text = status.render(waiting)
    assert "waits for another maintainer" in text and "(1 of 2)" in text and "otto@x" not in text
    approved = Approved(request=REQUEST, policy=two, proposal=TOUCHES, approval=APPROVAL, also=(OTTO,))
    assert "and mira and is being carried out" in status.render(approved)


def test_every_approver_stands_in_the_draft_and_in_the_commit() -> None:
    body = draft.body(plan(), APPROVAL, report(), SPENT, (OTTO,))
    assert "(admin) with a 👍 on 2026-03-03 12:00 UTC, and by mira (maintain) with a comment on" in body
    message = draft.Words(plan(), APPROVAL, (OTTO,)).whole()[0]
    assert message.endswith("Approved-By: ottox (id 2)\nApproved-By: mira (id 1)\n")


def test_what_the_plan_promises_stands_in_the_draft() -> None:
    acceptance = [{"id": 1, "words": "999999 is 1.0 MB. @mira", "steps": [1, 2], "checks": ["pytest"]}]
    body = draft.body(plan(acceptance=acceptance), APPROVAL, report(), SPENT)
    assert "**What it is to bring about**\n\n1. 999999 is 1.0 MB." in body and "@mira" not in body
    assert "bring about" not in draft.body(plan(), APPROVAL, report(), SPENT)
