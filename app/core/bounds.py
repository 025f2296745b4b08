"""Bounds: what the operator of an installation lets a repository's policy say. Pure.

What a policy says beyond its bounds is refused, with the key. What it leaves open takes the bound.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.core.marked import Complaint, Marked, Place, first_of, read_marked, validated
from app.core.policy import BUILT_IN_ROLES, POLICY_PATH, Host, Policy, Spending, TemplateWord, Who
from app.core.verdict import Refused

BOUNDS_SCHEMA = "countersign.bounds/1"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Most(_Section):
    """The most that one run may cost; what is left open is as much as any policy can say."""

    usd: Annotated[Decimal, Field(gt=0, le=1_000)] = Decimal(1_000)
    """US dollars that models cost."""
    calls: Annotated[int, Field(ge=1, le=2_000)] = 2_000
    """Calls of models."""
    minutes: Annotated[int, Field(ge=1, le=600)] = 600
    """Minutes of work."""
    files: Annotated[int, Field(ge=1, le=500)] = 500
    """Files that are changed."""
    lines: Annotated[int, Field(ge=1, le=50_000)] = 50_000
    """Lines that are changed."""


class Bounds(_Section):
    """What repositories may say. No file means these defaults; an unknown key is refused."""

    version: Literal[1] = 1
    """The format."""
    least_label_role: Literal["triage", "write", "maintain", "admin"] = "triage"
    """The lowest role that a repository may let set the label."""
    least_approve_role: Literal["write", "maintain", "admin"] = "write"
    """The lowest role that a repository may let approve, revise and cancel."""
    named_people: bool = True
    """Whether a repository may name users, teams, own roles and App bots beside a role."""
    code_owners_may_approve: bool = True
    """Whether a repository may let code owners approve whatever their role."""
    labeller_may_approve: bool = True
    """Whether a repository may let the one who set the label approve."""
    author_may_approve: bool = True
    """Whether a repository may let the issue's author approve."""
    least_approvals: Annotated[int, Field(ge=1, le=5)] = 1
    """How many people have to approve at least."""
    least_protected_approvals: Annotated[int, Field(ge=1, le=5)] = 1
    """How many people have to approve a plan that touches a protected path at least."""
    most_days: Annotated[int, Field(ge=1, le=90)] = 90
    """For how many days a plan and an approval may stand at most."""
    most: Most = Most()
    """The most that one run may cost."""
    templates: Annotated[tuple[TemplateWord, ...], Field(max_length=200)] | None = None
    """The templates that a repository may name; any, where nothing is said."""
    workflows: bool = False
    """Whether a repository may let plans touch workflow files, with a second approver."""
    own_checks: bool = False
    """Whether a repository may name checks and setup commands of its own."""
    hosts: Annotated[tuple[Host, ...], Field(max_length=200)] = ()
    """The hosts that a repository may name for the box."""
    models: bool = True
    """Whether a repository may choose among the models on the operator's list."""
    drafts_not_shown: bool = True
    """Whether a repository may have drafts opened whose checks could not be run."""
    staged: bool = False
    """Whether every run is staged, whatever a repository says: the last write is shown and not made."""
    follow_up: Literal["no", "ask", "within_plan"] = "within_plan"
    """The most that a repository may have done about an open draft."""


NO_BOUNDS = Bounds()
"""What holds where the operator says nothing."""


def parse_bounds(text: str, name: str) -> Bounds | Refused:
    """The bounds in the text of the file called `name`, or one sentence that names line and key."""
    read = validated(Bounds, read_marked(text))
    return first_of(read, name) if isinstance(read, tuple) else read


def read_policy(text: str, bounds: Bounds) -> Policy | tuple[Complaint, ...]:
    """The policy in a file's text within the bounds, or everything that is wrong with it, with line and key."""
    marked = read_marked(text)
    if isinstance(marked, Complaint):
        return (marked,)
    policy = validated(Policy, marked)
    if isinstance(policy, tuple):
        return policy
    beyond = tuple(sorted(_placed(_beyond(policy, bounds), marked), key=lambda one: one.line))
    within = _within(policy, bounds)
    return beyond or tuple(_placed(_not_carried_out(within), marked)) or within


def parse_policy(text: str, bounds: Bounds = NO_BOUNDS) -> Policy | Refused:
    """As `read_policy`, with one sentence for what is wrong."""
    read = read_policy(text, bounds)
    return first_of(read, POLICY_PATH) if isinstance(read, tuple) else read


def bounded(policy: Policy, bounds: Bounds) -> Policy | Refused:
    """The policy within the bounds: what it says beyond them is refused, what it leaves open takes the bound."""
    within = _within(policy, bounds)
    beyond = next(_beyond(policy, bounds), None) or next(_not_carried_out(within), None)
    if beyond is not None:
        return Refused(f"{POLICY_PATH}: `{'.'.join(map(str, beyond[0]))}`: {beyond[1]}")
    return within


_Breach = tuple[Place, str]

NOT_CARRIED_OUT = ("follow_up",)
"""Keys of the format of which this version carries out the default alone: anything else is refused, never ignored."""


def _not_carried_out(policy: Policy) -> Iterator[_Breach]:
    usual = Policy()
    for key in NOT_CARRIED_OUT:
        if getattr(policy, key) != getattr(usual, key):
            yield (key,), "this version does not carry that out yet; leave it out."


def _placed(breaches: Iterator[_Breach], marked: Marked) -> Iterator[Complaint]:
    for place, words in breaches:
        line = next((marked.lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in marked.lines), 0)
        yield Complaint(line, ".".join(map(str, place)), words)


def _says(policy: Policy, *place: str) -> bool:
    """True where the policy itself says something under this key."""
    part: Any = policy
    for key in place:
        if part is None or key not in part.model_fields_set:
            return False
        part = getattr(part, key)
    return True


def _beyond(policy: Policy, bounds: Bounds) -> Iterator[_Breach]:
    yield from _people_beyond(policy, bounds)
    yield from _numbers_beyond(policy, bounds)
    yield from _work_beyond(policy, bounds)


_WHO: tuple[tuple[str, str], ...] = (
    ("label", "least_label_role"),
    ("approve", "least_approve_role"),
    ("revise", "least_approve_role"),
    ("cancel", "least_approve_role"),
)


def _people_beyond(policy: Policy, bounds: Bounds) -> Iterator[_Breach]:
    for section, bound in _WHO:
        who: Who | None = getattr(policy, section)
        if who is None:
            continue
        least = getattr(bounds, bound)
        if _says(policy, section, "role") and _is_lower(who.role, least):
            yield (section, "role"), f"{who.role} is less than {least}, {_OPERATOR}."
        for key in ("users", "teams", "custom_roles", "apps"):
            if getattr(who, key, ()) and not bounds.named_people:
                yield (section, key), f"only roles may be named here, {_OPERATOR}."
    if policy.approve.code_owners == "may" and not bounds.code_owners_may_approve:
        yield ("approve", "code_owners"), f"code owners need the role as well, {_OPERATOR}."
    for key in ("labeller_may_approve", "author_may_approve"):
        if _says(policy, "approve", key) and getattr(policy.approve, key) and not getattr(bounds, key):
            yield ("approve", key), f"somebody else has to approve, {_OPERATOR}."


def _numbers_beyond(policy: Policy, bounds: Bounds) -> Iterator[_Breach]:
    for place, value, least in (
        (("approve", "count"), policy.approve.count, bounds.least_approvals),
        (("protected", "approvals"), policy.protected.approvals, bounds.least_protected_approvals),
    ):
        if _says(policy, *place) and value < least:
            yield place, f"{value} is less than {least}, {_OPERATOR}."
    if _says(policy, "approve", "days") and policy.approve.days > bounds.most_days:
        yield ("approve", "days"), f"{policy.approve.days} is more than {bounds.most_days}, {_OPERATOR}."
    for key in Spending.model_fields:
        asked, most = getattr(policy.budget, key), getattr(bounds.most, key)
        if _says(policy, "budget", key) and asked > most:
            yield ("budget", key), f"{asked} is more than {most}, {_OPERATOR}."


def _work_beyond(policy: Policy, bounds: Bounds) -> Iterator[_Breach]:
    if bounds.templates is not None and _says(policy, "templates"):
        for word, template in policy.templates.items():
            if template not in bounds.templates and template.partition("@")[0] not in bounds.templates:
                yield ("templates", word), f"{template} is none of {', '.join(bounds.templates)}, {_OPERATOR}."
    if policy.workflows != "never" and not bounds.workflows:
        yield ("workflows",), f"no plan may touch workflow files, {_OPERATOR}."
    for key in ("checks", "setup"):
        if getattr(policy, key) and not bounds.own_checks:
            yield (key,), f"no commands may be named here, {_OPERATOR}."
    for number, host in enumerate(policy.hosts):
        if host not in bounds.hosts:
            yield ("hosts", number), f"{host} may not be reached, {_OPERATOR}."
    for key, name in policy.models:
        if name is not None and not bounds.models:
            yield ("models", key), f"models may not be chosen here, {_OPERATOR}."
    yield from _acts_beyond(policy, bounds)


def _acts_beyond(policy: Policy, bounds: Bounds) -> Iterator[_Breach]:
    if _says(policy, "mode") and policy.mode == "live" and bounds.staged:
        yield ("mode",), f"every run is staged, {_OPERATOR}."
    if policy.checks_not_run == "draft" and not bounds.drafts_not_shown:
        yield ("checks_not_run",), f"no draft is opened whose checks were not run, {_OPERATOR}."
    for key in ("reviews", "checks"):
        if _FOLLOW_UP.index(getattr(policy.follow_up, key)) > _FOLLOW_UP.index(bounds.follow_up):
            yield ("follow_up", key), f"{getattr(policy.follow_up, key)} is more than {bounds.follow_up}, {_OPERATOR}."


_OPERATOR = "as the operator of this installation says"
_FOLLOW_UP = ("no", "ask", "within_plan")


def _is_lower(role: str, least: str) -> bool:
    return role != "nobody" and BUILT_IN_ROLES[role] < BUILT_IN_ROLES[least]


def _within(policy: Policy, bounds: Bounds) -> Policy:
    """The policy, with the bounds in place of defaults that lie beyond them."""
    changes: dict[str, Any] = {}
    for section, bound in _WHO:
        who: Who | None = getattr(policy, section)
        if who is not None and _is_lower(who.role, getattr(bounds, bound)):
            changes[section] = who.model_copy(update={"role": getattr(bounds, bound)})
    approve = changes.get("approve", policy.approve)
    changes["approve"] = approve.model_copy(
        update={
            "days": min(approve.days, bounds.most_days),
            "count": max(approve.count, bounds.least_approvals),
            "labeller_may_approve": approve.labeller_may_approve and bounds.labeller_may_approve,
            "author_may_approve": approve.author_may_approve and bounds.author_may_approve,
        }
    )
    approvals = max(policy.protected.approvals, bounds.least_protected_approvals)
    changes["protected"] = policy.protected.model_copy(update={"approvals": approvals})
    least: Callable[[str], Any] = lambda key: min(getattr(policy.budget, key), getattr(bounds.most, key))  # noqa: E731
    changes["budget"] = policy.budget.model_copy(update={key: least(key) for key in Spending.model_fields})
    if bounds.templates is not None:
        changes["templates"] = {
            word: name
            for word, name in policy.templates.items()
            if name in bounds.templates or name.partition("@")[0] in bounds.templates
        }
    if bounds.staged:
        changes["mode"] = "staged"
    return policy.model_copy(update=changes)
