"""The twin as its own process, the App's key, and seeding a repository from a folder or an archive."""

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from infra.twin.app_key import public_key_of, write_key_pair
from infra.twin.control import TwinControl, tree_of_folder, tree_of_tar
from infra.twin.cut_openapi import cut_api, without_prose
from infra.twin.twin import Twin


@contextmanager
def _running(*words: str, **environment: str) -> Iterator[Any]:
    command = [sys.executable, "-m", "infra.twin", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    assert process.stdout
    try:
        yield process, json.loads(process.stdout.readline() or "{}")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in {0, 2}
        process.stdout.close()


def test_the_command_prints_one_line_when_ready_and_serves_with_the_key_given(tmp_path: Path) -> None:
    private, public = write_key_pair(tmp_path / "key")
    words = ("--data", str(tmp_path / "twin"), "--app-id", "77", "--app-public-key", str(public))
    with _running(*words) as (_, ready):
        now = int(time.time())
        token = jwt.encode({"iat": now - 60, "exp": now + 500, "iss": "77"}, private.read_text(), "RS256")
        found = httpx.get(ready["url"] + "/app", headers={"Authorization": f"Bearer {token}"}, trust_env=False)
        assert found.json()["id"] == 77 and ready["url"].startswith("http://127.0.0.1:")
        assert TwinControl(ready["url"]).journal()[0]["path"] == "/app"
    assert private.stat().st_mode & 0o077 == 0


def test_a_webhook_without_a_secret_stops_the_start(tmp_path: Path) -> None:
    words = ("--data", str(tmp_path), "--webhook-url", "http://127.0.0.1:9", "--webhook-secret-env", "TWIN_TEST_NONE")
    with _running(*words) as (process, ready):
        assert ready == {} and process.wait(20) == 2


def test_a_taken_port_is_an_error_and_not_a_hang(tmp_path: Path) -> None:
    first = Twin.start(tmp_path / "one")
    port = int(first.url.rsplit(":", 1)[1])
    with pytest.raises(RuntimeError):
        Twin.start(tmp_path / "two", port=port)
    first.stop()


def test_a_twin_without_a_key_makes_one(tmp_path: Path) -> None:
    twin = Twin(tmp_path)
    assert twin.private_key and public_key_of(twin.private_key) == twin.app.public_key


def test_a_folder_and_an_archive_become_repositories_with_modes_and_links(yard: Any, tmp_path: Path) -> None:
    folder = tmp_path / "pkg-1.0"
    (folder / "sub").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("never")
    (folder / "run.sh").write_bytes(b"#!/bin/sh\r\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "sub" / "caf\u00e9").write_bytes(b"\0\xff")
    (folder / "link").symlink_to("run.sh")
    yard.control.add_repo("octo/folder", tree_of_folder(folder), default_branch="trunk")
    assert yard.control.branch_modes("octo/folder", "trunk") == {
        "link": "120000", "run.sh": "100755", "sub/caf\u00e9": "100644"
    }
    archive = tmp_path / "pkg.tar.gz"
    with tarfile.open(archive, "w:gz") as made:
        made.add(folder / "run.sh", "pkg-1.0/run.sh")
        made.add(folder / "sub", "pkg-1.0/sub")
    yard.control.add_repo("octo/archive", tree_of_tar(archive))
    files = yard.control.branch_files("octo/archive", "main")
    assert files == {"run.sh": b"#!/bin/sh\r\n", "sub/caf\u00e9": b"\0\xff"}


def test_the_cut_keeps_property_names_and_drops_prose() -> None:
    schema = {"description": "gone", "properties": {"description": {"type": "string", "example": "gone"}}}
    assert without_prose(schema) == {"properties": {"description": {"type": "string"}}}
    with pytest.raises(KeyError):
        cut_api({"openapi": "3.0.3", "info": {"version": "1"}, "paths": {}, "components": {}})
