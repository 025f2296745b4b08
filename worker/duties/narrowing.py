"""The planner's duty without a planner: a version of a plan with some of its steps, made by code and linted anew."""

from datetime import timedelta

from app.core.budget import Spent
from app.core.digest import digest
from app.core.effects import DraftPlan
from app.core.facts import PlanDrafted, PlanNotPossible
from app.core.lint import plan_fits
from app.core.narrowing import lost, narrowed
from app.core.plan import Plan
from app.core.policy import Policy
from app.core.run import Proposed
from app.core.template import TemplateUnreadable
from app.core.verdict import Refused
from app.ledger.outcomes import Claim
from worker.shop import Done, Shop


def narrow_plan(shop: Shop, claim: Claim) -> Done:
    """The version is kept, or the reason why there can be none. No model is asked, and GitHub neither."""
    assert isinstance(claim.effect, DraftPlan)
    before, made = _made(shop, claim)
    if before is None or isinstance(made, Refused):
        reason = made if isinstance(made, Refused) else Refused("The plan is not kept any more.")
        fact = PlanNotPossible(
            at=shop.clock(), version=claim.effect.version, reason=reason.reason, remedy=reason.remedy
        )
        return [fact], "not narrowed"
    shop.ledger.put_plan(claim.run, made)
    return [_drafted(shop, claim, before, made)], "narrowed"


def _made(shop: Shop, claim: Claim) -> tuple[Plan | None, Plan | Refused]:
    assert isinstance(claim.effect, DraftPlan) and claim.effect.narrow is not None
    before = shop.ledger.plan(claim.run, claim.effect.narrow.version)
    if before is None:
        return None, Refused("The plan is not kept any more.")
    made = narrowed(before, claim.effect.narrow, claim.effect.version)
    if isinstance(made, Refused):
        return before, made
    try:
        template = shop.pinned(before.template)
    except TemplateUnreadable as error:
        return before, Refused(str(error))
    fits = plan_fits(made, template, claim.state.policy or Policy())
    if isinstance(fits, Refused):
        return before, Refused(f"Without these steps it is no plan any more: {fits.reason}", fits.remedy)
    return before, made


def _drafted(shop: Shop, claim: Claim, before: Plan, made: Plan) -> PlanDrafted:
    view = shop.ledger.run(claim.run)
    told = [one.fact for one in view.facts if isinstance(one.fact, PlanDrafted)] if view else []
    earlier = next(fact for fact in reversed(told) if fact.version == before.version)
    policy, standing = claim.state.policy or Policy(), claim.state
    notices = standing.proposal.notices if isinstance(standing, Proposed) else ()
    return earlier.model_copy(
        update={
            "at": shop.clock(),
            "version": made.version,
            "digest": digest(made),
            "expires_at": shop.clock() + timedelta(days=policy.approve.days),
            "spent": Spent(),
            "notices": tuple(dict.fromkeys((*lost(before, made), *notices))),
            "paths": tuple(sorted(made.paths())),
            "narrowed": before.version,
        }
    )
