"""Policy: permission levels as GitHub tells them, and a file that is believed whole or not at all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bounds import NO_BOUNDS, NOT_CARRIED_OUT, Bounds, Most, bounded, parse_bounds, parse_policy, read_policy
from app.core.guarded import forbidding, guard_of, guarded, is_never_touched
from app.core.marked import Complaint, read_marked, validated
from app.core.policy import Level, Policy, Spending, level_of
from app.core.verdict import Refused


@pytest.mark.parametrize(
    ("permission", "role", "level"),
    [
        ("admin", "admin", Level.ADMIN),
        ("write", "maintain", Level.MAINTAIN),
        ("write", "write", Level.WRITE),
        ("read", "triage", Level.TRIAGE),
        ("read", "read", Level.READ),
        ("none", "none", Level.NONE),
        ("write", "release-captain", Level.WRITE),
        ("read", "release-captain", Level.READ),
        ("admin", "read", Level.ADMIN),
        # Contradictions and words nobody knows never raise a level.
        ("read", "write", Level.READ),
        ("read", "admin", Level.READ),
        ("none", "maintain", Level.NONE),
        ("owner", "admin", Level.NONE),
        ("", "", Level.NONE),
    ],
)
def test_a_level_is_what_both_fields_together_say(permission: str, role: str, level: Level) -> None:
    """github-facts 74, 75; case AP-02."""
    assert level_of(permission, role) is level


def test_no_file_and_an_empty_file_mean_the_safe_defaults() -> None:
    policy = parse_policy("")
    assert policy == Policy()
    assert (policy.label.role, policy.approve.role, policy.approve.days, policy.approve.count) == (
        "write",
        "write",
        7,
        1,
    )
    assert (policy.label.apps, policy.approve.users, policy.approve.teams) == ((), (), ())
    assert (policy.protected.approvals, policy.workflows, policy.mode) == (2, "never", "live")


EVERY_KEY = """\
version: 1
templates: {"": bugfix@1.0.0, docs: docs}
label: {role: triage, apps: [77], users: [mira, 12], teams: [acme/core], custom_roles: [release-captain]}
approve:
  role: maintain
  labeller_may_approve: false
  author_may_approve: false
  count: 2
  code_owners: must
  days: 3
revise: {role: write}
cancel: {role: nobody, users: [otto], labeller_may_cancel: false}
protected: {approvals: 3, paths: [infra/, "*.sql"]}
forbidden_paths: [/secret/*, vendor/]
workflows: second_approver
budget: {usd: 2.50, calls: 20, minutes: 5, files: 3, lines: 90}
checks:
  unit tests: {run: [make, unit], paths: true}
setup: [[make, deps]]
hosts: ["example.org:443"]
models: {planner: strong, executor: small}
without_draft: open
documentation: [docs.example.com]
commits: conventional
commit_for_each: step
checks_not_run: draft
mode: staged
follow_up: {reviews: ask, checks: within_plan, most: 2}
"""
ALL_ALLOWED = Bounds(workflows=True, own_checks=True, hosts=("example.org:443",))


def test_every_key_is_read() -> None:
    policy = validated(Policy, read_marked(EVERY_KEY))
    assert isinstance(policy, Policy)
    assert policy.model_fields_set == set(Policy.model_fields)
    assert policy.label.users == ("mira", 12)
    assert (policy.approve.role, policy.approve.code_owners, policy.approve.count) == ("maintain", "must", 2)
    assert policy.cancel is not None and policy.cancel.users == ("otto",)
    assert policy.checks["unit tests"].run == ("make", "unit")
    assert Policy.model_validate_json(policy.model_dump_json()) == policy


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("approvers: [mira]", 1, "approvers", "did you mean `approve`?"),
        ("\n\nzzz: 1", 3, "zzz", "the keys here are: version, templates, label"),
        ("approve:\n  rol: write", 2, "approve.rol", "did you mean `role`?"),
        ("cancel:\n  labelers: 1", 2, "cancel.labelers", "no such key"),
        ("approve:\n  days: 3\n  role: read", 3, "approve.role", "'write', 'maintain', 'admin'"),
        ("approve: {days: 0}", 1, "approve.days", "greater than or equal to 1"),
        ("approve: [", 1, "", "not YAML"),
        ("approve:\n  role: [", 2, "", "not YAML"),
        ("label:\n  apps:\n  - 1\n  - 0", 4, "label.apps.1", "greater"),
        ("label: {users: ['a b']}", 1, "label.users.0", "must be a whole number. Or: String should match"),
        ("label: {custom_roles: [admin]}", 1, "label.custom_roles.0", "one of GitHub's own roles"),
        ("label: {teams: [core]}", 1, "label.teams.0", "match"),
        ("budget: {usd: 100000}", 1, "budget.usd", "less than"),
        ("forbidden_paths:\n- '!a'", 2, "forbidden_paths.0", "'!a' is no pattern here"),
        ("protected: {paths: ['[ab]']}", 1, "protected.paths.0", "no pattern"),
        ("checks:\n  X: {run: [a]}", 2, "checks.X", "match"),
        ("checks: {x: {run: make}}", 1, "checks.x.run", "must be a list"),
        ("hosts: [a]", 1, "hosts.0", "match"),
        ("- a\n- b", 1, "", "must be a mapping"),
        ("approve: 7", 1, "approve", "must be a mapping"),
        ("version: 2", 1, "version", "1"),
        ("mode: live\nbudget: {}\nmode: staged", 3, "mode", "stands twice"),
        ("approve: &a {days: 1}\ncancel: *a", 1, "cancel", "refers to another part"),
        ("approve: {<<: {days: 1}}", 1, "approve", "plain word"),
        ("mode: !x live", 1, "mode", "tag"),
        ("x: " + "a" * 70_000, 0, "", "64,000"),
        ("x: " + "[" * 500, 0, "", "brackets"),
        ("- " * 3_000 + "x", 0, "", "deep"),
        ("mode: 2020-13-45", 0, "", "month"),
    ],
)
def test_what_is_wrong_is_said_with_its_line_and_key(text: str, line: int, key: str, words: str) -> None:
    read = read_policy(text, NO_BOUNDS)
    assert isinstance(read, tuple)
    assert (read[0].line, read[0].key) == (line, key)
    assert words in read[0].words
    refused = parse_policy(text)
    assert isinstance(refused, Refused)
    assert str(read[0]) in refused.reason


def test_everything_that_is_wrong_is_told_in_the_order_of_lines_and_the_first_one_in_a_sentence() -> None:
    text = "mode: off\napprove:\n  days: 0\n  count: 9\nx: 1\n"
    read = read_policy(text, NO_BOUNDS)
    assert isinstance(read, tuple)
    assert [(one.line, one.key) for one in read] == [(1, "mode"), (3, "approve.days"), (4, "approve.count"), (5, "x")]
    refused = parse_policy(text)
    assert str(refused).startswith(".github/countersign.yml: line 1: `mode`: ")
    assert str(refused).endswith("There are 3 more faults in it.")


@given(st.text(max_size=300))
def test_any_text_gives_a_policy_or_reasons(text: str) -> None:
    read = read_policy(text, NO_BOUNDS)
    assert isinstance(read, Policy) or (read and all(isinstance(one, Complaint) for one in read))


SCALARS = st.none() | st.booleans() | st.integers(-3, 99) | st.text("ab-/*: #[]{}&!'\"\n", max_size=8)
KEYS = st.sampled_from([*Policy.model_fields, "role", "users", "paths", "days", "run", "nonsense"])
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@given(st.dictionaries(KEYS, TREES, max_size=5))
def test_any_tree_gives_a_policy_within_bounds_or_complaints_with_keys_of_the_file(tree: dict[str, Any]) -> None:
    import yaml

    text = yaml.safe_dump(tree)
    read = read_policy(text, NO_BOUNDS)
    if isinstance(read, Policy):
        assert bounded(read, NO_BOUNDS) == read
    else:
        assert all(0 <= one.line <= text.count("\n") + 1 for one in read)


# -- within the operator's bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bounds", "key"),
    [
        ("approve: {role: write}", {"least_approve_role": "maintain"}, "approve.role"),
        ("revise: {role: write}", {"least_approve_role": "admin"}, "revise.role"),
        ("cancel: {role: triage}", {}, "cancel.role"),
        ("label: {role: triage}", {"least_label_role": "write"}, "label.role"),
        ("approve: {users: [mira]}", {"named_people": False}, "approve.users"),
        ("label: {apps: [7]}", {"named_people": False}, "label.apps"),
        ("approve: {code_owners: may}", {"code_owners_may_approve": False}, "approve.code_owners"),
        ("approve: {labeller_may_approve: true}", {"labeller_may_approve": False}, "approve.labeller_may_approve"),
        ("approve: {author_may_approve: true}", {"author_may_approve": False}, "approve.author_may_approve"),
        ("approve: {count: 1}", {"least_approvals": 2}, "approve.count"),
        ("protected: {approvals: 1}", {"least_protected_approvals": 2}, "protected.approvals"),
        ("approve: {days: 30}", {"most_days": 14}, "approve.days"),
        ("budget: {usd: 6}", {"most": Most(usd=5)}, "budget.usd"),
        ("templates: {x: mine, docs: docs@1.0.0}", {"templates": ("docs",)}, "templates.x"),
        ("workflows: second_approver", {}, "workflows"),
        ("checks: {x: {run: [a]}}", {}, "checks"),
        ("setup: [[a]]", {}, "setup"),
        ("hosts: ['a.example:443']", {"hosts": ("b.example:443",)}, "hosts.0"),
        ("models: {scout: small}", {"models": False}, "models.scout"),
        ("mode: live", {"staged": True}, "mode"),
        ("follow_up: {reviews: within_plan}", {"follow_up": "ask"}, "follow_up.reviews"),
    ],
)
def test_what_a_policy_says_beyond_the_bounds_is_refused_with_line_and_key(
    text: str, bounds: dict[str, Any], key: str
) -> None:
    read = read_policy(f"version: 1\n{text}", Bounds(**bounds))
    assert isinstance(read, tuple)
    assert [(one.line, one.key) for one in read] == [(2, key)]
    assert "as the operator of this installation says" in read[0].words


def test_what_a_policy_leaves_open_takes_the_bound() -> None:
    bounds = Bounds(
        least_approve_role="admin",
        least_label_role="maintain",
        least_approvals=2,
        least_protected_approvals=3,
        most_days=3,
        most=Most(usd=1, files=2),
        labeller_may_approve=False,
        author_may_approve=False,
        templates=("docs",),
    )
    policy = parse_policy("revise: {users: [mira]}", bounds)
    assert isinstance(policy, Policy)
    approve = policy.approve
    assert (approve.role, approve.days, approve.count) == ("admin", 3, 2)
    assert (approve.labeller_may_approve, approve.author_may_approve) == (False, False)
    assert policy.revise is not None and (policy.revise.role, policy.revise.users) == ("admin", ("mira",))
    assert (policy.label.role, policy.protected.approvals) == ("maintain", 3)
    assert (policy.budget.usd, policy.budget.files, policy.budget.calls) == (1, 2, 200)
    assert policy.templates == {"docs": "docs"}


@pytest.mark.parametrize("key", NOT_CARRIED_OUT)
def test_what_is_not_carried_out_is_refused_and_never_ignored(key: str) -> None:
    lines = {line.partition(":")[0]: line for line in EVERY_KEY.splitlines()}
    text = lines[key] + ("\n  unit tests: {run: [make, unit]}" if key == "checks" else "")
    read = read_policy(text, ALL_ALLOWED)
    assert isinstance(read, tuple)
    assert [(one.line, one.key) for one in read] == [(1, key)]
    assert "does not carry that out" in read[0].words


def test_an_operator_who_stages_every_run_stages_those_of_policies_that_do_not_say_so() -> None:
    assert parse_policy("mode: staged").staged  # type: ignore[union-attr]
    assert bounded(Policy(), Bounds(staged=True)).staged and not Policy().staged  # type: ignore[union-attr]


@pytest.mark.parametrize("text", [
    "sandbox: off", "box: {network: true}", "mounts: [/etc]", "hosts: ['registry.example.test:443']",
    "hosts: ['*:443']", "hosts: ['registry.example.test']", "setup: [[sh, -c, 'curl x']]", "setup: ['pip install x']",
    "checks: {own: {run: [sh, run.sh]}}", "checks: {own: {run: [make], network: true}}", "limits: {memory: 64}",
])  # fmt: skip
def test_36_no_policy_asks_for_less_of_a_box_than_the_operator_gives(text: str) -> None:
    assert isinstance(parse_policy(text), Refused)


def test_without_bounds_of_the_operator_a_policy_is_as_it_is() -> None:
    assert bounded(Policy(), NO_BOUNDS) == Policy()


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 90), st.integers(1, 90))
def test_nothing_said_ever_goes_beyond_the_bounds(count: int, least: int, days: int, most: int) -> None:
    bounds = Bounds(least_approvals=least, most_days=most)
    policy = parse_policy(f"approve: {{count: {count}, days: {days}}}", bounds)
    if count < least or days > most:
        assert isinstance(policy, Refused)
    else:
        assert isinstance(policy, Policy) and (policy.approve.count, policy.approve.days) == (count, days)


def test_bounds_are_read_as_strictly_as_policies() -> None:
    assert parse_bounds("", "bounds.yml") == NO_BOUNDS
    assert parse_bounds("most: {usd: 5}", "bounds.yml") == Bounds(most=Most(usd=5))
    assert Most() == Most(**{key: part.metadata[1].le for key, part in Spending.model_fields.items()})
    refused = parse_bounds("version: 1\nmost_day: 3", "bounds.yml")
    assert str(refused) == "bounds.yml: line 2: `most_day`: no such key; did you mean `most_days`?"


# -- guarded paths ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "guard"),
    [
        ("poetry.lock", "lock file"),
        ("CODEOWNERS", "code owners"),
        (".github/countersign.yml", "policy"),
        (".github/workflows/ci.yml", "workflow"),
        ("infra/main.tf", "policy's protected paths"),
        ("db/schema.sql", "policy's protected paths"),
        ("src/a.py", None),
    ],
)
def test_a_path_that_takes_more_than_one_person_says_why(path: str, guard: str | None) -> None:
    policy = parse_policy("protected: {paths: [infra/, '*.sql']}")
    assert isinstance(policy, Policy)
    assert guard_of(policy, path) == guard
    assert guarded(policy, [path, "src/a.py"]) == ((path,) if guard else ())


def test_workflows_are_never_touched_unless_the_policy_says_so_and_submodules_never() -> None:
    opened = Policy(workflows="second_approver")
    assert is_never_touched(Policy(), ".github/workflows/ci.yml")
    assert not is_never_touched(opened, ".github/workflows/ci.yml")
    assert is_never_touched(opened, ".gitmodules")
    assert not is_never_touched(Policy(), "CODEOWNERS")


def test_a_forbidden_folder_forbids_all_that_is_below_it() -> None:
    policy = Policy(forbidden_paths=("secret/*", "/top.txt", "*.pem"))
    for path in ("secret/a", "secret/a/b", "top.txt", "x/y.pem"):
        assert forbidding(policy, path) is not None
    for path in ("secrets/a", "x/top.txt", "x/secret/a", "pem"):
        assert forbidding(policy, path) is None


def test_documentation_is_chosen_by_host_or_not_spoken_of() -> None:
    chosen = parse_policy("documentation: [docs.example.com, 'wiki.example.com:8443']")
    assert isinstance(chosen, Policy) and chosen.documentation == ("docs.example.com", "wiki.example.com:8443")
    none = parse_policy("documentation: []")
    assert isinstance(none, Policy) and none.documentation == ()
    assert Policy().documentation is None
    refused = parse_policy("documentation: docs.example.com")
    assert isinstance(refused, Refused) and "`documentation`" in refused.reason
