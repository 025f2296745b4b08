"""Whether a patch fits into its plan, and what paths mean. Pure, and decided by code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.core.guarded import forbidding, guard_of, is_never_touched
from app.core.patch import FileChange, Patch
from app.core.paths import Protection, protection_of, safe_path, shown
from app.core.plan import (
    Beside,
    ChangeFile,
    CreateFile,
    DeleteFile,
    FileStep,
    MoveFile,
    Plan,
    RuleUse,
)
from app.core.policy import Policy
from app.core.verdict import Allowed, Refused, Verdict, all_of

_TEST_NAME = re.compile(
    r"^testing/|(^|/)(tests?|__tests?__|spec)/"
    r"|(^|/)(test[_-][^/]*|[^/]*([_.-]tests?|[_.-]spec|Tests?|Spec))\.[^/.]+$"
    r"|(^|/)(tests?\.(?!(ya?ml|json|toml|md|rst|txt|html|css)$)[^/.]+|conftest\.py|[^/]+\.t)$"
)

_MANIFESTS = frozenset(
    {
        "build.gradle", "build.gradle.kts", "build.sbt", "cargo.toml", "cmakelists.txt", "composer.json",
        "conanfile.py", "conanfile.txt", "deno.json", "directory.packages.props", "environment.yml", "gemfile",
        "go.mod",
        "libs.versions.toml", "meson.build", "mix.exs", "module.bazel", "package.json", "package.swift", "pipfile",
        "pom.xml", "pubspec.yaml", "pyproject.toml", "setup.cfg", "setup.py", "vcpkg.json",
    }
)  # fmt: skip
_MANIFEST_NAME = re.compile(
    r"(^|/)(requirements|constraints)[^/]*\.(txt|in)$|(^|/)requirements/[^/]+\.(txt|in)$|\.(gemspec|csproj|cabal)$"
)


def is_test(path: str) -> bool:
    """True for a path that by its name or folder holds tests."""
    return _TEST_NAME.search(path) is not None


def is_manifest(path: str) -> bool:
    """True for a file in which a project says, by its name, on what it depends; lock files are among them."""
    name = path.rpartition("/")[2].lower()
    listed = name in _MANIFESTS or _MANIFEST_NAME.search(path.lower()) is not None
    return listed or protection_of(path) is Protection.LOCK_FILE


def patch_fits(plan: Plan, patch: Patch, policy: Policy) -> Verdict:
    """Gate 4: allowed when the patch holds every step of the plan and nothing else, within its size and the policy.

    The policy's forbidden paths bind the tests beside a touched file as well, which no plan names. It takes a time in
    proportion to plan and patch.
    """
    if patch.base_commit != plan.base_commit:
        return Refused("The change was made on another commit than the plan's.")
    if not patch.changes:
        return Refused("The change is empty.")
    asked, made = _Asked.of(plan), _Made.of(patch)
    verdicts = [_change_allowed(change, plan, asked, policy) for change in patch.changes]
    verdicts += [_carried_out(step, made) for step in plan.file_steps()]
    verdicts += [
        _at_most("files", len(patch.changes), plan.budget.files),
        _at_most("changed lines", patch.changed_lines, plan.budget.lines),
    ]
    return all_of(*verdicts)


def beyond_plan(plan: Plan, patch: Patch) -> tuple[str, ...]:
    """The changed files that the plan does not name: tests beside a touched file, which the reviewer is told of."""
    named = plan.paths()
    return tuple(change.path for change in patch.changes if change.path not in named)


def _path_allowed(path: str, plan: Plan, policy: Policy) -> Verdict:
    safe = safe_path(path)
    if isinstance(safe, Refused):
        return safe
    return policy_allows(path, plan, policy)


def policy_allows(path: str, plan: Plan, policy: Policy) -> Verdict:
    """Refused for a path that no plan may touch, and for a protected one that this plan does not name as such."""
    pattern = forbidding(policy, path)
    if pattern is not None:
        return Refused(f"{shown(path)} is forbidden by this repository's policy (`{pattern}`).")
    guard = guard_of(policy, path)
    if is_never_touched(policy, path):
        return Refused(f"{shown(path)} is protected ({guard}) and is never changed.")
    if guard is not None and path not in plan.protected_paths:
        return Refused(f"{shown(path)} is protected ({guard}) and the plan does not say that it touches it.")
    return Allowed()


def _at_most(what: str, asked: int, most: int) -> Verdict:
    return Allowed() if asked <= most else Refused(f"{asked} {what} are more than the {most} allowed.")


_Act = tuple[str, str | None, str]
"""A kind of change, where a moved file was, and the path."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a plan asks for, to be looked up."""

    acts: frozenset[_Act]
    named: frozenset[str]
    beside: Beside
    by_rule: bool

    @classmethod
    def of(cls, plan: Plan) -> "_Asked":
        acts = frozenset(_act_of(step) for step in plan.file_steps())
        return cls(acts, plan.paths(), Beside.of(plan.paths()), plan.rule is not None)


@dataclass(frozen=True, slots=True)
class _Made:
    """What a patch holds, to be looked up."""

    acts: frozenset[_Act]
    by_path: Mapping[str, FileChange]
    idle: frozenset[int]
    """The steps for which there was nothing to do."""

    @classmethod
    def of(cls, patch: Patch) -> "_Made":
        acts = frozenset((change.kind, change.old_path, change.path) for change in patch.changes)
        idle = frozenset(one.step for one in patch.steps if one.nothing_to_do)
        return cls(acts, {change.path: change for change in patch.changes}, idle)


def _act_of(step: FileStep) -> _Act:
    match step:
        case ChangeFile() | CreateFile() | DeleteFile():
            return step.kind, None, step.path
        case MoveFile():
            return step.kind, step.path, step.to


def _change_allowed(change: FileChange, plan: Plan, asked: _Asked, policy: Policy) -> Verdict:
    paths = [change.path] + ([change.old_path] if change.old_path else [])
    for path in paths:
        allowed = _path_allowed(path, plan, policy)
        if isinstance(allowed, Refused):
            return allowed
        if path not in asked.named and not asked.beside.holds(path):
            return Refused(f"The change touches {shown(path)}, which the plan does not name.")
    if (change.kind, change.old_path, change.path) in asked.acts:
        return Allowed()
    is_sibling = change.path not in asked.named and asked.beside.holds(change.path)
    if not asked.by_rule and change.kind in ("change", "create") and is_sibling:
        return _visible(change)
    return Refused(f"The plan does not say to {change.kind} {shown(change.path)}.")


def _visible(change: FileChange) -> Verdict:
    """Nobody sees an ignored file in his own tree, so one that the plan does not name is not planted."""
    if not change.ignored_by:
        return Allowed()
    return Refused(
        f"The change would {change.kind} {shown(change.path)}, which git ignores (`{change.ignored_by}`) and the plan "
        "does not name."
    )


def _carried_out(step: FileStep, made: _Made) -> Verdict:
    if isinstance(step, ChangeFile) and step.rule is not None:
        return _as_the_rule_says(step, step.rule, made)
    if step.id in made.idle:
        return Allowed()
    # A file that a step creates or moves may be changed by a later step: then the later step left no change of its own.
    by_other = isinstance(step, ChangeFile) and step.path in made.by_path
    if by_other or _act_of(step) in made.acts:
        return Allowed()
    return Refused(f"Step {step.id} left no change in {shown(step.path)}.")


def _as_the_rule_says(step: ChangeFile, use: RuleUse, made: _Made) -> Verdict:
    """The whole file, byte for byte, is what the plan's rule made of it when the plan was made."""
    change = made.by_path.get(step.path)
    if change is not None and change.content_ref == use.result:
        return Allowed()
    return Refused(f"Step {step.id} made something else of {shown(step.path)} than the plan lists.")
