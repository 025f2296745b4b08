"""Secrets that sing: a value of each kind that a whole installation is given or meets, and where to listen for them."""

import json
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from html import unescape
from pathlib import Path

import httpx
import zstandard

from app.core.redact import Secret

INSTALLATION_TOKEN = "ghs_" + "4711_eyJhbGciOiJIUzI1NiJ9.Canary_" + "Q7w" * 12
JSON_WEB_TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJjYW5hcnkifQ.c2luZ3MtaGVyZS1hbmQtdGhlcmU"
PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "Q2FuYXJ5LXNpbmdz" * 4 + "\n-----END RSA PRIVATE KEY-----"
STRANGE = (INSTALLATION_TOKEN, JSON_WEB_TOKEN, PRIVATE_KEY)
"""Of no process here: they are known by their form alone."""

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
LINK = re.compile(r'href="(/runs/[^"#?]+/(?:outputs|kept)/[0-9a-f]{64})"')


def printing(*values: str) -> str:
    """Lines of a Makefile that print the values, none of which stands there whole."""
    flat = [value.replace("\n", "\\n") for value in values]
    return "".join(f"\t@printf '%b%b\\n' '{value[:9]}' '{value[9:]}'\n" for value in flat)


def heard(value: str, texts: Iterable[bytes]) -> bool:
    """Whether the value stands anywhere, in whichever spelling it travels; of a key, its second line."""
    line = value.splitlines()[1] if "\n" in value else value
    spellings = [each.encode() for each in Secret(line).spellings]
    return any(spelling in text for text in texts for spelling in spellings)


def written(ledger: Path) -> list[bytes]:
    """Whatever a ledger holds, unpacked: each value of each table."""
    found = []
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as opened:
        opened.text_factory = bytes
        for (table,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            for row in opened.execute(f'SELECT * FROM "{table.decode()}"'):
                found += [_unpacked(value) for value in row if isinstance(value, bytes)]
    return found


def _unpacked(value: bytes) -> bytes:
    if not value.startswith(b"\x28\xb5\x2f\xfd"):
        return value
    return zstandard.ZstdDecompressor().decompressobj().decompress(value)


def seen_by(login: str, url: str, twin: str, run: str) -> list[bytes]:
    """Each page that somebody who signs in with GitHub is shown of a run, and each output behind it."""
    with httpx.Client(base_url=url, follow_redirects=True, timeout=60, trust_env=False) as browser:
        browser.cookies.set("twin_acting", login, domain="127.0.0.1")
        asked = browser.get("/sign-in")
        form = dict(HIDDEN.findall(asked.text)) | {"answer": "yes"}
        pages = [browser.post(f"{twin}/_twin/authorize", data=form)]
        pages += [browser.get(path) for path in ("/runs", f"/runs/{run}", "/numbers", "/you")]
        outputs = {path for page in pages for path in LINK.findall(page.text)}
        pages += [browser.get(path) for path in sorted(outputs)]
        pages += [browser.get(path.replace("/outputs/", "/kept/")) for path in sorted(outputs)]
    assert outputs and all(page.status_code == 200 for page in pages), [(page.url, page.status_code) for page in pages]
    return [unescape(page.text).encode() for page in pages]


def commented(comments: Iterable[object]) -> bytes:
    """Comments, or pull requests, as the API gives them."""
    return json.dumps(list(comments)).encode()
