"""GitHub's limits: what one worker met holds for all of the installation's work, and for nobody else's."""

import json
import os
import traceback
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

from app.core.belts import Belt, EffectKind
from app.core.effects import LookUpAuthority, Say
from app.core.pacing import AT_ONCE, EACH, HANDS, NEXT_TURN, PIECES
from app.core.verdict import Refused
from app.ledger import open_ledger
from app.ledger.limits import BUSY, CONTENT
from app.ledger.outcomes import Claim
from app.ledger.store import Ledger
from tests.fakes.deliveries import LEASE, Told
from tests.fakes.facts import START, a_request

UNTIL = timedelta(minutes=40)


def test_turns_to_create_content_are_given_once_each_whoever_asks_for_them(
    ledger: Ledger, ledger_url: str
) -> None:
    gap, now = timedelta(seconds=1), START
    with closing(open_ledger(ledger_url)) as beside:
        given = [one.turn(7, now, gap) - now for one in (ledger, beside, beside, ledger)]
        assert given == [number * gap for number in range(4)]
        assert beside.turn(8, now, gap) == now
        assert beside.turn(7, now + UNTIL, gap) == now + UNTIL
        # A clock that was far ahead holds nobody up.
        assert ledger.turn(7, now, gap) == now


def of(ledger: Ledger, number: int, installation: int) -> Told:
    request = a_request(run=f"r-{number:05}", number=number)
    told = Told(ledger, request.model_copy(update={"installation_id": installation}))
    told.labelled()
    return told


def test_a_limit_that_one_worker_met_holds_for_every_effect_of_its_installation_and_for_no_other(
    ledger: Ledger,
) -> None:
    first, second, other = of(ledger, 1, 7), of(ledger, 2, 7), of(ledger, 3, 8)
    now = first.now
    met = first.claim(LookUpAuthority)
    assert ledger.park(met, now + UNTIL, "GitHub's limit was met.", now) is None
    debt = next(one for one in ledger.debts() if one.run == second.request.run)
    refused = ledger.claim(debt.effect_id, Belt.PUBLISHER, now, LEASE)
    assert isinstance(refused, Refused) and "GitHub's limit was met." in str(refused)
    debt = next(one for one in ledger.debts() if one.run == second.request.run)
    assert (debt.available_at, debt.attempts, debt.lease_until) == (now + UNTIL, 0, None)
    assert debt.why.endswith("GitHub's limit was met.")
    # What came later waits as well, what waits is rung for no more, and another account's work goes on.
    third = of(ledger, 4, 7)
    late = next(one for one in ledger.debts() if one.run == third.request.run)
    assert isinstance(ledger.claim(late.effect_id, Belt.PUBLISHER, now, LEASE), Refused)
    assert isinstance(other.claim(LookUpAuthority), Claim)
    assert all(one.available_at == now + UNTIL for one in ledger.debts() if one.run != other.request.run)
    # Of two limits the longer one holds.
    assert isinstance(ledger.park(met, now + UNTIL / 2, "another limit", now), Refused)
    assert isinstance(ledger.claim(late.effect_id, Belt.PUBLISHER, now + UNTIL / 2, LEASE), Refused)
    assert isinstance(ledger.claim(late.effect_id, Belt.PUBLISHER, now + UNTIL, LEASE), Claim)


def test_more_words_than_github_takes_wait_for_their_turn_whoever_has_them_to_say(ledger: Ledger) -> None:
    """github-facts 165: one count for all workers, and it costs no attempt."""
    runs = [of(ledger, number, 7) for number in range(1, AT_ONCE // 4 + 2)]
    now = runs[0].now
    for told in runs:
        told.allowed()
    say = [one.effect_id for one in ledger.debts() if one.kind == "say"][: AT_ONCE // 2 + 1]
    claimed = [ledger.claim(one, Belt.PUBLISHER, now, LEASE) for one in say]
    assert [isinstance(one, Claim) for one in claimed] == [True] * (AT_ONCE // 2) + [False]
    assert all(isinstance(one.effect, Say) for one in claimed if isinstance(one, Claim))
    waits = next(one for one in ledger.debts() if one.effect_id == say[-1])
    assert (waits.available_at, waits.attempts) == (now + 2 * EACH, 0)
    assert isinstance(ledger.claim(say[-1], Belt.PUBLISHER, now + 2 * EACH, LEASE), Claim)


def in_two_processes(url: str, work: Callable[[Ledger, int, Callable[[], None]], list[int]]) -> list[list[int]]:
    """What comes of the work in two processes, each with a ledger of its own; they can wait for one another once."""
    pipes = [os.pipe() for _ in range(2)]
    ends = []
    for number in range(2):
        mine, its = os.pipe()
        if (child := os.fork()) == 0:

            def meet(number: int = number) -> None:
                os.write(pipes[number][1], b"!")
                os.read(pipes[1 - number][0], 1)

            try:
                with closing(open_ledger(url)) as ledger:
                    os.write(its, json.dumps(work(ledger, number, meet)).encode())
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(its)
        ends.append((child, mine))
    told = []
    for child, mine in ends:
        with open(mine, "rb") as answer:
            told.append(answer.read())
        assert os.waitpid(child, 0)[1] == 0
    for pipe in pipes:
        os.close(pipe[0])
        os.close(pipe[1])
    return [json.loads(one) for one in told]


def taken_by_two(ledger: Ledger, url: str, kind: str) -> list[int]:
    """Two processes take all of a kind that is owed, one from either end; what they got."""
    owed = [one.effect_id for one in ledger.debts() if one.kind == kind]
    now = max(one.updated_at for one in ledger.runs())

    def take(mine: Ledger, number: int, meet: Callable[[], None]) -> list[int]:
        first, *others = owed if number else reversed(owed)
        got = [first] if isinstance(mine.claim(first, Belt.PUBLISHER, now, LEASE), Claim) else []
        meet()
        return got + [one for one in others if isinstance(mine.claim(one, Belt.PUBLISHER, now, LEASE), Claim)]

    both = in_two_processes(url, take)
    assert all(both)
    return [one for each in both for one in each]


def test_two_processes_together_hold_no_more_of_an_account_s_work_than_github_takes_requests_at_once(
    ledger: Ledger, ledger_url: str
) -> None:
    """github-facts 165: 100 requests at once, and each holder sends one at a time."""
    for number in range(1, HANDS + 11):
        of(ledger, number, 7)
    now = max(one.updated_at for one in ledger.runs())
    taken = taken_by_two(ledger, ledger_url, "look_up_authority")
    assert len(taken) == len(set(taken)) == HANDS
    left = [one for one in ledger.debts() if one.effect_id not in taken]
    assert [(one.attempts, one.available_at) for one in left] == [(0, now + NEXT_TURN)] * 10
    assert all(one.why.endswith(BUSY) for one in left)
    # Another account has hands of its own; one that becomes free, or whose holder is gone, is free for the next.
    assert isinstance(of(ledger, HANDS + 20, 8).claim(LookUpAuthority), Claim)
    assert isinstance(ledger.claim(left[0].effect_id, Belt.PUBLISHER, now + NEXT_TURN, LEASE), Refused)
    assert isinstance(ledger.claim(left[0].effect_id, Belt.PUBLISHER, now + LEASE + NEXT_TURN, LEASE), Claim)


def test_two_processes_together_say_no_more_than_github_takes(ledger: Ledger, ledger_url: str) -> None:
    """github-facts 165: 80 pieces of content in a minute."""
    for number in range(1, AT_ONCE // 4 + 4):
        of(ledger, number, 7).allowed()
    taken = taken_by_two(ledger, ledger_url, "say")
    assert len(taken) == len(set(taken)) == AT_ONCE // PIECES[EffectKind.SAY]
    assert {one.why.partition("UTC: ")[2] for one in ledger.debts() if one.available_at} == {CONTENT}


def test_what_anybody_met_who_asks_github_holds_for_all_and_is_doubled_where_it_does_not_help(ledger: Ledger) -> None:
    """github-facts 166."""
    told, minute = of(ledger, 1, 7), timedelta(minutes=1)
    now = told.now
    assert ledger.paused(7, now) is None
    ledger.pause(7, now + minute, "GitHub's limit was met.", now)
    assert ledger.paused(7, now) == (now + minute, "GitHub's limit was met.") and ledger.paused(8, now) is None
    debt = ledger.debts()[0]
    assert isinstance(ledger.claim(debt.effect_id, Belt.PUBLISHER, now, LEASE), Refused)
    # Several meet it in the same moment; that is one limit.
    ledger.pause(7, now + minute, "the same", now)
    assert ledger.paused(7, now + minute) is None
    later = now + minute
    for length in (2, 4, 8):
        ledger.pause(7, later + minute, "again", later)
        assert ledger.paused(7, later) == (later + length * minute, "again")
        later += length * minute
    # What GitHub names is kept to as it is, and after a quiet time it begins anew.
    ledger.pause(7, later + 30 * minute, "for half an hour", later)
    assert ledger.paused(7, later) == (later + 30 * minute, "for half an hour")
    later += 60 * minute
    ledger.pause(7, later + minute, "another", later)
    assert ledger.paused(7, later) == (later + minute, "another")
