"""GitHub's example deliveries, as published by others (see webhooks/NOTICE)."""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Example(NamedTuple):
    """One published payload: from which GitHub, of which event."""

    source: str
    event: str
    payload: dict[str, Any]


@cache
def examples() -> tuple[Example, ...]:
    """All of them; callers must not change what they get."""
    with lzma.open(Path(__file__).parent / "webhooks" / "examples.jsonl.xz", "rt", encoding="utf-8") as lines:
        read = (json.loads(line) for line in lines)
        return tuple(Example(each["from"], each["event"], each["payload"]) for each in read)
