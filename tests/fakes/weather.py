"""A storm: many runs at once, people, belts, GitHub and deliveries in an order of chance, and whatever can fail fails.

Everything is chosen by one seed. What is done is written down, so that a storm that ended badly can be read.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from app.core.belts import Belt, EffectKind
from app.core.run import Proposed
from tests.fakes.brokers import Broker
from tests.fakes.mortal import BROKER, GITHUB, LEDGER, MINT, MortalStory, Point
from tests.fakes.story import REPO

SECONDARY = '{"message": "You have exceeded a secondary rate limit."}'
TROUBLE: Sequence[dict[str, Any]] = (
    {"mode": "instead", "status": 500},
    {"mode": "instead", "status": 503},
    {"mode": "after", "status": 502},
    {"mode": "drop"},
    {"mode": "drop-after"},
    {"mode": "instead", "status": 403, "body": SECONDARY},
    {"mode": "instead", "status": 429, "headers": {"retry-after": "7"}},
    {"mode": "instead", "status": 401, "body": '{"message": "Bad credentials"}'},
)
REQUESTS = (
    "POST .*/access_tokens", "DELETE .*/installation/token", "POST .*/comments$", "PATCH .*/comments/",
    "POST .*/reactions", "POST .*/git/(blobs|trees|commits)", "POST .*/git/refs", "POST .*/pulls$", "POST .*/graphql",
    "GET .*/collaborators/", "GET .*/issues/", "GET .*/contents/", "GET .*/git/", "info/refs", "git-upload-pack",
)  # fmt: skip
NOBODY = "http://127.0.0.1:1/"
"""Where no web process is."""

FEW_ATTEMPTS = 2
"""At a draft that end in a death by preference: more of them would rightly end its run."""

AMID_A_DRAFT = ((LEDGER, 2), (GITHUB, 5), (GITHUB, 6), (GITHUB, 7))
"""Where a publisher dies then: after two questions that are sent as a write is, a blob and a tree it writes a commit, a
branch and the pull request, and settles."""

MOST_AT_ONCE = 4
"""Faults that are armed at one time: more than an effect has attempts would be an outage, and end runs rightly."""


class Weather:
    """Drives a world for so many runs; `label` asks for them and `open_issue` makes one to set it on."""

    def __init__(
        self, story: MortalStory, broker: Broker, chance: random.Random, label: str, open_issue: Callable[[], int]
    ) -> None:
        self.story = story
        self.broker = broker
        self.chance = chance
        self.label = label
        self.open_issue = open_issue
        self.log: list[str] = []
        self.counts: Counter[str] = Counter()
        self.labelled: list[int] = []
        self.asked: list[tuple[int, int]] = []
        """Issue and id of each comment that somebody made."""

    def rages(self, runs: int, more: Callable[[], bool] = lambda: True) -> None:
        """So many issues are labelled (fewer once there is no `more`), each when its turn comes by chance, and all is
        done that is owed until every run waits for a person or has ended. Nobody waits long for the first death."""
        left = runs
        while left and more():
            self._acts(self._labels)
            left -= 1
            for _ in range(self.chance.randrange(4, 16)):
                self._something()
            self._somebody_has_died()
        for _ in range(runs * 40):
            if not self._owed() and not self._waiting():
                break
            self._something()
            self._somebody_has_died()

    def clears(self) -> None:
        """Nothing fails any more. What GitHub could not deliver is delivered; who waits for a person gets a word."""
        story = self.story
        self.broker.comes_back()
        story.twin.forge.faults.clear()
        story.control.clear_treatments()
        story.control.release_deliveries("last-first")
        story.control.settle()
        for _ in range(20):
            story.catch_up(4)
            story.wait_out()
            waiting = self._waiting()
            if not waiting:
                return
            for number in waiting:
                self.asked.append((number, story.mira.writes("/approve", number)))
        raise AssertionError(f"these wait for ever: {waiting}")

    # -- what can happen --------------------------------------------------------------------------------------

    def _something(self) -> None:
        deeds: dict[Callable[[], object], int] = {
            self._works: 55, self._dies: 16, self._time: 6, self._trouble: 5, self._speaks: 7, self._rings: 4,
            self._late: 3, self._once_more: 1, self._catches_up: 1, self._broker_fails: 1, self._sweeps: 2,
        }  # fmt: skip
        [deed] = self.chance.choices(list(deeds), list(deeds.values()))
        deed()

    def _works(self) -> None:
        """Some belt does something that is owed."""
        if owed := self._due():
            self.story.does(self.chance.choice(owed))

    def _dies(self) -> None:
        """Some belt does something, and it or the mint dies over it: over a draft if one is due, in which most is left
        on GitHub that has to be found again."""
        owed = self._due()
        if not owed:
            return
        drafts = [one for one in owed if one.kind == EffectKind.OPEN_DRAFT and one.attempts < FEW_ATTEMPTS]
        debt = self.chance.choice(drafts or owed)
        process = self.chance.choice([debt.belt.value, debt.belt.value, MINT])
        place = self.chance.choice([LEDGER, BROKER, GITHUB] if process != MINT else [LEDGER, GITHUB])
        point = Point(process, place, self.chance.randrange(1, 5), self.chance.random() < 0.5)
        if drafts:
            place, number = self.chance.choice(AMID_A_DRAFT)
            point = Point(debt.belt.value, place, number, point.after)
        if self.story.dies_in(debt, point):
            self._note("death", f"{debt.key} of {debt.run}: {point}")

    def _somebody_has_died(self) -> None:
        if not self.counts["death"]:
            self._dies()

    def _rings(self) -> None:
        """A bell is heard again, of anything that was ever owed."""
        runs = self.story.ledger.runs()
        view = self.story.ledger.run(self.chance.choice(runs).id) if runs else None
        if view is not None:
            effect = self.chance.choice(view.effects)
            self._note("bell", f"{effect.effect.key} of {view.id} again")
            self.story.hears(effect.belt, effect.id)

    def _time(self) -> None:
        self.story.pass_time(timedelta(seconds=self.chance.choice([1, 10, 40])))

    def _trouble(self) -> None:
        """A request that fits will fail."""
        if len(self.story.twin.forge.faults.waiting()) < MOST_AT_ONCE:
            pattern, how = self.chance.choice(REQUESTS), self.chance.choice(TROUBLE)
            if how.get("status") == 401 and pattern.startswith("DELETE"):
                return  # GitHub says so of a token that is revoked already, and is believed
            self._note("trouble", f"{pattern} {how}")
            self.story.control.fault(pattern, **how)

    def _broker_fails(self) -> None:
        self._note("broker", self.broker.fails(self.chance))

    def _sweeps(self) -> None:
        self.story.sweep()

    def _late(self) -> None:
        self.story.control.release_deliveries(self.chance.choice(["first-first", "last-first"]))
        self.story.control.settle()

    def _once_more(self) -> None:
        """Somebody has GitHub deliver something again."""
        everything = self.story.control.deliveries()
        if everything:
            self.story.control.redeliver(self.chance.choice(everything)["id"])
            self.story.control.settle()

    def _catches_up(self) -> None:
        """The mint looks for what did not reach us, as far as it gets."""
        self.story.looks_for_missed()

    def _speaks(self) -> None:
        """Somebody says something, where a plan waits if any does, or anywhere."""
        numbers = self._waiting() or self.labelled
        if numbers:
            number = self.chance.choice(numbers)
            self._acts(lambda: self._says(number))

    def _says(self, number: int) -> None:
        who = self.chance.choice([self.story.mira, self.story.mira, self.story.max, self.story.rita, self.story.theo])
        usual = ["/approve"] * 8 + [
            "/why",
            "/aprove",
            "thank you",
            "/cancel",
            "/reject",
            "/status",
            *["/approve 0badc0de"] * 3,
        ]
        words = self.chance.choice(usual)
        for _ in range(self.chance.choice([1, 1, 1, 2])):
            self._note("word", f"{who.login} on {number}: {words}")
            self.asked.append((number, who.writes(words, number)))

    def _labels(self) -> None:
        """By one who may, and now and then by two in the same moment."""
        number = self.open_issue()
        self.labelled.append(number)
        for who in self.chance.choice([["mira"], ["mira"], ["max"], ["mira", "max"]]):
            self._note("label", f"{who} on {number}")
            self.story.control.label(REPO, number, self.label, who)
            if self.chance.random() < 0.1:
                self.story.control.unlabel(REPO, number, self.label, who)
                self.story.control.label(REPO, number, self.label, who)

    def _acts(self, deed: Callable[[], object]) -> None:
        """A person does this, and the next delivery comes, or comes late, or twice, or finds nobody there."""
        control, how = self.story.control, self.chance.choice(["", "", "", "hold", "duplicate", "nobody"])
        if how == "nobody":
            control.set_hook(NOBODY)
        elif how:
            control.treat_deliveries(how, times=self.chance.choice([1, 2]))
        deed()
        control.settle()
        control.clear_treatments()
        control.set_hook(f"{self.story.web_url}/webhooks/github")

    # -- looking ----------------------------------------------------------------------------------------------

    def _owed(self) -> bool:
        return bool(self.story.ledger.debts())

    def _due(self) -> list[Any]:
        due = {one for belt in Belt for one in self.story.ledger.owed(belt, self.story.now())}
        return [one for one in self.story.ledger.debts() if one.effect_id in due]

    def _waiting(self) -> list[int]:
        """The issues whose runs wait for a person."""
        waiting = []
        for summary in self.story.ledger.runs():
            view = self.story.ledger.run(summary.id) if summary.state == "proposed" else None
            if view is not None and isinstance(view.state, Proposed) and view.state.proposal.comment_id is not None:
                waiting.append(summary.issue_number)
        return waiting

    def _note(self, what: str, words: str) -> None:
        self.counts[what] += 1
        self.log.append(f"{what}: {words}")
