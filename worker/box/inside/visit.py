"""Opens one page in headless Chromium and says what happened, as one JSON object.

`visit.py CHROMIUM ROOT TARGET SECONDS`.
Files below ROOT are served on this namespace's own loopback; TARGET is a path below it, with its query and fragment.
Failed requests and their reasons come from Chromium's own log of the network, messages from its log of the console.
"""

import base64
import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading

MYPY = False
if MYPY:
    from typing import Any

_PLACE = "/tmp/visit"  # noqa: S108 (the box's own)
_BUDGET_MS = 10_000
_SCREENSHOT_BYTES = 600_000
_DOM_CHARACTERS = 300_000
_MOST_MESSAGES = 200
_MOST_REQUESTS = 400
_MESSAGE = re.compile(r"\[[^\]\n]*:(?P<level>[A-Z]+):CONSOLE[:(]\d+\)?\] (?P<text>.*)", re.DOTALL)
_SOURCE = re.compile(r'"(?P<text>.*)", source: (?P<source>[^\n]*) \((?P<line>\d+)\)', re.DOTALL)
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--window-size=1280,900", "--enable-logging=stderr", "--dump-dom",
    f"--virtual-time-budget={_BUDGET_MS}", f"--user-data-dir={_PLACE}/profile", f"--log-net-log={_PLACE}/net.json",
    f"--screenshot={_PLACE}/page.png",
)  # fmt: skip


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def _serve(root: str) -> int:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=root))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def _open(chromium: str, address: str, seconds: float) -> "tuple[int | None, str, str]":
    """Its status (none when it had to be ended), the page as it then was, and what Chromium logged."""
    with open(f"{_PLACE}/dom", "wb") as dom, open(f"{_PLACE}/log", "wb") as log:
        try:
            ran = subprocess.run([chromium, *_OPTIONS, address], stdout=dom, stderr=log, timeout=seconds, check=False)
            status = ran.returncode
        except subprocess.TimeoutExpired:
            status = None
    return status, _text("dom"), _text("log")


def _text(name: str) -> str:
    with open(f"{_PLACE}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read(_DOM_CHARACTERS * 4)


def _console(log: str) -> "list[dict[str, Any]]":
    """Each message with its place. A message may have several lines; a line of the log begins with its brackets."""
    found = []
    for entry in re.split(r"\n(?=\[\d+[^\]\n]*:[A-Z]+:)", log):
        message = _MESSAGE.match(entry)
        if message is None:
            continue
        place = _SOURCE.match(message["text"].strip())
        told = place.groupdict() if place else {"text": message["text"].strip(), "source": "", "line": "0"}
        found.append({"text": told["text"][:2000], "source": told["source"], "line": int(told["line"])})
    return found


def _requests() -> "list[dict[str, Any]]":
    """Each request with its address, method, status and, where it failed, the network's own word for why."""
    try:
        with open(f"{_PLACE}/net.json", encoding="utf-8", errors="replace") as file:
            text = file.read()
        # A browser that was ended leaves the list open.
        log = json.loads(text) if text.rstrip().endswith("}") else json.loads(text.rstrip().rstrip(",") + "]}")
    except (OSError, ValueError):
        return []
    names = {number: name for name, number in log["constants"]["logSourceType"].items()}
    events = {number: name for name, number in log["constants"]["logEventTypes"].items()}
    errors = {number: name for name, number in log["constants"].get("netError", {}).items()}
    found: dict[int, dict[str, Any]] = {}
    for event in log["events"]:
        if names.get(event["source"]["type"]) == "URL_REQUEST":
            one = found.setdefault(event["source"]["id"], {})
            _learn(one, events.get(event["type"], ""), event.get("params") or {}, errors)
    return [one for one in found.values() if "url" in one]


def _learn(one: "dict[str, Any]", event: str, params: "dict[str, Any]", errors: "dict[int, str]") -> None:
    if event == "URL_REQUEST_START_JOB" and "url" in params:
        one.update(url=params["url"], method=params.get("method", "GET"))
    elif event == "REQUEST_ALIVE" and "url" in params:
        one.setdefault("url", params["url"])
    if event == "HTTP_TRANSACTION_READ_RESPONSE_HEADERS":
        first = (params.get("headers") or [""])[0].split(" ", 2)
        if len(first) > 1 and first[1].isdigit():
            one["status"] = int(first[1])
    if params.get("net_error"):
        one["failed"] = errors.get(params["net_error"], str(params["net_error"]))


def _screenshot() -> "str | None":
    try:
        with open(f"{_PLACE}/page.png", "rb") as file:
            content = file.read(_SCREENSHOT_BYTES + 1)
    except OSError:
        return None
    return base64.b64encode(content).decode() if len(content) <= _SCREENSHOT_BYTES else None


def main() -> None:
    """Prints the object, and nothing else."""
    chromium, root, target, seconds = sys.argv[1:]
    os.makedirs(_PLACE)
    port = _serve(root)
    here = f"http://127.0.0.1:{port}"
    status, dom, log = _open(chromium, f"{here}/{target.lstrip('/')}", float(seconds))
    requests, messages = _requests(), _console(log)
    result = {
        "status": status,
        "dom": dom[:_DOM_CHARACTERS],
        "messages": messages[:_MOST_MESSAGES],
        "requests": requests[:_MOST_REQUESTS],
        "more": [max(0, len(messages) - _MOST_MESSAGES), max(0, len(requests) - _MOST_REQUESTS)],
        "screenshot": _screenshot(),
        "log": log[-4000:] if status != 0 else "",
    }
    print(json.dumps(result).replace(here, ""))  # noqa: T201


if __name__ == "__main__":
    main()
