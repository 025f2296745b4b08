"""What an install run left behind: judged without following, waiting or trusting."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.box.made import OddResult, accept


def pipe(place: Path) -> None:
    os.mkfifo(place)


def unix_socket(place: Path) -> None:
    here = os.getcwd()
    os.chdir(place.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.chdir(here)


def setuid(place: Path) -> None:
    place.write_text("#!/bin/sh\n")
    place.chmod(0o4755)


def setgid(place: Path) -> None:
    place.write_text("#!/bin/sh\n")
    place.chmod(0o2755)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    place = tmp_path / "made"
    (place / "deep").mkdir(parents=True)
    (place / "deep" / "file").write_text("a file\n")
    (place / "deep" / "run").write_text("#!/bin/sh\n")
    (place / "deep" / "run").chmod(0o700)
    (tmp_path / "outside").write_text("outside\n")
    (tmp_path / "outside").chmod(0o600)
    (place / "link").symlink_to(tmp_path / "outside")
    (place / "loop").symlink_to(".")
    return place


@pytest.mark.parametrize("make", [pipe, unix_socket, setuid, setgid])
def test_29_what_is_no_plain_file_is_refused_without_waiting_for_it(made: Path, make: Callable[[Path], None]) -> None:
    make(made / "deep" / "odd")
    with pytest.raises(OddResult, match="deep/odd"):
        accept(made)


def test_29_what_is_accepted_can_be_read_by_all_and_written_by_none_and_no_link_is_followed(
    made: Path, tmp_path: Path
) -> None:
    accept(made)
    modes = {path.name: path.stat().st_mode & 0o7777 for path in made.rglob("*") if not path.is_symlink()}
    assert modes == {"deep": 0o555, "file": 0o444, "run": 0o555}
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("change", ["content", "mode", "name", "link"])
def test_its_digest_names_exactly_what_is_there(made: Path, change: str) -> None:
    before = accept(made)
    assert accept(made) == before
    (made / "deep").chmod(0o755)
    file = made / "deep" / "file"
    file.chmod(0o644)
    if change == "content":
        file.write_text("another\n")
    elif change == "mode":
        file.chmod(0o755)
    elif change == "name":
        file.rename(made / "deep" / "other")
    else:
        (made / "link").unlink()
        (made / "link").symlink_to("elsewhere")
    assert accept(made) != before
