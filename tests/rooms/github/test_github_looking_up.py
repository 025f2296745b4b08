"""What is looked up beside the issue: conversations, mentions, checks, statuses and pull requests, no page too many."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.rooms.github.conftest import WHEN, Answer, Wire
from worker.github import errors
from worker.github.connection import Connection
from worker.github.reader import Reader
from worker.github.views import RepositoryRef

R = "/repos/mira/humanize"


@pytest.fixture
def reader(connection: Connection, repository: RepositoryRef) -> Reader:
    return Reader(connection, repository)


def endless(path: str) -> dict[str, str]:
    return {"Link": f'<{{url}}{path}?page=2>; rel="next"'}


def test_only_the_first_comments_are_read_and_no_page_after_them(
    wire: Wire, reader: Reader, comment_of: Callable[..., dict[str, Any]]
) -> None:
    path = f"{R}/issues/7/comments"
    wire.prepare(f"GET {path}", Answer(200, [comment_of(number) for number in range(1, 101)], endless(path)))
    assert [one.id - 4_300_000_000 for one in reader.first_comments(7, 3)] == [1, 2, 3]
    assert len(wire.asked) == 1


def test_of_a_timeline_only_who_speaks_of_the_issue_is_kept(wire: Wire, reader: Reader) -> None:
    path = f"{R}/issues/7/timeline"
    speaking = {
        "number": 9, "title": "The same", "state": "open", "pull_request": {"url": "x"}, "novel": 1,
        "repository": {"id": 78, "full_name": "acme/other"},
    }  # fmt: skip
    entries = [
        {"event": "labeled", "label": {"name": "bug"}, "commit_id": None},
        {"event": "cross-referenced", "created_at": WHEN, "source": {"type": "issue", "issue": speaking}},
        {"event": "cross-referenced", "created_at": WHEN, "source": {"type": "novel"}},
        {"event": "referenced", "commit_id": "a" * 40, "created_at": WHEN},
        {"event": "referenced", "commit_id": None},
        {"event": "committed", "sha": "b" * 40, "source": None},
        {"body": "a review, which has no event in some versions"},
    ]
    wire.prepare(f"GET {path}", Answer(200, entries, endless(path)))
    spoken, commit = reader.mentions(7, len(entries))
    assert spoken.speaking is not None and spoken.speaking.repository is not None
    assert (spoken.speaking.number, spoken.speaking.repository.full_name) == (9, "acme/other")
    assert (commit.commit_id, commit.speaking) == ("a" * 40, None)
    assert len(wire.asked) == 1


def test_a_check_tells_what_it_says_for_itself_and_its_remarks(wire: Wire, reader: Reader) -> None:
    runs = [
        {"id": 4_000_000_001, "name": "tests", "status": "completed", "conclusion": "startup_failure",
         "output": {"title": "2 failed", "summary": "s", "text": None, "annotations_count": 2}},
        {"id": 2, "name": "old", "status": "queued", "output": None},
    ]  # fmt: skip
    notes = [{"path": "a.py", "start_line": 3, "annotation_level": "failure", "message": "m", "title": None}] * 2
    wire.prepare(f"GET {R}/commits/abc/check-runs", (200, {"total_count": 2, "check_runs": runs}))
    wire.prepare(f"GET {R}/check-runs/4000000001/annotations", (200, notes))
    first, second = reader.check_runs("abc")
    assert first.output is not None and (first.output.title, first.output.annotations_count) == ("2 failed", 2)
    assert second.output is None
    assert len(reader.check_runs("abc", 1)) == 1
    (note,) = reader.annotations(first.id, 1)
    assert (note.path, note.start_line, note.level, note.message) == ("a.py", 3, "failure", "m")


def test_the_statuses_of_a_commit_are_read_or_their_permission_is_named(wire: Wire, reader: Reader) -> None:
    status = {"context": "jenkins", "state": "error", "description": None, "target_url": "https://ci/1", "novel": 1}
    shown = {"state": "failure", "total_count": 1, "statuses": [status], "repository": {}}
    refused = Answer(403, {"message": "Resource not accessible by integration"},
                     {"X-Accepted-GitHub-Permissions": "statuses=read"})  # fmt: skip
    wire.prepare(f"GET {R}/commits/abc/status", (200, shown), refused)
    seen = reader.statuses("abc")
    assert (seen.state, seen.total_count, seen.statuses[0].target_url) == ("failure", 1, "https://ci/1")
    assert wire.asked[0].query == {"per_page": "100"}
    with pytest.raises(errors.Forbidden) as caught:
        reader.statuses("abc")
    assert caught.value.needed == ("statuses=read",)


def test_a_pull_request_tells_its_files_and_what_became_of_it(
    wire: Wire, reader: Reader, pull_of: Callable[..., dict[str, Any]]
) -> None:
    merged = pull_of(3) | {"merged_at": WHEN, "merge_commit_sha": "d" * 40, "changed_files": 2}
    renamed = {"filename": "b", "status": "renamed", "additions": 1, "deletions": 2, "previous_filename": "a"}
    wire.prepare(f"GET {R}/pulls/3", (200, merged), (200, pull_of(3)))
    wire.prepare(f"GET {R}/pulls/3/files", Answer(200, [renamed] * 100, endless(f"{R}/pulls/3/files")))
    pull = reader.pull(3)
    assert pull.merged_at is not None and (pull.merge_commit, pull.changed_files) == ("d" * 40, 2)
    assert reader.pull(3).changed_files is None
    (file,) = reader.pull_files(3, 1)
    assert (file.path, file.before, file.status, file.additions, file.deletions) == ("b", "a", "renamed", 1, 2)
    assert len(wire.asked) == 3
