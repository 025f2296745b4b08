"""`countersign` as it is typed: help, ledger commands on empty and full ledgers, the schema of a plan."""

import json
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import jsonschema_rs
import pytest

from app.cli import main
from app.core.belts import Belt
from app.core.news import Delivery, News, OnIssue, Seen
from app.core.span import Minted, Span, SpanKind
from app.ledger import open_ledger
from tests.fakes.facts import START, a_request, labelled, sha
from tests.fakes.plans import plan
from tests.rooms.entry.conftest import PLAIN, ROOT, run
from worker.main import main as act

COMMANDS = (
    "up", "web", "worker", "mint", "beat", "demo", "schema", "migrate", "runs", "show", "backup", "restore", "prune",
    "roles", "trace", "export",
)  # fmt: skip


@pytest.fixture
def env(tmp_path):
    return {"COUNTERSIGN_DATA_DIR": str(tmp_path / "new" / "data")}


@pytest.fixture
def full(env, tmp_path):
    """A ledger with one run, whose issue has a hostile title."""
    assert run("migrate", env=env).stdout == "The ledger is at this version.\n"
    ledger = open_ledger(f"sqlite:///{tmp_path / 'new' / 'data' / 'ledger.db'}")
    request = a_request().model_copy(update={"issue_title": "\x1b[31mred\x07\nnext line"})
    news = News(
        OnIssue(request.repository_id, request.issue_number),
        labelled(request),
        Seen(request.repository_id, request.repository, request.installation_id),
    )
    ledger.receive(Delivery(str(uuid.uuid4()), "issues", "labeled", datetime.now(UTC), b"{}"), news)
    ledger.close()
    return request


def test_help_names_every_command():
    done = run("--help", env={})
    assert done.returncode == 0
    assert all(f"    {command} " in done.stdout for command in COMMANDS)


@pytest.mark.parametrize(
    "words",
    [(), ("dance",), ("runs", "--limit", "0"), ("runs", "--limit", "-1"), ("runs", "--limit", "x"), ("show",),
     ("web", "now")],
)  # fmt: skip
def test_what_is_not_understood_is_answered_with_the_usage(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("worker",), ("worker", "baker"), ("worker", "planner", "twice"), ("up", "x")])
def test_who_acts_answers_with_the_usage_as_well(words, capsys):
    assert act(words) == 2 and "usage:" in capsys.readouterr().err
    if words == ("worker", "baker"):
        done = run(*words, env={})
        assert done.returncode == 2 and "usage:" in done.stderr


def test_a_ledger_that_is_not_there_or_has_no_tables_is_named(env, tmp_path):
    done = run("runs", env=env)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    (tmp_path / "new" / "data").mkdir(parents=True)
    done = run("show", "r-1", env=env)
    assert done.returncode == 2 and "countersign migrate" in done.stderr


def test_an_empty_ledger_has_no_runs(env):
    assert run("migrate", env=env).returncode == 0
    assert run("migrate", env=env).returncode == 0
    done = run("runs", env=env)
    assert (done.returncode, done.stdout) == (0, "") and "no runs yet" in done.stderr
    done = run("show", "r-000000", env=env)
    assert done.returncode == 1 and "There is no run 'r-000000'" in done.stderr


def test_a_run_is_shown_fact_by_fact_and_nothing_in_it_reaches_the_terminal_raw(env, full):
    listed = run("runs", env=env).stdout
    shown = run("show", full.run, env=env).stdout
    assert listed.count("\n") == 1 and full.run in listed and "acme/widgets#7" in listed and "wanted" in listed
    assert "mira set the label countersign" in shown and "state: wanted" in shown and "owed: authority:label" in shown
    assert "The label was seen, and the permission of who set it is being looked up." in shown
    in_json = run("show", full.run, "--json", env=env).stdout
    told = json.loads(in_json)
    assert (told["view"]["id"], told["view"]["facts"][0]["fact"]["kind"]) == (full.run, "labelled")
    line = json.loads(run("runs", "--json", "--running", "--repository", "ACME/widgets", env=env).stdout)
    assert (line["id"], line["state"], line["usd"]) == (full.run, "wanted", "0")
    assert not {"\x1b", "\x07"} & set(listed + shown + in_json)
    for nothing in (("--waiting",), ("--ended",), ("--state", "built"), ("--before", full.run)):
        assert run("runs", *nothing, env=env).stdout == ""
    assert run("runs", "--repository", "acme/none", env=env).returncode == 1


def test_calls_and_tokens_of_a_run_are_shown_with_what_they_cost_and_by_hash(env, full, tmp_path):
    ledger = open_ledger(f"sqlite:///{tmp_path / 'new' / 'data' / 'ledger.db'}")
    began = {"run": full.run, "belt": Belt.PLANNER, "began_at": START, "seconds": 1.5, "outcome": "ok\x1b[2J"}
    model = began | {"kind": SpanKind.MODEL, "name": "planner", "model": "strong-1", "input_tokens": 321}
    spent = {"cached_tokens": 50, "output_tokens": 7, "usd": Decimal("0.1234")}
    search = began | {"kind": SpanKind.TOOL, "name": "search"}
    ledger.add_spans([Span(**model, **spent), Span(**model, priced=False), Span(**search)])
    cut = {"permissions": {"contents": "write"}, "token_sha256": sha("token"), "repository_id": 1, "effect_id": 1}
    until = {"minted_at": START, "expires_at": START + timedelta(hours=1)}
    ledger.record_mint(Minted(id="m1", run=full.run, belt=Belt.PUBLISHER, purpose="open_draft", **cut, **until))
    ledger.close()
    shown = run("show", full.run, env=env).stdout
    assert "strong-1, 321, 50, 7 tokens in, cached, out, $0.1234" in shown and "price not known" in shown
    assert "planner   tool search: ok\\u{001B}[2J, 1.50 s\n" in shown
    assert f"{sha('token')[:12]} publisher for open_draft: contents: write" in shown and sha("token") not in shown


def test_a_reader_that_leaves_early_is_no_error(env, full):
    command = f"{sys.executable} -m app.cli show {full.run} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=PLAIN | env, cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_schema_is_one_that_takes_a_stored_plan_and_refuses_every_other_shape():
    schema = json.loads(run("schema", env={}).stdout)
    jsonschema_rs.meta.validate(schema)
    assert schema["$id"] == "countersign.plan/1"
    takes = jsonschema_rs.validator_for(schema).is_valid
    stored = plan().model_dump(mode="json", by_alias=True)
    assert takes(stored)
    assert not takes(stored | {"shell": "rm -rf /"})
    assert not takes(stored | {"schema": "countersign.plan/2"})
    step = stored["steps"][0]
    assert not takes(stored | {"steps": [step | {"command": "make"}]})
    assert not takes(stored | {"steps": [step | {"path": ""}]})
    for field in ("evidence", "steps", "budget", "base_commit", "issue_digest"):
        assert not takes({name: value for name, value in stored.items() if name != field}), field


def test_an_audit_log_is_written_gone_on_with_and_verified(env, full, tmp_path):
    log = tmp_path / "audit.jsonl"
    first = run("export", env=env)
    log.write_text(first.stdout)
    assert first.returncode == 0
    assert sorted(json.loads(line)["type"] for line in first.stdout.splitlines()) == ["delivery", "fact", "log"]
    assert run("export", "--after", str(log), env=env).stdout == ""
    whole = run("export", "--verify", str(log), env={})
    assert whole.returncode == 0 and "is whole: 3 lines" in whole.stdout
    log.write_text(first.stdout.replace(full.run, "r-000009"))
    broken = run("export", "--verify", str(log), env={})
    assert broken.returncode == 1 and "broken at line 2" in broken.stdout
    refused = run("export", "--after", str(log), env=env)
    assert refused.returncode == 2 and refused.stdout == "" and "line 2" in refused.stderr
    assert run("export", "--verify", str(tmp_path / "none"), env={}).returncode == 1


def test_a_trace_of_a_run_without_spans_is_empty_and_one_of_no_run_is_told(env, full):
    assert run("trace", full.run, env=env).stdout.startswith(f"{full.run}  0.0 s of work  trace ")
    assert json.loads(run("trace", full.run, "--json", env=env).stdout)["spans"] == []
    done = run("trace", "r-none", env=env)
    assert done.returncode == 1 and "countersign runs" in done.stderr
