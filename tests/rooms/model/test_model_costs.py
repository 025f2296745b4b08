"""What a call may cost is known before it is sent, held, and settled once, whatever becomes of the call."""

from decimal import Decimal

import pytest

from tests.rooms.model.conftest import PLAN
from worker.model.attempts import Access
from worker.model.client import Model, ModelError
from worker.model.gauge import BESIDE, Gauge
from worker.model.prices import PRICES, Tokens, cost, quote
from worker.model.words import AssistantTurn, Settle, Terms, ToolResult, ToolResults, UserText

NAME = "claude-opus-5-5"
HELLO = [UserText("Look at the issue. " * 200)]
GOOD = {"calls": [{"name": "submit_plan", "input": {"steps": ["one"]}}]}


class Purse:
    """Remembers what was held and at which price it was settled."""

    def __init__(self, most: Decimal = Decimal(99)) -> None:
        self.most = most
        self.held: list[Decimal] = []
        self.settled: list[Decimal] = []

    def hold(self, usd: Decimal) -> Settle:
        if usd > self.most:
            raise PermissionError("nothing is left")
        self.held.append(usd)
        return self.settled.append


def model(api, purse, name=NAME, **changes):
    settings = {"api_key": "sk-test", "base_url": api.url, "first_wait_seconds": 0.005, "timeout_seconds": 5.0}
    return Model(Access(**settings | changes), name, terms=Terms(purse=purse))


@pytest.mark.parametrize("tokens", [0, 1, 5_000, 100_000, 100_001, 900_000])
@pytest.mark.parametrize("name", PRICES)
def test_no_division_of_a_prompt_costs_more_than_the_quote(name: str, tokens: int) -> None:
    most = quote(name, tokens)
    for told in (Tokens(fresh=tokens, output=700), Tokens(written=tokens, output=700), Tokens(cached=tokens)):
        price = cost(name, told)
        assert price is not None and price <= most.most(700)


def test_what_is_not_in_the_list_of_prices_is_quoted_at_the_dearest() -> None:
    unknown = quote("claude-of-tomorrow", 9_000)
    assert not unknown.known
    assert unknown.most(500) >= max(quote(name, 9_000).most(500) for name in PRICES)


def test_a_gauge_is_never_below_what_the_api_counts_and_comes_near_it_once_it_was_told(serve) -> None:
    api, purse = serve(GOOD, GOOD, GOOD), Purse()
    asked = model(api, purse)
    messages = list(HELLO)
    for number in range(3):
        reply = asked.ask("prompt", messages, [PLAN], 500)
        assert reply.spent.usd <= purse.held[number] == asked_most(purse, number)
        messages += [AssistantTurn(reply), ToolResults((ToolResult(reply.calls[0].id, "Once more."),))]
    assert purse.held[1] < purse.held[0] * 3 / 4


def asked_most(purse: Purse, number: int) -> Decimal:
    return purse.held[number]


def test_of_a_prompt_that_was_counted_only_what_is_new_is_counted_in_bytes() -> None:
    gauge, body = Gauge(), {"system": "s" * 4_000, "messages": [{"role": "user", "content": "é" * 1_000}]}
    assert gauge.most(body) > 6_000
    gauge.learn(body, 1_200)
    longer = {**body, "messages": [*body["messages"], {"role": "user", "content": "x" * 100}]}
    assert 1_200 + 100 + BESIDE < gauge.most(longer) < 1_200 + 300 + BESIDE
    marked = {**longer, "system": body["system"], "cache_control": {"type": "ephemeral"}}
    assert gauge.most(marked) == gauge.most(longer)
    # What is no longer begins with the same words is counted anew, and nothing is learnt from a reply without a count.
    assert gauge.most({"system": "t" * 4_000}) > 4_000
    gauge.learn({"system": "t" * 4_000}, 0)
    assert gauge.most({"system": "t" * 4_000}) > 4_000


def test_nothing_is_sent_for_which_the_purse_has_not_enough(serve) -> None:
    api = serve(GOOD)
    with pytest.raises(PermissionError):
        model(api, Purse(Decimal("0.0001"))).ask("prompt", HELLO, [PLAN], 500)
    assert api.requests == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 529])
def test_what_the_api_did_not_do_is_given_back(serve, status: int) -> None:
    api, purse = serve({"error": status, "repeat": 9}), Purse()
    with pytest.raises(ModelError) as caught:
        model(api, purse, attempts=2).ask("prompt", HELLO, [PLAN], 500)
    assert purse.settled == [Decimal(0)] * len(purse.held) == [Decimal(0)] * caught.value.attempts
    assert caught.value.spent.calls == 0


def test_each_attempt_is_held_and_the_one_that_was_billed_is_settled_at_its_price(serve) -> None:
    api, purse = serve({"error": 529, "repeat": 2}, GOOD), Purse()
    reply = model(api, purse).ask("prompt", HELLO, [PLAN], 500)
    assert purse.settled == [Decimal(0), Decimal(0), reply.spent.usd]


@pytest.mark.parametrize("turn", [{**GOOD, "delay": 0.6}, {"torn": 40}, {"torn": 0}])
def test_an_answer_that_did_not_come_back_whole_is_counted_at_the_most_and_told_once(serve, turn) -> None:
    api, purse, heard = serve({**turn, "repeat": 9}), Purse(), []
    asked = Model(Access("sk-test", api.url, 0.2, 2, 9.0, 0.005), NAME, heard.append, Terms(purse=purse))
    with pytest.raises(ModelError) as caught:
        asked.ask("prompt", HELLO, [PLAN], 500)
    assert purse.settled == purse.held and len(purse.held) == 2
    assert (caught.value.spent.calls, caught.value.spent.usd) == (2, sum(purse.held))
    assert [(one.because, one.spent, one.calls) for one in heard] == [("no answer", caught.value.spent, ())]


def test_a_reply_of_unknown_price_is_settled_at_the_dearest(serve) -> None:
    api, purse = serve(GOOD), Purse()
    reply = model(api, purse, "claude-of-tomorrow").ask("prompt", HELLO, [PLAN], 500)
    assert (reply.spent.usd, reply.spent.unpriced_calls) == (0, 1)
    assert 0 < purse.settled[0] < purse.held[0]
