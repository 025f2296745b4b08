"""`countersign forward CHANNEL`: deliveries from an SSE channel such as smee's, posted to the receiver on this machine.

For development only: whoever knows the channel's address reads every delivery in it and can put some in. Nothing is
signed here: GitHub's own signature goes along, and the receiver believes that or nothing. The channel hands the body
on as JSON that was read and is written anew; where that changes a byte, the receiver answers 401 and it is said here.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx2

KEPT = ("x-github-event", "x-github-delivery", "x-hub-signature-256", "content-type", "user-agent")
LONGEST_EVENT = 60_000_000
PAUSE_SECONDS = 3.0
SILENCE_SECONDS = 120.0
"""A channel that says nothing for so long, not even that it is there, is dialled again."""


def events(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Kind and data of each event of a stream (the HTML standard's server-sent events); comments are passed over."""
    kind, size = "", 0
    data: list[str] = []
    for line in lines:
        if not line:
            if data:
                yield kind or "message", "\n".join(data)
            kind, data, size = "", [], 0
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        size += len(value)
        if name == "event":
            kind = value
        elif name == "data" and size <= LONGEST_EVENT:
            data.append(value)


def delivery_of(data: str) -> tuple[dict[str, str], bytes] | None:
    """Headers and body of a delivery as smee tells it; None for what is none."""
    try:
        told: Any = json.loads(data)
    except ValueError:
        return None
    if not isinstance(told, dict) or "x-github-event" not in told or "body" not in told:
        return None
    headers = {name: str(told[name]) for name in KEPT if name in told} | {"content-type": "application/json"}
    # As GitHub and JavaScript write JSON: no blanks, letters as they are.
    return headers, json.dumps(told["body"], ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def forward(channel: str, target: str, say: Callable[[str], None]) -> None:
    """Goes on until it is interrupted; a channel that breaks off is dialled again after three seconds."""
    timeout = httpx2.Timeout(30.0, read=SILENCE_SECONDS)
    near = httpx2.Client(timeout=30, trust_env=False)
    with near, httpx2.Client(timeout=timeout, follow_redirects=True) as far:
        while True:
            try:
                with far.stream("GET", channel, headers={"accept": "text/event-stream"}) as answer:
                    answer.raise_for_status()
                    say(f"Listening to {channel} (for development only); deliveries go to {target}.")
                    for _, data in events(answer.iter_lines()):
                        _hand_on(near, target, data, say)
            except httpx2.HTTPError as error:
                say(f"The channel broke off ({type(error).__name__}); it is dialled again.")
            time.sleep(PAUSE_SECONDS)


def _hand_on(near: httpx2.Client, target: str, data: str, say: Callable[[str], None]) -> None:
    found = delivery_of(data)
    if found is None:
        return
    headers, body = found
    what = f"{headers['x-github-event']} {headers.get('x-github-delivery', '')}"
    try:
        answer = near.post(target, content=body, headers=headers)
    except httpx2.HTTPError as error:
        say(f"{what}: the receiver cannot be reached ({type(error).__name__}).")
        return
    say(f"{what}: {answer.status_code} {answer.text.strip()[:200]}")


def say(words: str) -> None:
    """On standard error, as it happens."""
    print(words, file=sys.stderr, flush=True)  # noqa: T201 (for the one who typed it)
