"""The bounded tool loop, over real HTTP; the scripted API stands for the model."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.budget import Cap, Meter
from infra.scripted_model.server import ScriptedModel
from worker.model.client import Access, Model, ModelUnavailable, Tool
from worker.model.conversation import (
    WHOLE,
    Answer,
    Cause,
    Done,
    Failed,
    Finished,
    GaveUp,
    Limits,
    Opening,
    converse,
)

PATH = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
NOTE = {
    "type": "object",
    "properties": {"note": {"type": "string"}},
    "required": ["note"],
    "additionalProperties": False,
}
READ = {"calls": [{"name": "read_file", "input": {"path": "a.py"}}]}
LOST = {"calls": [{"name": "read_file", "input": {"path": "gone.py"}}]}
DONE = {"calls": [{"name": "step_done", "input": {"note": "changed"}}], "after_failure": True}
WRONG = {"calls": [{"name": "read_file", "input": {"path": 7}}], "after_failure": True}
UNKNOWN = {"calls": [{"name": "run_shell", "input": {"path": "a.py"}}], "after_failure": True}
CUT = {"cut": {"name": "step_done", "input": {}}, "after_failure": True}
BROKEN = {"malformed": {"name": "step_done", "input": '{"note": "ch'}, "after_failure": True}
FULL = {"cut": {"name": "step_done", "input": {}, "stop": "model_context_window_exceeded"}}
TOO_LONG = {"error": 400, "message": "input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000"}
IDLE = {"text": "I am done, I think.", "after_failure": True}
OPENING = Opening("You are the executor.", "Step 1 of 1\nChange a.py.")
SHORT = Limits(max_tokens=500)
ROOMY = Cap(usd=Decimal(5), calls=100, minutes=10)


class Desk:
    """Tools that remember what they were asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict]] = []

    def tools(self):
        return {
            "read_file": (Tool("read_file", "Reads.", PATH), self.read),
            "step_done": (Tool("step_done", "Ends.", NOTE), self.end),
        }

    def read(self, wanted):
        self.asked.append(("read_file", dict(wanted)))
        return Failed("There is no such file.") if wanted["path"] == "gone.py" else Answer("x = 1")

    def end(self, wanted):
        self.asked.append(("step_done", dict(wanted)))
        return Done(str(wanted["note"]))


@pytest.fixture
def talk(serve, model_at):
    """Holds a conversation over the given turns; returns its end, the desk, the meter and the API."""

    def hold(*turns, cap=ROOMY, limits=SHORT):
        api, desk, meter = serve(*turns, role="executor"), Desk(), Meter(cap)
        end = converse(model_at(api), OPENING, desk.tools(), meter, limits)
        return end, desk, meter, api

    return hold


def test_a_conversation_ends_with_the_value_of_the_call_that_ends_it(talk):
    end, desk, meter, api = talk(READ, DONE)
    assert isinstance(end, Finished)
    assert (end.value, end.call.name) == ("changed", "step_done")
    assert desk.asked == [("read_file", {"path": "a.py"}), ("step_done", {"note": "changed"})]
    assert meter.spent.calls == 2
    assert "x = 1" in str(api.requests[1]["body"]["messages"][-1])


def test_a_cut_reply_is_not_acted_on_and_the_model_is_told_to_be_shorter(talk):
    end, desk, meter, api = talk(CUT, DONE)
    assert isinstance(end, Finished)
    assert desk.asked == [("step_done", {"note": "changed"})]
    assert meter.spent.calls == 2
    told = api.requests[1]["body"]["messages"]
    assert [one["role"] for one in told] == ["user", "user"]
    assert "cut (max_tokens)" in str(told[-1])


def test_two_cuts_in_a_row_end_it_and_name_the_cause(talk):
    end, desk, meter, _ = talk(CUT, CUT, DONE)
    assert isinstance(end, GaveUp)
    assert end.cause is Cause.CUT
    assert "cut 2 times" in end.reason
    assert "500 tokens" in end.reason
    assert (desk.asked, meter.spent.calls) == ([], 2)


def test_a_broken_call_is_asked_for_again_whole_and_then_given_up(talk):
    end, desk, meter, api = talk(BROKEN, DONE)
    assert isinstance(end, Finished) and meter.spent.calls == 2
    assert WHOLE in str(api.requests[1]["body"]["messages"][-1]) and "shorter" not in str(api.requests[1]["body"])
    end, desk, meter, _ = talk(BROKEN, BROKEN, DONE)
    assert isinstance(end, GaveUp) and "calls that cannot be read" in end.reason
    assert (desk.asked, meter.spent.calls) == ([], 2)


@pytest.mark.parametrize(("turn", "billed"), [(FULL, 2), (TOO_LONG, 1)])
def test_what_grew_longer_than_the_model_reads_ends_it_at_once_with_advice(talk, turn, billed):
    end, desk, meter, api = talk(READ, turn, DONE)
    assert isinstance(end, GaveUp) and end.cause is Cause.FULL
    assert "more to read than claude-opus-5-5 reads" in end.reason and "`models` in the policy file" in end.reason
    assert (len(desk.asked), meter.spent.calls, len(api.requests)) == (1, billed, 2)


def test_cuts_that_are_not_in_a_row_do_not_end_it(talk):
    assert isinstance(talk(CUT, READ, CUT, READ, CUT, DONE)[0], Finished)


def test_an_end_without_a_call_is_nudged_twice_and_then_given_up(talk):
    assert isinstance(talk(IDLE, IDLE, DONE)[0], Finished)
    end, _, meter, _ = talk(IDLE, IDLE, IDLE, DONE)
    assert isinstance(end, GaveUp)
    assert (end.cause, meter.spent.calls) == (Cause.IDLE, 3)


def test_cuts_and_idle_replies_by_turns_end_as_well(talk):
    end, _, _, api = talk(CUT, IDLE, CUT, IDLE, CUT, IDLE, DONE)
    assert isinstance(end, GaveUp)
    assert len(api.requests) == 6


def test_an_unknown_tool_is_answered_with_the_tools_that_there_are(talk):
    end, desk, _, api = talk(UNKNOWN, DONE)
    assert isinstance(end, Finished)
    assert len(desk.asked) == 1
    answer = api.requests[1]["body"]["messages"][-1]["content"][0]
    assert answer["is_error"] is True
    assert "read_file, step_done" in str(answer)


def test_invalid_input_never_reaches_the_handler(talk):
    end, desk, _, api = talk(WRONG, DONE)
    assert isinstance(end, Finished)
    assert [name for name, _ in desk.asked] == ["step_done"]
    assert "input.path must be of type string" in str(api.requests[1]["body"]["messages"][-1])


def test_nothing_but_invalid_calls_is_given_up(talk):
    end, desk, meter, _ = talk(*[WRONG, UNKNOWN] * 4)
    assert isinstance(end, GaveUp)
    assert (end.cause, desk.asked, meter.spent.calls) == (Cause.MISTAKES, [], 4)


def test_an_ending_beside_a_failed_call_is_not_accepted(talk):
    both = {"calls": [LOST["calls"][0], DONE["calls"][0]]}
    end, _, _, api = talk(both, DONE)
    assert isinstance(end, Finished)
    assert len(api.requests) == 2
    assert "not accepted" in str(api.requests[1]["body"]["messages"][-1])


def test_a_refusal_ends_it_with_its_category(talk):
    end, *_ = talk({"refusal": "cyber"})
    assert isinstance(end, GaveUp)
    assert end.cause is Cause.REFUSED
    assert "cyber" in end.reason


def test_the_meter_is_asked_before_every_call(talk):
    end, _, meter, api = talk(*[READ] * 9, cap=Cap(usd=Decimal(5), calls=3, minutes=10))
    assert isinstance(end, GaveUp)
    assert end.reason == "The budget of 3 model calls is used up."
    assert len(api.requests) == meter.spent.calls == 3


def test_money_ends_it_too(talk):
    end, _, _, api = talk(*[READ] * 9, cap=Cap(usd=Decimal("0.001"), calls=50, minutes=10))
    assert isinstance(end, GaveUp)
    assert "$0.001" in end.reason
    assert len(api.requests) < 5


def test_what_a_failed_call_may_have_cost_is_charged_before_the_error_passes(serve, model_at):
    api = serve({**DONE, "delay": 0.5}, role="executor")
    meter = Meter(ROOMY)
    with pytest.raises(ModelUnavailable):
        converse(model_at(api, timeout_seconds=0.1, attempts=1), OPENING, Desk().tools(), meter, Limits())
    assert (meter.spent.calls, meter.spent.usd > 0) == (1, True)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(st.sampled_from([READ, LOST, DONE, WRONG, UNKNOWN, CUT, IDLE]), min_size=1, max_size=12))
def test_whatever_the_model_does_the_loop_is_bounded_and_only_valid_whole_calls_are_acted_on(turns):
    turns = [{**turn, "after_failure": True} for turn in turns] + [DONE]
    with ScriptedModel.start({"parts": [{"role": "executor", "turns": turns}]}) as api:
        desk, meter = Desk(), Meter(Cap(usd=Decimal(5), calls=8, minutes=10))
        model = Model(Access("k", api.url), "claude-opus-5-5")
        end = converse(model, OPENING, desk.tools(), meter, Limits(max_tokens=500, replies=10))
        assert len(api.requests) == meter.spent.calls <= 8
        assert all(request["status"] == 200 for request in api.requests)
        assert all(
            set(asked) <= {"path", "note"} and isinstance(next(iter(asked.values())), str) for _, asked in desk.asked
        )
        served = turns[: len(api.requests)]
        whole = [turn for turn in served if turn.get("calls") in (READ["calls"], LOST["calls"], DONE["calls"])]
        assert len(desk.asked) == len(whole)
        assert isinstance(end, Finished) == (DONE["calls"] in [turn.get("calls") for turn in served])
