"""The scripted Messages API by itself, spoken to with plain HTTP."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from infra.demo.fetch_input import SCRIPT
from infra.scripted_model.script import ScriptError, parse_script, read_script
from infra.scripted_model.server import ScriptedModel

ROOT = Path(__file__).parents[3]
TOOLS = {"planner": "submit_plan", "executor": "step_done", "reviewer": "review", "scout": "report"}


def call(name, **fields):
    return {"calls": [{"name": name, "input": fields}]}


def post(api, body, headers=None):
    """Status, body and headers of one POST /v1/messages."""
    sent = {"anthropic-version": "2026-10-21", "x-api-key": "k", "content-type": "application/json"} | (headers or {})
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    wish = urllib.request.Request(f"{api.url}/v1/messages", data, {name: word for name, word in sent.items() if word})
    try:
        with urllib.request.urlopen(wish, timeout=10) as answer:
            return answer.status, json.loads(answer.read()), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read()), error.headers


def request(*texts, role="planner", **changes):
    """A request body of one role, with these user messages."""
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": text} for text in texts],
        "tools": [{"name": TOOLS[role], "description": "x", "input_schema": schema}],
    }
    return body | changes


def said(answer):
    """The first block of a reply: a tool's name and input, or a text."""
    block = answer[1]["content"][0]
    return block.get("text") or (block["name"], block["input"])


def parts(*some):
    return ScriptedModel.start({"parts": list(some)})


def test_a_reply_looks_like_the_real_one():
    with parts({"role": "planner", "turns": [{"text": "I look.", **call("search", pattern="x")}]}) as api:
        status, body, headers = post(api, request("issue"))
    assert (status, body["type"], body["role"], body["stop_reason"]) == (200, "message", "assistant", "tool_use")
    assert [block["type"] for block in body["content"]] == ["text", "tool_use"]
    assert body["usage"]["output_tokens"] > 0
    assert headers["request-id"]


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({"x-api-key": ""}, 401, "authentication_error"),
        ({"x-api-key": "", "authorization": "Bearer k"}, 200, None),
        ({"anthropic-version": ""}, 400, "invalid_request_error"),
    ],
)
def test_a_request_needs_a_key_in_either_form_and_a_version(headers, status, kind):
    with parts({"role": "planner", "turns": [{"text": "hello"}]}) as api:
        got, body, _ = post(api, request("issue"), headers)
    assert got == status
    assert body.get("error", {}).get("type") == kind


TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
USER = {"role": "user", "content": "issue"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": 1.0}, "temperature"),
        ({"messages": []}, "messages"),
        ({"messages": [USER, {"role": "assistant", "content": "so"}]}, "user role"),
        ({"messages": [USER, {"role": "assistant", "content": [TOOL_USE]}, USER]}, "without `tool_result`"),
        ({"messages": [USER, {"role": "user", "content": [RESULT]}]}, "unexpected `tool_use_id`"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}, "non-empty"),
        ({"tools": [{"name": "a", "input_schema": {}}] * 2}, "unique"),
        ({"tools": [{"name": "a", "strict": True, "input_schema": {"type": "object"}}]}, "additionalProperties"),
        (
            {
                "tools": [
                    {
                        "name": "a",
                        "strict": True,
                        "input_schema": {
                            "type": "object",
                            "properties": {"n": {"type": "integer", "minimum": 1}},
                            "additionalProperties": False,
                        },
                    }
                ]
            },
            "minimum",
        ),
    ],
)
def test_what_the_real_api_turns_down_is_turned_down(changes, words):
    with parts({"role": "planner", "turns": [{"text": "hello"}]}) as api:
        status, body, _ = post(api, request("issue", **changes))
    assert status == 400
    assert words in body["error"]["message"]


def test_a_body_that_is_not_json_and_a_model_that_is_not_known_are_refused():
    with parts({"role": "planner", "turns": [{"text": "hello"}]}) as api:
        assert post(api, b'{"model": ')[0] == 400
        assert post(api, request("issue", model="gadget-1"))[0] == 404


@pytest.mark.parametrize(
    ("role", "ending"), [("planner", "give_up"), ("executor", "cannot"), ("reviewer", "review"), ("scout", None)]
)
def test_a_script_goes_no_further_than_the_evidence_shown(role, ending):
    turns = [{"when": ["exp = 1", "def size"], **call("search", pattern="x")}]
    with parts({"role": role, "turns": turns}) as api:
        answer = post(api, request("here is def size", role=role))
        assert "not shown 'exp = 1'" in json.dumps(answer[1]["content"])
        assert answer[1]["content"][0].get("name") == ending
        assert said(post(api, request("def size and exp = 1", role=role))) == ("search", {"pattern": "x"})


def test_a_failed_call_stops_the_script_unless_the_turn_expects_it():
    def answer_to_failure(**extra):
        turns = [call("replace", old="x"), {**call("step_done", note="ok"), **extra}]
        with parts({"role": "executor", "turns": turns}) as api:
            first = post(api, request("Step 1", role="executor"))[1]["content"]
            result = {"type": "tool_result", "tool_use_id": first[0]["id"], "content": "no match", "is_error": True}
            talk = [{"role": "assistant", "content": first}, {"role": "user", "content": [result]}]
            body = request("Step 1", role="executor")
            return said(post(api, body | {"messages": body["messages"] + talk}))

    name, fields = answer_to_failure()
    assert name == "cannot"
    assert "no match" in fields["reason"]
    assert answer_to_failure(after_failure=True)[0] == "step_done"


def test_parts_are_known_by_the_tools_offered_the_step_and_the_opening_words():
    with parts(
        {"role": "executor", "step": 2, "turns": [{"text": "second"}]},
        {"role": "executor", "repair": 2, "turns": [{"text": "second repair"}]},
        {"role": "executor", "about": ["b.py"], "turns": [{"text": "b"}]},
        {"role": "executor", "turns": [{"text": "any"}]},
        {"role": "reviewer", "turns": [{"text": "review"}]},
    ) as api:
        assert said(post(api, request("Step 2 of 3: after step 1", role="executor"))) == "second"
        assert said(post(api, request("Step 1 of 3 in b.py, before step 2", role="executor"))) == "b"
        assert said(post(api, request("Step 3 of 3", role="executor"))) == "any"
        assert said(post(api, request("Repair 2 of 2, after step 2", role="executor"))) == "second repair"
        assert said(post(api, request("Repair 1 of 2, after step 2", role="executor"))) == "any"
        assert said(post(api, request("the difference", role="reviewer"))) == "review"
        assert "no part" in said(post(api, request("a question", role="scout")))


def test_the_planner_goes_on_from_turn_to_turn_although_it_sends_one_message_each_time():
    turns = [call("search", pattern="x"), {"error": 529, "repeat": 2}, call("submit_plan"), call("search", pattern="y")]
    with parts({"role": "planner", "turns": turns}) as api:
        assert said(post(api, request("issue")))[0] == "search"
        assert [post(api, request("issue + case"))[0] for _ in range(2)] == [529, 529]
        assert said(post(api, request("issue + case")))[0] == "submit_plan"
        assert said(post(api, request("issue + case 2"))) == ("search", {"pattern": "y"})
        assert said(post(api, request("another issue"))) == ("search", {"pattern": "x"})


def test_a_part_begins_anew_when_its_opening_comes_again():
    turns = [call("search", pattern="x"), call("submit_plan")]
    with parts({"role": "planner", "turns": turns}, {"role": "executor", "turns": turns}) as api:
        for role in ("planner", "executor"):
            assert said(post(api, request("Step 1", role=role)))[0] == "search"
            assert said(post(api, request("Step 1", role=role)))[0] == "search"


def test_requests_are_recorded_with_what_answered_them_and_without_the_key():
    with parts({"role": "planner", "turns": [{"error": 529}, {"cut": {"text": "so far"}}]}) as api:
        post(api, request("issue"), {"x-api-key": "sk-secret"})
        post(api, request("issue"), {"x-api-key": "sk-secret"})
        with urllib.request.urlopen(f"{api.url}/_script/requests", timeout=10) as answer:
            recorded = json.loads(answer.read())
    assert [(one["role"], one["turn"], one["status"]) for one in recorded] == [
        ("planner", "error", 529),
        ("planner", "cut", 200),
    ]
    assert recorded[0]["body"]["messages"][0]["content"] == "issue"
    assert "sk-secret" not in json.dumps(recorded)


def test_an_error_carries_the_wait_it_asks_for():
    with parts({"role": "planner", "turns": [{"error": 429, "retry_after": 7}]}) as api:
        status, body, headers = post(api, request("issue"))
    assert (status, body["error"]["type"], headers["retry-after"]) == (429, "rate_limit_error", "7")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([], "mapping"),
        ({"parts": [{"role": "cook", "turns": [{"text": "x"}]}]}, "part 1 has the role 'cook'"),
        ({"parts": [{"role": "planner", "turns": []}]}, "no turns"),
        ({"parts": [{"role": "planner", "turns": [{"say": "x"}]}]}, "part 1, turn 1"),
        ({"parts": [{"role": "planner", "turns": [{"text": "x", "wen": []}]}]}, "unknown fields wen"),
        ({"parts": [{"role": "planner", "turn": [{"text": "x"}]}]}, "part 1 must be"),
    ],
)
def test_a_script_that_cannot_be_meant_is_refused_with_its_place(script, words):
    with pytest.raises(ScriptError, match=words):
        parse_script(script)


def test_it_runs_as_a_process_of_its_own_and_ends_when_told():
    command = [sys.executable, "-m", "infra.scripted_model", "--port", "0", "--script", str(SCRIPT)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        line = process.stdout.readline()
        address = line.split()[-1]
        with urllib.request.urlopen(f"{address}/healthz", timeout=10) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
    assert "humanize 4.15.0" in line


def test_an_unreadable_script_stops_the_process_with_a_sentence(tmp_path):
    wrong = tmp_path / "script.yaml"
    wrong.write_text("parts: [", "utf-8")
    with pytest.raises(ScriptError, match=r"script\.yaml cannot be read"):
        read_script(wrong)
    command = [sys.executable, "-m", "infra.scripted_model", "--port", "0", "--script", str(wrong)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 2
    assert "cannot be read" in ended.stderr
