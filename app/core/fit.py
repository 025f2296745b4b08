"""Whether things fit: a plan into its template and policy, a patch into its plan. Pure, and decided by code."""

import fnmatch
import re
from collections.abc import Mapping
from decimal import Decimal

from app.core.patch import FileChange, Patch
from app.core.paths import Protection, protection_of, safe_path, shown
from app.core.plan import (
    ChangeFile,
    CreateFile,
    DeleteFile,
    Expectation,
    FileStep,
    MoveFile,
    Plan,
    RuleUse,
    Step,
    in_scope,
    sibling_tests,
)
from app.core.policy import Policy
from app.core.template import Must, Size, Template
from app.core.verdict import Allowed, Refused, Verdict, all_of

NEVER = frozenset({Protection.WORKFLOW, Protection.SUBMODULES, Protection.POLICY, Protection.CODE_OWNERS})
"""Protections that no plan can lift. A lock file may be touched where the plan names it as protected."""

_TEST_NAME = re.compile(
    r"(^|/)(tests?|__tests__|spec)/|(^|/)(test_[^/]*|[^/]*(_test|\.test|\.spec|_spec|Test))\.[^/.]+$"
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

_SECRETS: Mapping[str, re.Pattern[str]] = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "a GitHub token": re.compile(r"\b(gh[pousr]_[A-Za-z0-9._-]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
    "a model API key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    "a cloud access key": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
}


def is_test(path: str) -> bool:
    """True for a path that by its name or folder holds tests."""
    return _TEST_NAME.search(path) is not None


def is_manifest(path: str) -> bool:
    """True for a file in which a project says, by its name, on what it depends; lock files are among them."""
    name = path.rpartition("/")[2].lower()
    listed = name in _MANIFESTS or _MANIFEST_NAME.search(path.lower()) is not None
    return listed or protection_of(path) is Protection.LOCK_FILE


def plan_fits(plan: Plan, template: Template, policy: Policy) -> Verdict:
    """Allowed when the plan may be shown: paths, kinds, checks, hosts, what the template demands, and budgets."""
    verdicts = [_path_allowed(path, plan, policy) for path in sorted(plan.paths())]
    verdicts += [_kind_allowed(step, template) for step in plan.steps]
    verdicts += [_demanded(must, plan) for must in template.must_have]
    verdicts += [_enough_checks(plan, template), _no_hosts(plan), _one_step_a_path(plan)]
    verdicts.append(_at_most("steps", len(plan.steps), template.limits.steps))
    verdicts.append(_budget_allowed(plan, template.budget.execution.most, policy))
    return all_of(*verdicts)


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


def no_secrets(path: str, before: bytes, after: bytes) -> Verdict:
    """Refused when the change brings in what looks like a credential that was not there before."""
    old, new = before.decode("utf-8", "replace"), after.decode("utf-8", "replace")
    for what, pattern in _SECRETS.items():
        known = {match.group() for match in pattern.finditer(old)}
        if any(match.group() not in known for match in pattern.finditer(new)):
            return Refused(f"The change would put {what} into {shown(path)}.")
    return Allowed()


def _path_allowed(path: str, plan: Plan, policy: Policy) -> Verdict:
    safe = safe_path(path)
    if isinstance(safe, Refused):
        return safe
    for pattern in policy.forbidden_paths:
        if fnmatch.fnmatchcase(path, pattern):
            return Refused(f"{shown(path)} is forbidden by this repository's policy (`{pattern}`).")
    return _protection_allowed(path, plan)


def _protection_allowed(path: str, plan: Plan) -> Verdict:
    protection = protection_of(path)
    if protection in NEVER:
        return Refused(f"{shown(path)} is protected ({protection}) and is never changed.")
    if protection is not None and path not in plan.protected_paths:
        return Refused(f"{shown(path)} is protected ({protection}) and the plan does not say that it touches it.")
    return Allowed()


def _kind_allowed(step: Step, template: Template) -> Verdict:
    if step.kind in template.step_kinds:
        return Allowed()
    return Refused(f"Step {step.id}: the template {template.name} has no step of the kind {step.kind}.")


def _demanded(must: Must, plan: Plan) -> Verdict:
    there = {
        Must.EVIDENCE: bool(plan.evidence),
        Must.HYPOTHESIS: bool(plan.hypothesis.strip()),
        Must.REGRESSION_TEST: any(is_test(path) for path in plan.paths()),
        Must.TEST: any(is_test(path) for path in plan.paths()),
        Must.NOTHING_BUT_TESTS: bool(plan.paths()) and all(is_test(path) for path in plan.paths()),
        Must.MANIFEST: any(is_manifest(path) for path in plan.paths()),
        Must.CONSTRAINTS: bool(plan.constraints),
        Must.OUT_OF_SCOPE: bool(plan.out_of_scope),
        Must.RISKS: bool(plan.risks),
        Must.FAILS_BEFORE_PASSES_AFTER: any(
            check.expect is Expectation.FAILS_BEFORE_PASSES_AFTER for check in plan.checks
        ),
    }[must]
    return Allowed() if there else Refused(f"The template asks for {must.replace('_', ' ')}, and the plan has none.")


def _enough_checks(plan: Plan, template: Template) -> Verdict:
    if len(plan.checks) < template.checks.at_least:
        return Refused(f"The template asks for at least {template.checks.at_least} checks.")
    odd = [check.name for check in plan.checks if check.expect not in template.checks.expect]
    return Refused(f"The check {odd[0]} promises what this template does not know.") if odd else Allowed()


def _no_hosts(plan: Plan) -> Verdict:
    if plan.hosts:
        return Refused("The plan names hosts to reach, and the box here reaches none.")
    return Allowed()


def _one_step_a_path(plan: Plan) -> Verdict:
    """One path is made or unmade by one step only; several steps may change the same file."""
    made = [step.path for step in plan.file_steps() if not isinstance(step, ChangeFile)]
    made += [step.to for step in plan.file_steps() if isinstance(step, MoveFile)]
    twice = sorted({path for path in made if made.count(path) > 1})
    return Refused(f"{shown(twice[0])} is created, deleted or moved by more than one step.") if twice else Allowed()


def _budget_allowed(plan: Plan, most: Size, policy: Policy) -> Verdict:
    budget, own = plan.budget, policy.budget
    # A moved file has two paths and is one change.
    changes = len(plan.paths()) - sum(isinstance(step, MoveFile) for step in plan.steps)
    return all_of(
        _at_most("files that the plan names", changes, budget.files),
        _at_most("dollars", Decimal(budget.usd), min(most.usd, own.usd)),
        _at_most("model calls", budget.calls, min(most.calls, own.calls)),
        _at_most("minutes", budget.minutes, min(most.minutes, own.minutes)),
        _at_most("files", budget.files, min(most.files, own.files)),
        _at_most("changed lines", budget.lines, min(most.lines, own.lines)),
    )


def _at_most(what: str, asked: int | Decimal, most: int | Decimal) -> Verdict:
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
