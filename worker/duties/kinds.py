"""Which template a plan is made by: the one of the label's word; where it has none, one that the planner may change."""

from collections.abc import Mapping

from app.core.choice import choose
from app.core.facts import InputNeeded, PlanDrafted
from app.core.policy import Policy
from app.core.template import Template, TemplateUnreadable
from app.core.verdict import Refused
from app.ledger.outcomes import Claim
from worker.shop import Shop


def asked_for(shop: Shop, claim: Claim, policy: Policy) -> str | Refused:
    """The policy's word for the template: of the label; where that is bare, of the run's last plan or question."""
    word = claim.state.request.label_word
    asked = policy.templates.get(word)
    if asked is None:
        known = ", ".join(f"`{one}`" for one in policy.templates if one)
        return Refused(f"The label's word `{word}` names no template; the words are: {known}.")
    earlier = None if word else _earlier(shop, claim)
    return asked if earlier is None else spelled(policy, earlier) or asked


def template_of(shop: Shop, asked: str, run: str) -> Template | Refused:
    """The template in this run's version, within what the operator allows."""
    chosen = choose(asked, run, shop.shelf.versions(), shop.settings.templates.rules)
    if isinstance(chosen, Refused):
        return chosen
    try:
        return shop.shelf.read(chosen.name, chosen.version)
    except TemplateUnreadable as error:
        return Refused(str(error))


def others(shop: Shop, claim: Claim, policy: Policy, template: Template) -> Mapping[str, str]:
    """The templates that the planner may choose instead, with what they are for: none where the label names one, or
    where this run was planned before. Those that apply a rule need a form, and are not among them."""
    if claim.state.request.label_word or _earlier(shop, claim) is not None:
        return {}
    kinds: dict[str, str] = {}
    for asked in policy.templates.values():
        other = template_of(shop, asked, claim.state.request.run)
        if isinstance(other, Template) and other.rule is None and other.name != template.name:
            kinds.setdefault(other.name, other.about)
    return kinds


def spelled(policy: Policy, name: str) -> str | None:
    """How the policy names this template, with its pin where it has one; None where it does not."""
    return next((asked for asked in policy.templates.values() if asked.partition("@")[0] == name), None)


def _earlier(shop: Shop, claim: Claim) -> str | None:
    """The template of the run's last plan or question."""
    view = shop.ledger.run(claim.run)
    told = [one.fact for one in view.facts if isinstance(one.fact, PlanDrafted | InputNeeded)] if view else []
    pins = [fact.template for fact in told if fact.template is not None]
    return pins[-1].name if pins else None
