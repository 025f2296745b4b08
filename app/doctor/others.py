"""The other processes as the ledger shows them: what they last wrote there, for who may hold none of their settings.

Nothing here says that one of them is well: only what it left, and where it was to be seen and was not.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.belts import Belt
from app.core.missed import ROUND
from app.doctor.finding import Check, Found, Scene, elsewhere, fault, well, worth_knowing
from app.ledger.gauges import OwedKind
from app.ledger.store import Ledger

LATE = timedelta(minutes=5)
"""A round that is due, or work that nobody has in hand, for so long is not just about to be done."""

FORGED = 401
"""The status with which the receiver answers a delivery whose signature does not fit."""


@dataclass(frozen=True, slots=True)
class Only:
    """What is looked at by others alone, why this process cannot, and what to type where they run."""

    what: str
    why: str
    do: str


BY_OTHERS = (
    Only(
        "The App at GitHub: its address and clock, key, permissions, events, installations, webhook and deliveries",
        "Only the mint holds the App's key and may ask GitHub.",
        "countersign doctor --of mint",
    ),
    Only(
        "Models, box, templates, and the line to the mint",
        "Only the belts hold a model's key, run commands and prove themselves to the mint.",
        "countersign doctor --of planner --of executor --of publisher",
    ),
    Only(
        "A repository: its label, policy, branches and rulesets",
        "It is read with a token, and this process never gets one.",
        "countersign doctor --repo OWNER/REPO",
    ),
    Only(
        "Everything at once, on one machine: misspelt settings and versions too",
        "Each process is started with its own settings alone.",
        "countersign doctor",
    ),
)
"""What the page does not show. A test holds the commands against the terminal's."""


def checks_of_others(ledger: Ledger, answered: Mapping[tuple[int, str], int]) -> tuple[Check, ...]:
    """To be made by the web process; `answered`: how often its receiver gave each status since it began."""
    return (
        Check("deliveries", "web", lambda _: _deliveries(ledger, answered), ("ledger",)),
        Check("mint", "web", lambda _: _mint(ledger), ("ledger",)),
        *(Check(f"work of the {belt}", "web", _belt(ledger, belt), ("ledger",)) for belt in Belt),
    )


def _deliveries(ledger: Ledger, answered: Mapping[tuple[int, str], int]) -> Iterator[Found]:
    newest = ledger.deliveries(1)
    forged = sum(count for (status, _), count in answered.items() if status == FORGED)
    if forged:
        was = "was" if forged == 1 else "were"
        what = f"{forged} of the deliveries {was} refused since this process began: the signature does not fit."
        why = "Either GitHub signs with another secret, and no label is heard, or somebody else sent them."
        yield worth_knowing(what, why, "countersign doctor --of mint --only deliveries")
    if newest:
        yield well(f"The newest delivery came at {_moment(newest[0].received_at)}, signed with this process' secret")
    elif not forged:
        why = "Whether GitHub reaches this process and signs with its secret shows with the first one."
        yield worth_knowing("No delivery came yet.", why, "countersign doctor --of mint --only deliveries")
    missed = ledger.standing(ledger.clock()).missed
    if missed:
        what = f"{missed} of GitHub's deliveries did not arrive and did not come since."
        yield worth_knowing(what, "The mint asks for them again, with pauses, as far back as GitHub's log goes.")


def _mint(ledger: Ledger) -> Iterator[Found]:
    """By its rounds through the delivery log: each asks GitHub with a proof signed with the App's key."""
    last, now = ledger.last_round(ROUND), ledger.clock()
    do = "countersign doctor --of mint     (and look at the mint's log)"
    if last is None:
        why = "It does so as soon as it starts; without it no token is cut, and nothing is read or said."
        yield fault("The mint has never looked into GitHub's delivery log.", why, f"countersign mint; {do}")
    elif now - last.due_at > LATE:
        why = "It does not run, or cannot write to the ledger: no token is cut."
        what = f"The mint was to look into GitHub's delivery log at {_moment(last.due_at)}, and did not."
        yield fault(what, why, f"countersign mint; {do}")
    elif last.trouble:
        times = f", {last.failures} times in a row" if last.failures > 1 else ""
        why = "What it needs of GitHub the belts need as well."
        yield fault(f"The mint last could not look into GitHub's delivery log{times}: {last.trouble}", why, do)
    else:
        yield well(f"GitHub took the App's proof, and the next look into its delivery log is at {_moment(last.due_at)}")


def _belt(ledger: Ledger, belt: Belt) -> Callable[[Scene], Iterator[Found]]:
    def look(_: Scene) -> Iterator[Found]:
        now = ledger.clock()
        standing = ledger.standing(now)
        owed = [one for one in standing.owed if one.belt == belt]
        yield of_belt(belt, owed, standing.leases.get(belt, 0), now)

    return look


def of_belt(belt: Belt, owed: list[OwedKind], held: int, now: datetime) -> Found:
    """How the work of one belt stands. What waits long may wait for money, for GitHub or for its turn: no fault."""
    if not owed:
        return elsewhere("nothing is owed by it now, so nothing shows whether a worker of it runs")
    count, oldest = sum(one.count for one in owed), min(one.oldest for one in owed)
    told = f"{count} {'effect is' if count == 1 else 'effects are'} owed, the oldest since {_moment(oldest)}"
    if held or now - oldest <= LATE:
        return well(f"{told}; {held} in hand")
    why = "No worker of it runs, or it waits for money, for GitHub or after a failure: a run's page says which."
    return worth_knowing(f"{told}, and nobody has any in hand.", why, f"countersign worker {belt}")


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
