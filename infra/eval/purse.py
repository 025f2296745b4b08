"""The purse of an evaluation: no task begins that the money left would not hold, however many run side by side."""

import threading
from decimal import Decimal


class Purse:
    """What may be spent in all; None for no bound. `spent` is what earlier starts have cost."""

    def __init__(self, cap: Decimal | None, spent: Decimal) -> None:
        self._cap = cap
        self._spent = spent
        self._held = Decimal(0)
        self._changed = threading.Condition()

    @property
    def spent(self) -> Decimal:
        """What is settled."""
        with self._changed:
            return self._spent

    def take(self, usd: Decimal) -> bool:
        """So much is held for one task; False where it will not be there, whatever those under way give back."""
        with self._changed:
            while self._cap is not None and self._spent + self._held + usd > self._cap:
                if not self._held:
                    return False
                self._changed.wait()
            self._held += usd
            return True

    def settle(self, held: Decimal, spent: Decimal) -> None:
        """What was held for a task is free again, but for what it cost."""
        with self._changed:
            self._held -= held
            self._spent += spent
            self._changed.notify_all()
