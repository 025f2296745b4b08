"""Against git's own HTTP backend. SE-01 is a field case."""

import base64
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.redact import redacted
from tests.fakes.processes import told_of_each
from worker.repo.mirror import (
    AccessDenied,
    CommitMissing,
    MirrorBroken,
    MirrorError,
    Remote,
    RemoteUnreachable,
    RepositoryMissing,
    RepositoryMoved,
)

TOKEN = "ghs_canary" + "A1b2C3d4E5" * 5


def test_a_commit_is_fetched_with_its_history_and_nothing_is_asked_twice(git_server, origin, mirror):
    origin.commit({"a": b"1"}, "first")
    second = origin.commit({"a": b"2"}, "second")
    mirror.fetch(git_server.remote(), second)
    assert mirror.git.run("log", "--format=%s", second) == b"second\nfirst\n"
    asked = len(git_server.asked)
    mirror.fetch(git_server.remote(), second)
    assert len(git_server.asked) == asked


def test_a_later_commit_is_fetched_incrementally(git_server, origin, mirror):
    first = origin.commit({"a": b"1", "big": bytes(range(256)) * 4000})
    mirror.fetch(git_server.remote(), first)
    second = origin.commit({"a": b"2", "big": bytes(range(256)) * 4000})
    mirror.fetch(git_server.remote(), second)
    assert mirror.holds(first) and mirror.holds(second)
    packs = sorted(pack.stat().st_size for pack in (mirror.directory / "objects/pack").glob("*.pack"))
    assert packs[0] < 1_000


def test_a_depth_is_kept_and_a_later_whole_fetch_completes_the_history(git_server, origin, mirror):
    origin.commit({"a": b"1"}, "first")
    second = origin.commit({"a": b"2"}, "second")
    mirror.fetch(git_server.remote(), second, depth=1)
    assert mirror.git.run("log", "--format=%s", second) == b"second\n"
    mirror.fetch(git_server.remote(), second)
    assert mirror.git.run("log", "--format=%s", second) == b"second\nfirst\n"


def test_a_whole_mirror_stays_whole_when_only_a_tree_is_wanted_of_a_later_commit(git_server, origin, mirror):
    mirror.fetch(git_server.remote(), origin.commit({"a": b"1"}, "first"))
    origin.commit({"a": b"2"}, "second")
    third = origin.commit({"a": b"3"}, "third")
    mirror.fetch(git_server.remote(), third, depth=1)
    assert mirror.git.run("log", "--format=%s", third) == b"third\nsecond\nfirst\n"


def test_a_server_that_gives_out_no_commit_by_id_is_asked_for_its_branches(git_server, origin, mirror):
    git_server.protocol = False
    first = origin.commit({"a": b"1"})
    origin.commit({"a": b"2"})
    mirror.fetch(git_server.remote(), first)
    assert mirror.holds(first)


@pytest.mark.parametrize(
    "case",
    [
        (404, RepositoryMissing, "was not found"),
        (403, AccessDenied, "refused the token"),
        (500, RemoteUnreachable, "could not be fetched"),
        (301, RepositoryMoved, "redirects"),
    ],
)
def test_an_error_of_the_remote_is_told_by_its_reason_and_without_the_token(git_server, origin, mirror, case):
    status, kind, words = case
    commit = origin.commit({"a": b"1"})
    git_server.answer_with = status
    with pytest.raises(kind, match=words) as caught:
        mirror.fetch(git_server.remote(), commit)
    assert "shop.git" in str(caught.value)
    assert not [path for _, path in git_server.asked if "elsewhere" in path], "a redirect was followed"
    assert_nowhere(TOKEN, str(caught.value), repr(caught.value), repr(caught.value.__cause__))


def test_a_wrong_token_is_told_as_refused(git_server, origin, mirror):
    commit = origin.commit({"a": b"1"})
    wrong = "ghs_wrongcanary" + "Z9y8X7w6" * 5
    with pytest.raises(AccessDenied) as caught:
        mirror.fetch(git_server.remote(token=wrong), commit)
    assert_nowhere(wrong, str(caught.value))


def test_a_repository_or_commit_that_is_not_there_is_told_apart(git_server, origin, mirror):
    with pytest.raises(CommitMissing):
        mirror.fetch(git_server.remote(), "1" * 40)
    with pytest.raises(CommitMissing):
        mirror.fetch(git_server.remote(), "main")
    with pytest.raises(RepositoryMissing):
        mirror.fetch(git_server.remote("nothing"), "1" * 40)


def test_a_host_that_does_not_answer_is_unreachable(mirror):
    with pytest.raises(RemoteUnreachable):
        mirror.fetch(Remote("http://127.0.0.1:9/shop.git", TOKEN), "1" * 40)


def test_the_token_is_in_no_file_of_the_mirror_and_in_no_argument_list(git_server, origin, mirror, mirrors):
    commit = origin.commit({"a": b"1"})
    lines: list[bytes] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            lines.extend(line for _, line in told_of_each("cmdline") if b"git" in line)

    watcher = threading.Thread(target=watch)
    watcher.start()
    mirror.fetch(git_server.remote(), commit)
    git_server.answer_with = 403
    with pytest.raises(MirrorError):
        mirror.fetch(git_server.remote(), "2" * 40)
    done.set()
    watcher.join()
    assert any(b"fetch" in line for line in lines)
    assert_nowhere(TOKEN, *(line.decode("utf-8", "replace") for line in lines))
    files = [path for path in mirrors.root.rglob("*") if path.is_file()]
    assert mirror.directory / "config" in files
    assert_nowhere(TOKEN, *(path.read_bytes().decode("latin-1") for path in files))
    assert_nowhere(TOKEN, repr(git_server.remote()))


def assert_nowhere(token: str, *texts: str) -> None:
    forms = [token]
    for before in ("", "x", "xx", "x-access-token:"):
        coded = base64.b64encode((before + token).encode()).decode()
        forms.append(coded[8:-4])
    for text in texts:
        for form in forms:
            assert form not in text


@pytest.mark.parametrize(
    "url",
    [
        "http://github.example/shop.git",
        "git://127.0.0.1/shop.git",
        "file:///srv/shop.git",
        "ssh://git@github.example/shop.git",
        "ext::sh -c x",
        "https://mira:secret@github.example/shop.git",
        "https://github.example/shop.git?token=1",
        "https://github.example/shop.git\n-x",
        "--upload-pack=x",
        "http://127.0.0.1.github.example/shop.git",
    ],
)
def test_only_https_without_credentials_is_a_remote(url):
    with pytest.raises(ValueError, match="repository"):
        Remote(url)


def test_a_hook_and_a_filter_in_the_machines_configuration_have_no_effect(git_server, origin, mirror, tmp_path):
    marker = tmp_path / "marker"
    commit = origin.commit({"a": b"1", ".gitattributes": b"* filter=lfs export-ignore\n"})
    mirror.fetch(git_server.remote(), origin.commit({"b": b"1"}))
    hooks = mirror.directory / "hooks"
    hooks.mkdir()
    for name in ("reference-transaction", "post-update", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {marker}\n")
        (hooks / name).chmod(0o755)
    mirror.fetch(git_server.remote(), commit)
    mirror.fetch(git_server.remote(), origin.commit({"c": b"1"}))
    assert not marker.exists()


def test_a_hostile_tree_is_refused_at_the_door(git_server, origin, mirror):
    blob = origin.git("hash-object", "-w", "--stdin", input=b"x").decode().strip()
    tree = origin.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", input=_tree(blob)).decode().strip()
    commit = origin.commit_tree(tree)
    with pytest.raises(MirrorBroken):
        mirror.fetch(git_server.remote(), commit)
    assert not mirror.holds(commit)


def _tree(blob: str) -> bytes:
    """Two entries of one name: a link could stand where a file is written."""
    return b"".join(b"100644 a\0" + bytes.fromhex(blob) for _ in range(2))


def test_many_fetches_at_once_leave_one_whole_mirror(git_server, origin, mirrors):
    commits = [origin.commit({"a": str(number).encode()}) for number in range(4)]
    failed: list[BaseException] = []

    def fetch(commit: str) -> None:
        try:
            mirrors.mirror("github.example", 7001).fetch(git_server.remote(), commit)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=fetch, args=(commit,)) for commit in commits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    mirror = mirrors.mirror("github.example", 7001)
    assert all(mirror.holds(commit) for commit in commits)
    mirror.git.run("fsck", "--full")


def test_a_fetch_that_was_killed_is_made_good_by_the_next(git_server, origin, mirror):
    mirror.fetch(git_server.remote(), origin.commit({"a": b"1"}))
    (mirror.directory / "shallow.lock").write_text("")
    leftover = mirror.directory / "objects/pack/tmp_pack_x"
    leftover.write_bytes(b"half")
    later = origin.commit({"a": b"2"})
    mirror.fetch(git_server.remote(), later, depth=1)
    assert mirror.holds(later) and not leftover.exists()


def test_the_least_recently_used_mirror_goes_first_and_one_in_use_stays(git_server, origin, mirrors):
    commit = origin.commit({"a": b"1" * 10_000})
    used, old, new = (mirrors.mirror("github.example", number) for number in (1, 2, 3))
    for each in (used, old, new):
        each.fetch(git_server.remote(), commit)
    with used.in_use():
        removed = mirrors.keep_under(_size_of_two(new))
        assert removed == (old.directory.name,)
        assert mirrors.keep_under(0) == (new.directory.name,)
        assert used.holds(commit)
    assert mirrors.keep_under(0) == (used.directory.name,)


def _size_of_two(mirror) -> int:
    return 2 * sum(path.lstat().st_blocks * 512 for path in mirror.directory.rglob("*") if path.is_file())


@settings(max_examples=60, deadline=None)
@given(secret=st.text("abcXYZ019._-", min_size=12, max_size=60), before=st.text(max_size=5), after=st.text(max_size=5))
def test_a_secret_is_taken_out_raw_and_in_base64_at_any_alignment(secret, before, after):
    coded = base64.b64encode((before + secret + after).encode()).decode()
    text = redacted(f"{before}{secret} failed, header {coded}", secret)
    assert secret not in text
    assert coded not in text
