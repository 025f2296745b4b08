"""What a plan takes to prepare: found before it is made, and compared with what was approved when it is carried out."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.plan import Plan
from app.core.policy import Policy
from app.core.verdict import Refused
from tests.fakes.plans import plan
from worker.box.checks import NamedCheck, checks_of
from worker.box.environment import EnvironmentUnavailable, Workshop
from worker.box.preparing import Approved, of_approved
from worker.box.provision import Provision, Provisions, provisions_of
from worker.box.setting_up import SetUp
from worker.duties.preparing import differing

A, B = "a.example.test:443", "b.example.test:443"
NPM = NamedCheck("npm test", ("/usr/bin/npm", "test"), paths=None, needs="node", may_need="node")  # type: ignore[arg-type]
PYTEST = replace(NPM, name="pytest", needs="python", may_need="python")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    place = tmp_path / "tree"
    place.mkdir()
    (place / "package.json").write_text(json.dumps({"scripts": {"test": "x"}, "dependencies": {"y": "1"}}))
    (place / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    return place


def known(tree: Path, policy: Policy | None = None, **env: str) -> Any:
    checks = checks_of(tree, policy) if policy else (NPM, PYTEST)
    settings = {"HOME": str(tree.parent), "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": f"https://{A}/simple"}
    workshop = Workshop(tree.parent, settings | {"NPM_CONFIG_REGISTRY": f"https://{B}/"} | env)
    return provisions_of(tree, policy or Policy(), checks, workshop)


def made(needed: Any, *checks: str) -> Plan:
    named = [{"name": name, "argv": [name], "expect": "passes"} for name in checks]
    return plan(checks=named, setup=needed.setup, hosts=needed.hosts)


def test_a_plan_takes_the_set_ups_of_its_own_checks_with_their_hosts_and_no_others(tree: Path) -> None:
    found = known(tree)
    node, both = found.needed([NPM], ()), found.needed([PYTEST, NPM], ())
    assert [words[0] for words in node.setup] == ["npm"] and node.hosts == (B,)
    assert [words[0] for words in both.setup] == ["npm", "python3"] and both.hosts == (A, B) and both.lacking == ()
    assert found.needed([], ["package.json"]).setup == ()
    nothing_yet = replace(NPM, needs="")
    assert found.needed([nothing_yet], ["index.js"]).setup == ()
    assert found.needed([nothing_yet], ["index.js", "package.json"]).hosts == (B,)


def test_what_cannot_be_prepared_is_said_in_the_plan_and_nothing_else_stands_in_for_it(tree: Path) -> None:
    for env, words in (
        ({"NPM_CONFIG_REGISTRY": "http://b.example.test/"}, "b.example.test of this machine does not speak TLS"),
        ({"NPM_CONFIG_REGISTRY": "https://me:word@b.example.test/"}, "wants a password"),
    ):
        needed = known(tree, **env).needed([NPM, PYTEST], ())
        assert [words[0] for words in needed.setup] == ["python3"] and needed.hosts == (A,)
        (told,) = needed.lacking
        assert told.startswith("What npm test needs cannot be prepared, so it will not be shown") and words in told
        assert "word@" not in told
    (tree / "package.json").write_text("{")
    assert "is not JSON" in known(tree).needed([NPM], ()).lacking[0]


def test_where_the_policy_names_set_ups_nothing_else_is_set_up(tree: Path) -> None:
    policy = Policy(setup=(("npm", "ci"), ("make", "tools")), hosts=("c.example.test:443",))
    found = known(tree, policy)
    needed = found.needed(checks_of(tree, policy), ["package.json"])
    assert needed.setup == policy.setup and needed.hosts == (B, "c.example.test:443")
    refused = known(tree, policy, NPM_CONFIG_REGISTRY="https://me:word@b.example.test/")
    assert isinstance(refused, Refused) and "password" in refused.reason


def test_a_plan_is_carried_out_only_where_files_and_registries_say_what_its_approver_saw(tree: Path) -> None:
    found: Provisions = known(tree)
    approved = made(found.needed([NPM], ()), "npm test")
    assert differing(approved, (NPM, PYTEST), found) is None
    elsewhere = known(tree, NPM_CONFIG_REGISTRY="https://other.example.test/")
    refused = differing(approved, (NPM, PYTEST), elsewhere)
    assert refused and f"nor this machine's package clients name: {B}" in refused.reason and refused.remedy
    further = made(found.needed([NPM], ()), "npm test", "pytest")
    refused = differing(further, (NPM, PYTEST), found)
    assert refused and f"look at {A}, which the approved plan does not name" in refused.reason
    refused = differing(replace_setup(approved, None), (NPM,), found)
    assert refused and "not what its checks call for here: `npm install" in refused.reason
    (tree / "package-lock.json").write_text("{}")
    refused = differing(approved, (NPM,), known(tree))
    assert refused and "not what its checks call for here: `npm install" in refused.reason
    refused = differing(approved, (NPM,), known(tree, NPM_CONFIG_REGISTRY="http://b.example.test/"))
    assert isinstance(refused, Refused)


def replace_setup(approved: Plan, setup: Any) -> Plan:
    return approved.model_copy(update={"setup": setup})


def test_a_changed_tree_asks_the_approved_client_for_more_and_no_other_one(tree: Path) -> None:
    found: Provisions = known(tree)
    nowhere: Any = None

    def how(setup: Any, provisions: Provisions) -> Any:
        return of_approved(Approved(setup, provisions, nowhere, "a repository"))

    approved = found.needed([NPM], ()).setup
    (tree / "package-lock.json").write_text("{}")
    made = how(approved, found)("node", tree)
    assert isinstance(made, SetUp) and made.commands[0][:2] == ("npm", "ci") and set(map(str, made.hosts)) == {B}
    for kind, setup, provisions, words in (
        ("python", approved, found, "no set-up for what the checks need now (python)"),
        ("go", approved, found, "no set-up for what the checks need now (go)"),
        ("node", (("pnpm", "ci"),), Provisions({"node": Provision((("pnpm", "ci"),), (B,))}), "After the change npm"),
    ):
        refused = how(setup, provisions)(kind, tree)
        assert isinstance(refused, Refused) and words in refused.reason and refused.remedy
    lacking = how(approved, Provisions({"node": Provision(lacking="None to be had.")}))("node", tree)
    assert isinstance(lacking, EnvironmentUnavailable) and lacking.reason == "None to be had."
