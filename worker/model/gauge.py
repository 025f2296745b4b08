"""How many tokens a prompt has at the most, before it is sent: no token is shorter than a byte, and what was sent
before has been counted by the API."""

import json
from collections.abc import Mapping
from typing import Any

BESIDE = 1_000
"""Tokens that the API adds for tools, and for the frame of the messages."""


class Gauge:
    """Remembers the last prompt and its length as the API told it: of the next one only what is new is counted in
    bytes. Safe to share between threads; whichever prompt is remembered, the bound holds."""

    def __init__(self) -> None:
        self._last = ("", 0)

    def most(self, body: Mapping[str, Any]) -> int:
        """The most tokens that this prompt can have."""
        text, (before, tokens) = _text(body), self._last
        same = _same(text, before)
        new = len(text[same:].encode("utf-8", "replace"))
        return BESIDE + min(new + tokens if same else new, len(text.encode("utf-8", "replace")))

    def learn(self, body: Mapping[str, Any], tokens: int) -> None:
        """The prompt had so many tokens, as the API says."""
        if tokens:
            self._last = (_text(body), tokens)


def _same(one: str, other: str) -> int:
    """How many characters at their beginning are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _text(body: Mapping[str, Any]) -> str:
    """What of a request is read by the model, in its order; marks for the cache stand in another place each time."""
    shown = [body.get("tools"), body.get("system"), body.get("messages")]
    return json.dumps(_unmarked(shown), ensure_ascii=False)


def _unmarked(value: Any) -> Any:
    match value:
        case dict():
            return {key: _unmarked(one) for key, one in value.items() if key != "cache_control"}
        case list():
            return [_unmarked(one) for one in value]
        case _:
            return value
