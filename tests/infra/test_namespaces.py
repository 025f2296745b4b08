"""The topology itself, without a container engine: real processes, real interfaces, and connections that are tried."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.belts import CONNECTIONS
from tests.infra.reading import ROOT, wanted

APART = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
LEADS = {
    "mint": ["github.test"], "planner": ["github.test", "models.test", "docs.test"],
    "executor": ["github.test", "models.test"], "publisher": ["github.test"],
    "web": ["github.test"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.needs_userns
def test_a_label_becomes_a_plan_and_nobody_reaches_whom_the_table_does_not_name(tmp_path: Path) -> None:
    command = [*APART, sys.executable, "-m", "tests.infra.stage", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=380)
    assert done.returncode == 0 and done.stdout, done.stderr[-6000:]
    told = json.loads(done.stdout.splitlines()[-1])
    ways = {(f"egress-{process}", "world") for process, reached in CONNECTIONS.items() if reached.outside}
    asked = {(source, target) for source, target, _ in wanted() if source not in ("migrate", "accounts")}
    # A network of two has no direction: who answers there can knock in its turn, where the other one listens.
    back = {(target, source) for source, target in asked if source in ("web", "mint")}
    assert {tuple(pair) for pair in told["reached"]} == asked | back | ways | {("front", "world")}
    assert told["led"] == LEADS
