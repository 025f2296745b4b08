"""What somebody outside answered in the doing of one effect: kept before it is used, so that it is asked for once."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The answer to a question that an effect asked; `nth` counts, from 0, how often it was asked in one attempt."""

    effect_id: int
    question: str
    """SHA-256 of what was asked, as 64 lower-case hex digits."""
    nth: int
    body: bytes
