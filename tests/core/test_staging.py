"""What a staged run owes, and what it never does."""

import pytest

from app.core.effects import OpenDraft, Purpose, StageDraft
from app.core.move import last_work
from app.core.owed import still_owed
from app.core.policy import Policy
from app.core.run import Built, grant_of
from app.core.verdict import Allowed
from tests.core.test_advance_table import Life
from tests.fakes.facts import MIRA

STAGED = Policy(mode="staged")


@pytest.mark.parametrize(("policy", "owed"), [(Policy(), OpenDraft), (STAGED, StageDraft)])
def test_the_last_work_is_the_policys_and_the_other_one_is_never_owed(policy: Policy, owed: type) -> None:
    life = Life()
    life.proposed()
    life.decide(Purpose.APPROVE, policy=policy, person=MIRA)
    life.built()
    assert isinstance(life.state, Built) and life.owes(owed)
    digest = life.state.proposal.digest
    for kind in (OpenDraft, StageDraft):
        # Even where a row in the ledger says otherwise.
        effect = kind(key=last_work(life.state).key, plan_digest=digest)
        assert isinstance(still_owed(effect, life.state), Allowed) is (kind is owed)
    grant = grant_of(life.state, life.now())
    assert grant is not None and grant.staged is policy.staged
