"""Doorbells: a message says that something is owed and where, never what.

May import `app.settings` and `app.core`, and is the only room of `app` that loads Celery and kombu, which it does
when the first bell is made. Refuses to carry anything but ids, to keep results, and to make anybody wait or fail
because a bell could not be rung: the sweep finds what was not heard.
"""

from app.queue.bells import (
    SWEEP,
    VISIBILITY_SECONDS,
    WORK,
    Doorbell,
    Owed,
    Ringer,
    bells_waiting,
    broker_trouble,
    make_celery,
    ring_sweeps,
)
from app.queue.probing import BrokerStanding, broker_standing

__all__ = [
    "SWEEP",
    "VISIBILITY_SECONDS",
    "WORK",
    "BrokerStanding",
    "Doorbell",
    "Owed",
    "Ringer",
    "bells_waiting",
    "broker_standing",
    "broker_trouble",
    "make_celery",
    "ring_sweeps",
]
