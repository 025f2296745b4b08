"""`countersign policy` as it is typed, and the schema by which editors know a policy file."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from app.core.policy import POLICY_PATH
from tests.rooms.entry.conftest import run

POLICY = """\
approve: {role: maintain, count: 2, users: [Rita, 77], teams: [acme/core], code_owners: may}
cancel: {role: write, labeller_may_cancel: false}
protected: {paths: [/infra/]}
forbidden_paths: [secrets/]
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / ".github").mkdir()
    (tmp_path / POLICY_PATH).write_text(POLICY)
    (tmp_path / "CODEOWNERS").write_text("/docs/ @olga\n")
    return tmp_path


def told(repo: Path, *words: str, **env: str) -> str:
    done = run("policy", "explain", "--repo", str(repo), *words, env=env)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_a_policy_that_can_be_used_is_told_so(repo: Path) -> None:
    done = run("policy", "check", str(repo / POLICY_PATH), env={})
    assert (done.returncode, done.stderr) == (0, "")
    assert "can be used. Approving takes maintain permission" in done.stdout


def test_everything_that_is_wrong_is_told_with_line_and_key_and_nothing_is_used(tmp_path: Path) -> None:
    file, bounds = tmp_path / "policy.yml", tmp_path / "bounds.yml"
    file.write_text("approve:\n  rol: admin\n  days: 0\n")
    done = run("policy", "check", str(file), env={})
    assert (done.returncode, done.stdout) == (1, "")
    assert "line 2: `approve.rol`" in done.stderr and "line 3: `approve.days`" in done.stderr
    file.write_text("approve:\n  days: 30\n")
    bounds.write_text("most_days: 14\n")
    done = run("policy", "check", str(file), env={"COUNTERSIGN_BOUNDS": str(bounds)})
    assert done.returncode == 1 and "30 is more than 14" in done.stderr
    done = run("policy", "check", str(tmp_path / "none.yml"), env={})
    assert done.returncode == 1 and "cannot be read: No such file" in done.stderr


def test_what_somebody_may_do_is_explained_without_asking_anybody(repo: Path) -> None:
    text = told(repo, "--user", "max", "--role", "write")
    assert "max, with the role write:\n  may set the label\n  may not approve: it takes maintain permission" in text
    assert "  may reject and cancel\n" in text and "where they set the label" not in text
    assert "  may approve\n" in told(repo, "--user", "RITA", "--role", "read")
    assert "  may not approve" in told(repo, "--user", "rita", "--role", "none")
    assert "  may approve\n" in told(repo, "--user", "x", "--id", "77", "--role", "read")
    assert "  may approve\n" in told(repo, "--user", "x", "--role", "triage", "--team", "acme/core")


def test_a_role_of_the_organisations_own_counts_by_what_it_is_built_on(repo: Path) -> None:
    (repo / POLICY_PATH).write_text("approve: {role: write}\n")
    assert "may not approve" in told(repo, "--user", "x", "--role", "keeper")
    assert "  may approve\n" in told(repo, "--user", "x", "--role", "keeper", "--base", "write")


def test_what_a_change_takes_is_explained_path_by_path(repo: Path) -> None:
    paths = ("docs/a.md", "infra/x", "secrets/key", "poetry.lock", ".github/workflows/ci.yml")
    text = told(repo, "--user", "olga", "--role", "read", "--paths", *paths)
    for line in (
        "A plan that touches 5 paths takes 2 approvals:",
        "  docs/a.md: as usual",
        "  infra/x: protected (policy's protected paths), which takes 2",
        "  secrets/key: no plan may touch it (forbidden_paths: secrets/)",
        "  poetry.lock: protected (lock file), which takes 2",
        "  .github/workflows/ci.yml: no plan may touch it, unless `workflows` says otherwise",
        "  may not approve: it takes",
    ):
        assert line in text, text
    assert "may approve, as a code owner of every path" in told(
        repo, "--user", "olga", "--role", "read", "--paths", "docs/a.md"
    )


def test_without_a_policy_the_defaults_are_explained(tmp_path: Path) -> None:
    text = told(tmp_path, "--user", "mira", "--role", "maintain")
    assert text.startswith(f"There is no {POLICY_PATH}: the defaults hold.") and "  may approve\n" in text


def schema(of: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(run("schema", of, env={}).stdout)
    jsonschema_rs.meta.validate(loaded)
    return loaded


def test_the_schema_of_a_policy_takes_what_is_one_and_refuses_unknown_keys() -> None:
    published = schema("policy")
    assert published["$id"] == "countersign.policy/1"
    takes = jsonschema_rs.validator_for(published).is_valid
    assert takes({}) and takes(yaml.safe_load(POLICY))
    for wrong in ({"rol": "write"}, {"approve": {"count": 9}}, {"approve": {"role": "triage"}}, {"hosts": ["a b"]}):
        assert not takes(wrong), wrong
    assert schema("bounds")["$id"] == "countersign.bounds/1"


def test_every_key_of_a_policy_is_explained_to_editors() -> None:
    published = schema("policy")
    parts = [published, *published["$defs"].values()]
    quiet = {
        f"{part.get('title')}.{key}"
        for part in parts
        for key, value in part.get("properties", {}).items()
        if "description" not in value and "$ref" not in value and key != "version"
    }
    assert {name for name in quiet if not name.startswith(("Spending.", "Models."))} == set()
