"""The client over real HTTP, through the real SDK, against the scripted API."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from decimal import Decimal

import pytest

from app.core.belts import Belt
from app.core.budget import Spent
from worker.evidence.trace import CalledOff, Trace
from worker.model.client import Access, Model, ModelMisconfigured, ModelOverflow, ModelRejected, ModelUnavailable
from worker.model.line import Towards, line_towards
from worker.model.words import AssistantTurn, Outcome, Stopped, Terms, Tool, ToolResult, ToolResults, UserText

HELLO = [UserText("Look at the issue.")]
SCHEMA = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 1}},
    "required": ["steps"],
    "additionalProperties": False,
}
PLAN = Tool("submit_plan", "Ends with a plan.", SCHEMA)
GOOD = {"calls": [{"name": "submit_plan", "input": {"steps": ["one", "two"]}}]}


def test_a_cut_reply_with_an_empty_tool_call_carries_no_call(serve, model_at):
    api = serve({"cut": {"name": "submit_plan", "input": {}}})
    reply = model_at(api).ask("prompt", HELLO, [PLAN], 500)
    assert (reply.stopped, reply.calls, reply.because) == (Stopped.CUT, (), "max_tokens")
    assert reply.spent.calls == 1
    assert reply.spent.usd > 0


def test_a_plan_cut_after_two_of_five_steps_carries_no_call_although_it_parses(serve, model_at):
    api = serve({"cut": {"name": "submit_plan", "input": {"steps": ["one", "two"]}}})
    reply = model_at(api).ask("prompt", HELLO, [PLAN], 500)
    assert (reply.stopped, reply.calls) == (Stopped.CUT, ())


def test_three_overloads_then_a_good_reply_are_one_reply_of_four_attempts(serve, model_at):
    heard = []
    api = serve({"error": 529, "repeat": 3}, GOOD)
    reply = model_at(api, heard.append).ask("prompt", HELLO, [PLAN], 500)
    assert (reply.stopped, reply.attempts, reply.spent.calls) == (Stopped.TOOL_USE, 4, 1)
    assert dict(reply.calls[0].input) == {"steps": ["one", "two"]}
    assert heard == [reply]
    assert len(api.requests) == 4


def test_a_reply_over_its_token_limit_is_cut_by_the_api_itself(serve, model_at):
    api = serve({"calls": [{"name": "submit_plan", "input": {"steps": ["word " * 900]}}]})
    assert model_at(api).ask("prompt", HELLO, [PLAN], 100).stopped is Stopped.CUT


@pytest.mark.parametrize("broken", ['{"steps": ["on', [], None, 7])
def test_malformed_tool_input_is_never_a_call(serve, model_at, broken):
    api = serve({"malformed": {"name": "submit_plan", "input": broken}})
    reply = model_at(api).ask("prompt", HELLO, [PLAN], 500)
    assert (reply.stopped, reply.calls, reply.because) == (Stopped.BROKEN, (), "malformed tool input")


def test_half_a_character_in_a_reply_can_be_sent_back_and_kept(serve, model_at):
    halved = {"name": "submit_plan", "input": {"steps": ["é \udc00", "two"]}}
    api = serve({"text": "so \ud83d", "calls": [halved]}, GOOD)
    model = model_at(api)
    reply = model.ask("prompt", HELLO, [PLAN], 500)
    assert json.dumps([reply.text, dict(reply.calls[0].input)], ensure_ascii=False).encode()
    assert dict(reply.calls[0].input) == {"steps": ["é \ufffd", "two"]} and reply.text == "so \ufffd"
    again = [*HELLO, AssistantTurn(reply), ToolResults((ToolResult(reply.calls[0].id, "Once more."),))]
    assert model.ask("prompt", again, [PLAN], 500).stopped is Stopped.TOOL_USE


@pytest.mark.parametrize(("status", "word"), [(529, "overloaded"), (429, "rate limited"), (500, "500"), (504, "504")])
def test_failures_that_stay_are_unavailable_after_a_bounded_number_of_attempts(serve, model_at, status, word):
    api = serve({"error": status, "repeat": 9})
    with pytest.raises(ModelUnavailable, match=word) as caught:
        model_at(api, attempts=3).ask("prompt", HELLO, [PLAN], 500)
    assert caught.value.attempts == len(api.requests) == 3
    assert "3 attempts" in caught.value.reason
    assert caught.value.spent == Spent()


def test_the_wait_that_the_api_asks_for_is_kept(serve, model_at):
    api = serve({"error": 429, "retry_after": 0.3}, GOOD)
    reply = model_at(api, first_wait_seconds=0.0).ask("prompt", HELLO, [PLAN], 500)
    assert reply.attempts == 2
    assert reply.seconds >= 0.3


def test_a_wait_longer_than_our_patience_is_not_begun(serve, model_at):
    api = serve({"error": 429, "retry_after": 3600})
    with pytest.raises(ModelUnavailable) as caught:
        model_at(api, patience_seconds=5).ask("prompt", HELLO, [PLAN], 500)
    assert caught.value.retry_after_seconds == 3600
    assert caught.value.attempts == 1


def test_patience_ends_the_attempts_before_their_number_does(serve, model_at):
    api = serve({"error": 529, "repeat": 50})
    with pytest.raises(ModelUnavailable) as caught:
        model_at(api, attempts=50, patience_seconds=0.2, first_wait_seconds=0.05).ask("prompt", HELLO, [PLAN], 500)
    assert 2 <= caught.value.attempts < 10


def test_a_time_out_is_counted_as_a_call_at_the_most_that_it_can_have_cost(serve, model_at):
    api = serve({**GOOD, "delay": 0.6}, GOOD)
    model = model_at(api, timeout_seconds=0.2)
    most = model.quote("prompt", HELLO, [PLAN]).most(500)
    reply = model.ask("prompt", HELLO, [PLAN], 500)
    assert (reply.attempts, reply.spent.calls, reply.spent.unpriced_calls) == (2, 2, 0)
    assert most < reply.spent.usd < 2 * most


@pytest.mark.parametrize("turn", [{**GOOD, "delay": 20}, {"error": 529, "retry_after": 20}])
def test_what_nobody_wants_any_more_is_broken_off_and_what_it_may_have_cost_is_told(serve, turn):
    api, trace = serve(turn, GOOD), Trace("run-1", Belt.EXECUTOR)
    model = Model(Access("sk-test", api.url), "claude-opus-5-5", trace.replied("executor"), Terms(trace))

    def cancel() -> None:
        while not api.requests:
            time.sleep(0.01)
        # A refusal is on its way then, and is heard before anything is broken off.
        time.sleep(0.0 if "delay" in turn else 0.5)
        trace.call_off("cancelled by mira")

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(CalledOff, match="cancelled by mira"):
        model.ask("prompt", HELLO, [PLAN], 500)
    canceller.join()
    told = [(span.outcome, span.detail, span.calls, span.unpriced_calls) for span in trace.taken()]
    assert told == ([("cut", "broken off", 1, 0)] if "delay" in turn else [])
    assert len(api.requests) == 1


def test_a_call_does_not_end_while_it_is_being_broken_off() -> None:
    trace, begun, order = Trace("run-1", Belt.EXECUTOR), threading.Event(), list[str]()

    def act() -> None:
        begun.set()
        time.sleep(0.1)
        order.append("broken off")

    canceller = threading.Thread(target=trace.call_off, args=("cancelled by mira",))
    with trace.breaking(act):
        canceller.start()
        assert begun.wait(20)
    order.append("over")
    canceller.join()
    assert order == ["broken off", "over"]


def test_a_line_serves_the_next_call_unless_it_was_broken_off() -> None:
    with line_towards(Towards.THIS_MACHINE) as first, line_towards(Towards.THIS_MACHINE) as beside:
        assert beside is not first
    with line_towards(Towards.THIS_MACHINE) as second:
        assert second in (first, beside)
        second.break_off()
    with line_towards(Towards.THIS_MACHINE) as third:
        assert third is not second


def test_an_api_out_of_reach_is_unavailable(model_at):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    access = Access("k", f"http://127.0.0.1:{port}", attempts=2, first_wait_seconds=0.01)
    with pytest.raises(ModelUnavailable, match="out of reach after 2 attempts"):
        Model(access, "claude-opus-5-5").ask("prompt", HELLO, [PLAN], 500)


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "ANTHROPIC_API_KEY"), (402, "billing"), (403, "permissions"), (404, "name")]
)
def test_a_wrong_set_up_is_said_with_what_to_do_and_not_tried_again(serve, model_at, status, advice):
    api = serve({"error": status, "repeat": 2})
    with pytest.raises(ModelMisconfigured, match=advice):
        model_at(api).ask("prompt", HELLO, [PLAN], 500)
    assert len(api.requests) == 1


def test_a_missing_key_names_the_variable_before_anything_is_sent():
    with pytest.raises(ModelMisconfigured, match="Set ANTHROPIC_API_KEY"):
        Model(Access("  "), "claude-opus-5-5")


def test_a_key_that_the_api_does_not_know_is_misconfigured(serve, model_at):
    with pytest.raises(ModelMisconfigured, match="does not accept the key"):
        model_at(serve(GOOD), api_key="sk-wrong").ask("prompt", HELLO, [PLAN], 500)


def test_the_key_is_not_in_what_is_printed():
    assert "sk-secret" not in repr(Access("sk-secret"))


def test_a_rejected_request_is_not_tried_again(serve, model_at):
    api = serve({"error": 400, "repeat": 2})
    with pytest.raises(ModelRejected, match="400"):
        model_at(api).ask("prompt", HELLO, [PLAN], 500)
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        ({"error": 400, "message": "prompt is too long: 210000 tokens > 200000 maximum"}, ModelOverflow),
        ({"error": 413, "message": "Request exceeds the maximum size"}, ModelOverflow),
        ({"error": 400, "message": "Your credit balance is too low to access the API."}, ModelMisconfigured),
    ],
)
def test_what_would_be_refused_again_is_asked_once_and_costs_nothing(serve, turn, kind):
    api, settled = serve({**turn, "repeat": 9}), []

    class Purse:
        def hold(self, usd):
            return settled.append

    model = Model(Access("sk-test", api.url), "claude-opus-5-5", terms=Terms(purse=Purse()))
    with pytest.raises(kind, match=r"/re(try|fresh)") as caught:
        model.ask("prompt", HELLO, [PLAN], 500)
    assert (len(api.requests), caught.value.spent, settled) == (1, Spent(), [Decimal(0)])


def test_a_reply_that_fills_what_the_model_reads_is_billed_and_carries_no_call(serve, model_at):
    full = {"cut": {**GOOD["calls"][0], "stop": "model_context_window_exceeded"}}
    reply = model_at(serve(full)).ask("prompt", HELLO, [PLAN], 500)
    assert (reply.stopped, reply.calls, reply.content, reply.spent.calls) == (Stopped.FULL, (), (), 1)


def test_an_answer_that_is_no_message_points_at_the_address(serve, model_at):
    with pytest.raises(ModelMisconfigured, match="ANTHROPIC_BASE_URL") as caught:
        model_at(serve({"raw": "<html>a proxy</html>"})).ask("prompt", HELLO, [PLAN], 500)
    assert caught.value.spent.calls == 1 and caught.value.spent.usd > 0


def test_the_system_text_is_sent_as_a_cached_block_and_read_from_the_cache_afterwards(serve, model_at):
    api = serve({"text": "one"}, {"text": "two"})
    model = model_at(api)
    first, second = (model.ask("a long prompt " * 50, HELLO, [PLAN], 500) for _ in range(2))
    system = api.requests[0]["body"]["system"]
    assert system == [{"type": "text", "text": "a long prompt " * 50, "cache_control": {"type": "ephemeral"}}]
    assert (first.spent.cached_tokens, second.spent.cached_tokens > 100) == (0, True)
    assert second.spent.usd < first.spent.usd


@pytest.mark.parametrize(("before", "marked"), [((), []), (("a",), [0]), (("a", "b", "c"), [0, 2])])
def test_blocks_that_the_next_request_repeats_end_in_marks_for_the_cache(serve, model_at, before, marked):
    api = serve({"text": "one"})
    model_at(api).ask("prompt", [UserText("now", before)], [PLAN], 500)
    (message,) = api.requests[0]["body"]["messages"]
    assert [block["text"] for block in message["content"]] == [*before, "now"]
    assert [at for at, block in enumerate(message["content"]) if "cache_control" in block] == marked


def test_only_a_conversation_that_has_begun_marks_its_last_message_for_the_cache(serve, model_at):
    api = serve({"text": "one"}, {"text": "two"})
    model = model_at(api)
    first = model.ask("prompt", HELLO, [PLAN], 500)
    model.ask("prompt", [*HELLO, AssistantTurn(first), UserText("Go on.")], [PLAN], 500)
    assert "cache_control" not in api.requests[0]["body"]
    assert api.requests[1]["body"]["cache_control"] == {"type": "ephemeral"}


def test_tools_are_strict_and_what_strictness_cannot_hold_is_said_in_words(serve, model_at):
    api = serve(GOOD)
    model_at(api).ask("prompt", HELLO, [PLAN], 500)
    sent = api.requests[0]["body"]["tools"][0]
    assert sent["strict"] is True
    assert sent["input_schema"]["additionalProperties"] is False
    assert "maxLength: 9" in sent["input_schema"]["properties"]["steps"]["items"]["description"]


def with_optional_fields(name, count):
    """A tool with this many fields that may be left out, one level down."""
    inner = {
        "type": "object",
        "properties": {f"field_{number}": {"type": "string"} for number in range(count)},
        "additionalProperties": False,
    }
    schema = {"type": "object", "properties": {"one": inner}, "required": ["one"], "additionalProperties": False}
    return Tool(name, "More.", schema)


@pytest.mark.parametrize(
    ("tools", "strict"),
    [
        ([PLAN, *(with_optional_fields(f"more_{number}", 0) for number in range(25))], 20),
        ([with_optional_fields("large", 25), PLAN, with_optional_fields("small", 24)], 2),
        ([with_optional_fields("a", 13), with_optional_fields("b", 12)], 1),
    ],
)
def test_no_more_tools_are_strict_than_the_api_takes(serve, model_at, tools, strict):
    api = serve(GOOD)
    assert model_at(api).ask("prompt", HELLO, tools, 500).attempts == 1
    sent = api.requests[0]["body"]["tools"]
    assert len(sent) == len(tools)
    assert sum(tool.get("strict", False) for tool in sent) == strict


def test_where_strict_schemas_are_turned_down_the_request_goes_again_without(serve, model_at):
    api = serve({"error": 400, "message": "The compiled grammar is too large."}, GOOD, GOOD)
    model = model_at(api)
    reply = model.ask("prompt", HELLO, [PLAN], 500)
    assert (reply.stopped, reply.attempts) == (Stopped.TOOL_USE, 2)
    assert model.ask("prompt", [UserText("Look again.")], [PLAN], 500).attempts == 1
    assert ["strict" in one["body"]["tools"][0] for one in api.requests] == [True, False, False]


def test_a_reply_is_given_back_whole_before_its_tool_results(serve, model_at):
    api = serve({"text": "I think.", **GOOD}, {"text": "Done."})
    model = model_at(api)
    first = model.ask("prompt", HELLO, [PLAN], 500)
    results = ToolResults((ToolResult(first.calls[0].id, "", Outcome.FAILED),))
    model.ask("prompt", [*HELLO, AssistantTurn(first), results], [PLAN], 500)
    _, assistant, user = api.requests[1]["body"]["messages"]
    assert [block["type"] for block in assistant["content"]] == ["text", "tool_use"]
    assert assistant["content"][1]["input"] == {"steps": ["one", "two"]}
    assert user["content"][0]["is_error"] is True
    assert user["content"][0]["content"][0]["text"]


def test_thinking_is_kept_for_the_replay():
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "submit_plan", "input": {"steps": ["a"]}}
    sent, reply = answer_once([thinking, call], "tool_use")
    assert dict(reply.content[0]) == thinking
    assert reply.text == ""
    assert sent["model"] == "claude-opus-5-5"


def test_a_reason_to_stop_that_is_not_known_is_a_cut():
    call = {"type": "tool_use", "id": "toolu_1", "name": "submit_plan", "input": {"steps": ["a"]}}
    _, reply = answer_once([call], "something_new")
    assert (reply.stopped, reply.calls) == (Stopped.CUT, ())


def test_a_model_without_a_known_price_counts_as_unpriced_and_never_as_free():
    _, reply = answer_once([{"type": "text", "text": "hi"}], "end_turn", "claude-of-tomorrow")
    assert (reply.spent.usd, reply.spent.unpriced_calls, reply.spent.input_tokens) == (Decimal(0), 1, 3)


def test_a_refusal_names_its_category(serve, model_at):
    reply = model_at(serve({"refusal": "cyber"})).ask("prompt", HELLO, [PLAN], 500)
    assert (reply.stopped, reply.because) == (Stopped.REFUSED, "refusal: cyber")


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(serve):
    api = serve({"text": "hello"})
    code = (
        "from worker.model.client import Access, Model, UserText\n"
        f"access = Access('sk-test', {api.url!r}, attempts=1)\n"
        "print(Model(access, 'claude-opus-5-5').ask('prompt', [UserText('hi')], [], 500).text)\n"
    )
    proxied = os.environ | {"HTTP_PROXY": "http://127.0.0.1:9", "ALL_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""}
    ended = subprocess.run([sys.executable, "-c", code], env=proxied, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_sdk_is_imported_when_it_is_asked_for_and_not_before():
    code = (
        "import sys, worker.model.client as client, worker.model.conversation\n"
        "assert 'anthropic' not in sys.modules\n"
        "client.warm()\n"
        "assert 'anthropic' in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0


def answer_once(content, stop_reason, model="claude-opus-5-5"):
    """Asks a server that answers one request with exactly this content; returns what it was sent, and the reply."""
    body = json.dumps(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 5},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    got: list[bytes] = []

    def serve_one(listener):
        connection, _ = listener.accept()
        with connection:
            heard = b""
            while b"\r\n\r\n" not in heard or not heard.rstrip().endswith(b"}"):
                heard += connection.recv(65536)
            got.append(heard.partition(b"\r\n\r\n")[2])
            connection.sendall(head + body)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_one, args=(listener,))
        thread.start()
        access = Access("k", f"http://127.0.0.1:{listener.getsockname()[1]}", attempts=1)
        reply = Model(access, model).ask("prompt", HELLO, [PLAN], 500)
        thread.join()
    return json.loads(got[0]), reply
