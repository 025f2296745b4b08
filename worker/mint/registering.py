"""The registrar: of the mint's kind, it alone sees what GitHub answers when an App is made, and keeps it at once.

It runs while nothing is set up, answers over one inherited socket (the other end is the web process, see
`app.web.handing`), tells the App's name and page, and ends with its first success. Key and secrets go from GitHub's
answer into private files and nowhere else: not over the socket, into no log, into no environment.
"""

import json
import logging
import socket
from pathlib import Path
from typing import Any

from app.registration import finish, is_registered, keep
from app.settings import SettingsWrong
from worker.github.errors import GitHubError, Gone, Invalid, NotFound
from worker.github.key import KeyRefused, private_key_of
from worker.github.manifest import convert
from worker.settings import github_settings

LONGEST_LINE = 10_000
CODE = "GitHub's code"

_LOG = logging.getLogger("countersign.registrar")


def register(data: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """The answer for one line: `name` and `page` once the App is kept, else `refused`, a sentence, and whether the
    same code may be tried `again`."""
    try:
        api_url = github_settings({"GITHUB_API_URL": str(asked["api_url"])}).api_url
        made = convert(api_url, str(asked["code"]))
    except (KeyError, SettingsWrong):
        return {"refused": "The registrar was asked for what it does not do.", "again": False}
    except (NotFound, Gone, Invalid):
        words = "GitHub does not know this code: it works once and for an hour. Begin again; where an"
        return {"refused": f"{words} App was made already, delete it on its settings page first.", "again": False}
    except GitHubError as error:
        return {"refused": f"GitHub did not answer: {error.reason} Reload this page to try again.", "again": True}
    try:
        key = private_key_of(made.pem, CODE)
    except KeyRefused:
        key = ""
    if not key or not made.webhook_secret:
        words = "GitHub made the App without a key or a webhook secret. Delete it and begin again."
        return {"refused": words, "again": False}
    values = {
        "GITHUB_APP_ID": str(made.id), "GITHUB_PRIVATE_KEY": key, "GITHUB_WEBHOOK_SECRET": made.webhook_secret,
        "GITHUB_CLIENT_ID": made.client_id, "GITHUB_CLIENT_SECRET": made.client_secret, "GITHUB_API_URL": api_url,
        "COUNTERSIGN_APP_PAGE": made.html_url,
    }  # fmt: skip
    keep(data, values | ({"COUNTERSIGN_PULL": "yes"} if asked.get("hook") == "pulled" else {}))
    _LOG.info("the App %s is registered; its key and secrets are kept below %s", made.slug, data)
    return {"name": made.name, "page": made.html_url}


def answer_until_registered(descriptor: int, data: Path) -> int:
    """Answers line by line; 0 once an App is registered, 1 where the other end is gone first. Raises OSError for a
    descriptor that is no socket."""
    finish(data)
    with socket.socket(fileno=descriptor) as line, line.makefile("rwb") as lines:
        while not is_registered(data):
            text = lines.readline(LONGEST_LINE)
            if not text:
                return 1
            lines.write(json.dumps(register(data, json.loads(text))).encode() + b"\n")
            lines.flush()
    return 0
