"""Guarded paths: which a policy forbids, and which take more than one person. Pure."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from app.core.paths import Protection, protection_of
from app.core.pattern import Pattern, read_pattern
from app.core.policy import Policy
from app.core.verdict import Refused

BY_POLICY = "policy's protected paths"

WORKFLOW_APPROVALS = 2
"""How many people at least approve a plan that touches a workflow file, whatever `protected.approvals` says."""


def forbidding(policy: Policy, path: str) -> str | None:
    """The policy's pattern that forbids this path, or None."""
    return next((text for text in policy.forbidden_paths if _pattern(text).matches(path)), None)


def is_never_touched(policy: Policy, path: str) -> bool:
    """True for what no approval lifts: submodules, and workflow files unless the policy says otherwise."""
    protection = protection_of(path)
    if protection is Protection.WORKFLOW:
        return policy.workflows == "never"
    return protection is Protection.SUBMODULES


def guard_of(policy: Policy, path: str) -> str | None:
    """Why this path takes more than one person, in a word or two; None where it does not."""
    protection = protection_of(path)
    if protection is not None:
        return str(protection)
    return BY_POLICY if any(_pattern(text).matches(path) for text in policy.protected.paths) else None


def touches_workflows(paths: Iterable[str]) -> bool:
    """True where a workflow file is among the paths: GitHub lets nobody write one without a permission of its own
    (github-facts 66)."""
    return any(protection_of(path) is Protection.WORKFLOW for path in paths)


def people_for(policy: Policy, paths: Sequence[str] | None) -> int:
    """How many people the guarded ones among these paths take; 1 where none is. What is not known counts as guarded."""
    if paths is not None and not guarded(policy, paths):
        return 1
    may_be = policy.workflows != "never" if paths is None else touches_workflows(paths)
    return max(policy.protected.approvals, WORKFLOW_APPROVALS if may_be else 1)


def guarded(policy: Policy, paths: Iterable[str]) -> tuple[str, ...]:
    """Those of the paths that take more than one person."""
    return tuple(path for path in paths if guard_of(policy, path) is not None)


@lru_cache(maxsize=1_024)
def _pattern(text: str) -> Pattern:
    pattern = read_pattern(text)
    if isinstance(pattern, Refused):
        # A policy is validated where it is read; what stands in an old fact was one as well.
        raise ValueError(f"{text!r} is no pattern: {pattern.reason}")
    return pattern
