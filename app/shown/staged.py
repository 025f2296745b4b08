"""What a staged run would have written, as it was kept at its end."""

from dataclasses import dataclass

from app.core.run import Closed, State
from app.core.staged import Staged
from app.ledger.store import Ledger
from app.shown.works import read_kept


@dataclass(frozen=True, slots=True)
class Unwritten:
    """What would have been written; without it there is only `trouble`, a sentence."""

    staged: Staged | None
    trouble: str = ""


def unwritten(ledger: Ledger, state: State) -> Unwritten | None:
    """What this run would have written; None where it is not staged, or not at its end."""
    if not isinstance(state, Closed) or not state.staged_ref:
        return None
    return Unwritten(*read_kept(ledger, state.staged_ref, Staged))
