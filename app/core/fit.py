"""Whether a patch fits into its plan, and what paths mean. Pure, and decided by code."""

import re

from app.core.guarded import forbidding, guard_of, is_never_touched
from app.core.patch import FileChange, Patch
from app.core.paths import Protection, protection_of, safe_path, shown
from app.core.plan import (
    ChangeFile,
    CreateFile,
    DeleteFile,
    FileStep,
    MoveFile,
    Plan,
    RuleUse,
    in_scope,
    sibling_tests,
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

    The policy's forbidden paths bind the tests beside a touched file as well, which no plan names.
    """
    if patch.base_commit != plan.base_commit:
        return Refused("The change was made on another commit than the plan's.")
    if not patch.changes:
        return Refused("The change is empty.")
    verdicts = [_change_allowed(change, plan, policy) for change in patch.changes]
    verdicts += [_carried_out(step, patch) for step in plan.file_steps()]
    verdicts += [
        _at_most("files", len(patch.changes), plan.budget.files),
        _at_most("changed lines", patch.changed_lines, plan.budget.lines),
    ]
    return all_of(*verdicts)


def beyond_plan(plan: Plan, patch: Patch) -> tuple[str, ...]:
    """The changed files that the plan does not name: tests beside a touched file, which the reviewer is told of."""
    return tuple(change.path for change in patch.changes if change.path not in plan.paths())


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


def _change_allowed(change: FileChange, plan: Plan, policy: Policy) -> Verdict:
    paths = [change.path] + ([change.old_path] if change.old_path else [])
    for path in paths:
        allowed = _path_allowed(path, plan, policy)
        if isinstance(allowed, Refused):
            return allowed
        if not in_scope(plan, path):
            return Refused(f"The change touches {shown(path)}, which the plan does not name.")
    if any(_is_by(step, change) for step in plan.file_steps()):
        return Allowed()
    if plan.rule is None and change.kind in ("change", "create") and _is_sibling_test(change.path, plan):
        return Allowed()
    return Refused(f"The plan does not say to {change.kind} {shown(change.path)}.")


def _is_by(step: FileStep, change: FileChange) -> bool:
    match step:
        case ChangeFile():
            return change.kind == "change" and change.path == step.path
        case CreateFile():
            return change.kind == "create" and change.path == step.path
        case DeleteFile():
            return change.kind == "delete" and change.path == step.path
        case MoveFile():
            return change.kind == "move" and (change.old_path, change.path) == (step.path, step.to)


def _is_sibling_test(path: str, plan: Plan) -> bool:
    name = path.rsplit("/", 1)[-1]
    return path not in plan.paths() and any(name in sibling_tests(touched) for touched in plan.paths())


def _carried_out(step: FileStep, patch: Patch) -> Verdict:
    if isinstance(step, ChangeFile) and step.rule is not None:
        return _as_the_rule_says(step, step.rule, patch)
    if any(one.step == step.id and one.nothing_to_do for one in patch.steps):
        return Allowed()
    # A file that a step creates or moves may be changed by a later step: then the later step left no change of its own.
    by_other = isinstance(step, ChangeFile) and any(change.path == step.path for change in patch.changes)
    if by_other or any(_is_by(step, change) for change in patch.changes):
        return Allowed()
    return Refused(f"Step {step.id} left no change in {shown(step.path)}.")


def _as_the_rule_says(step: ChangeFile, use: RuleUse, patch: Patch) -> Verdict:
    """The whole file, byte for byte, is what the plan's rule made of it when the plan was made."""
    made = [change for change in patch.changes if change.path == step.path]
    if len(made) == 1 and made[0].content_ref == use.result:
        return Allowed()
    return Refused(f"Step {step.id} made something else of {shown(step.path)} than the plan lists.")
