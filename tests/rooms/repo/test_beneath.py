"""Nothing leads out of a folder that files are opened beneath (case PI-03), by either way of opening them."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from worker.repo import beneath

Open = Callable[[int, str, int, int], int]


@pytest.fixture(params=["openat2", "part by part"])
def opening(request: pytest.FixtureRequest) -> Open:
    if request.param == "part by part":
        return beneath._by_parts
    if not beneath._has_openat2():
        pytest.skip("this kernel has no openat2")
    return beneath._openat2


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (inside / "deep").mkdir(parents=True)
    (inside / "deep" / "own").write_text("own")
    (inside / "link").symlink_to(outside)
    (inside / "file").symlink_to(outside / "secret")
    (inside / "dangling").symlink_to(outside / "new")
    (inside / "within").symlink_to("deep")
    (inside / "magic").symlink_to("/proc/self/root")
    opened = os.open(inside, os.O_RDONLY | os.O_DIRECTORY)
    yield opened
    os.close(opened)


@pytest.mark.parametrize(
    "path",
    [
        "link/secret",
        "file",
        "dangling",
        "within/own",
        "magic/etc/passwd",
        "../outside/secret",
        "deep/../../outside/secret",
    ],
)
def test_28_a_path_that_leads_out_or_through_a_link_is_not_opened(opening, root, path, tmp_path):
    with pytest.raises(OSError, match=r".+"):
        opening(root, path, os.O_RDONLY, 0)
    with pytest.raises(OSError, match=r".+"):
        opening(root, path, os.O_WRONLY | os.O_CREAT, 0o600)
    assert sorted(path.name for path in (tmp_path / "outside").iterdir()) == ["secret"]
    assert (tmp_path / "outside" / "secret").read_text() == "secret"


def test_an_absolute_path_is_not_opened(opening, root):
    with pytest.raises(OSError, match=r".+"):
        opening(root, "/etc/passwd", os.O_RDONLY, 0)


def test_what_lies_beneath_is_opened_and_made(opening, root, tmp_path):
    with open(opening(root, "deep/own", os.O_RDONLY, 0)) as file:
        assert file.read() == "own"
    with open(opening(root, "deep/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("new")
    assert (tmp_path / "inside" / "deep" / "new").read_text() == "new"


def test_28_a_folder_that_is_swapped_for_a_link_never_leads_out(opening, root, tmp_path):
    inside, over = tmp_path / "inside", threading.Event()
    (inside / "deep" / "secret").write_text("own")
    (tmp_path / "ready").symlink_to(tmp_path / "outside")

    def swap():
        while not over.is_set():
            (inside / "deep").rename(tmp_path / "aside")
            (tmp_path / "ready").rename(inside / "deep")
            (inside / "deep").rename(tmp_path / "ready")
            (tmp_path / "aside").rename(inside / "deep")

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    for _ in range(3_000):
        with suppress(OSError), open(opening(root, "deep/secret", os.O_RDONLY, 0)) as file:
            seen.add(file.read())
    over.set()
    swapping.join()
    assert seen <= {"own"}
