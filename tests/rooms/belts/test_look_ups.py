"""What a look-up on GitHub tells: bounded, cleaned, every foreign line marked, and refusals in words."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rooms.github.conftest import FAST, WHEN, Answer, Wire, open_wire, pull
from worker.belts.looking_up import MOST_QUESTIONS, LookUps, NotNow
from worker.belts.quoting import Quoting
from worker.github.connection import InstallationToken, connect
from worker.github.errors import Unauthorized
from worker.github.reader import Reader
from worker.github.views import RepositoryRef
from worker.model import conversation

R = "/repos/mira/humanize"
BASE = "b" * 40


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire, server = open_wire()
    yield wire
    server.shutdown()
    server.server_close()


class Desk:
    """The look-ups of one planning, with a clock that is moved by hand."""

    def __init__(self, wire: Wire) -> None:
        self.wire, self.seconds, self.lines = wire, 0.0, 0
        self.ups = LookUps(self.line, BASE, lambda: self.seconds)

    def line(self) -> AbstractContextManager[Reader]:
        @contextmanager
        def opened() -> Iterator[Reader]:
            self.lines += 1
            with connect(self.wire.url, InstallationToken("ghs_" + "x" * 40), FAST) as connection:
                yield Reader(connection, RepositoryRef(77, "mira/humanize"))

        return opened()

    def ask(self, tool: str, **asked: Any) -> Any:
        answer = self.ups.every()[tool][1](asked)
        assert isinstance(answer, conversation.Answer | conversation.Failed)
        return answer


@pytest.fixture
def desk(wire: Wire) -> Desk:
    return Desk(wire)


def issue(number: int, **more: Any) -> dict[str, Any]:
    return {
        "number": number, "id": number, "title": "t", "body": "b", "state": "open", "updated_at": WHEN, "comments": 0,
        "user": {"id": 5, "login": "olga"}, "labels": [], **more,
    }  # fmt: skip


def comment(number: int, body: str, kind: str = "User") -> dict[str, Any]:
    return {
        "id": number, "node_id": "n", "created_at": WHEN, "updated_at": WHEN, "body": body,
        "user": {"id": 6, "login": "max", "type": kind},
    }  # fmt: skip


def prepared(wire: Wire, shown: dict[str, Any], comments: Any = (), timeline: Any = ()) -> None:
    wire.prepare(f"GET {R}/issues/7", (200, shown))
    wire.prepare(f"GET {R}/issues/7/comments", (200, list(comments)))
    wire.prepare(f"GET {R}/issues/7/timeline", (200, list(timeline)))


def test_a_long_conversation_is_bounded_and_the_whole_is_kept_beside_it(wire: Wire, desk: Desk) -> None:
    comments = [comment(number, f"comment {number} " + "x" * 900) for number in range(60)]
    speaking = [
        {"event": "cross-referenced", "source": {"issue": {"number": number, "title": "y" * 300, "state": "open"}}}
        for number in range(100)
    ]
    prepared(wire, issue(7, body="body " + "z" * 60_000, comments=60), comments, speaking)
    told = desk.ask("linked", number=7)
    assert len(told.text) < 12_000 < len(told.whole)
    assert "[… 57,005 more characters]" in told.text and "[… " not in told.whole.split("Comments")[0][:66_000]
    assert "The first 5 of 60 comments" in told.text and "comment 5 " not in told.text
    assert "comment 39 " in told.whole and "comment 40 " not in told.whole
    assert "(88 older ones are left out)" in told.text and "#99, issue, open" in told.text


def test_what_bots_say_is_left_out_and_an_issue_without_people_is_told_as_that(wire: Wire, desk: Desk) -> None:
    prepared(wire, issue(7, comments=1, state="closed", state_reason="not_planned"), [comment(1, "coverage", "Bot")])
    text = desk.ask("linked", number=7).text
    assert "#7, issue, closed as not planned, by olga" in text
    assert "coverage" not in text and "Of 1 comments none by a person is among the first." in text
    assert "Nothing that may be seen here speaks of it." in text


def test_a_merged_pull_request_tells_its_commit_and_files_from_elsewhere_with_their_repository(
    wire: Wire, desk: Desk
) -> None:
    other = {"number": 9, "title": "t", "state": "open", "repository": {"id": 78, "full_name": "acme/other"}}
    timeline = [
        {"event": "cross-referenced", "created_at": WHEN, "source": {"issue": other}},
        {"event": "cross-referenced", "source": {"issue": other | {"repository": {"id": 77, "full_name": "old/name"}}}},
        {"event": "referenced", "commit_id": "c" * 40, "created_at": WHEN},
    ]
    prepared(wire, issue(7, pull_request={"url": "x"}, labels=["bug"]), (), timeline)
    merged = pull(7) | {"merged_at": WHEN, "merge_commit_sha": "d" * 40, "changed_files": 4}
    wire.prepare(f"GET {R}/pulls/7", (200, merged))
    files = [{"filename": "a b.py", "status": "renamed", "additions": 3, "deletions": 1, "previous_filename": "c.py"}]
    wire.prepare(f"GET {R}/pulls/7/files", (200, files))
    text = desk.ask("linked", number=7).text
    assert "#7, pull request, merged 2026-05-01 as dddddddddddd, by olga; labels: “bug”" in text
    assert "4 files changed:\n  “a b.py” renamed +3 -1, was “c.py”\n  … 3 more" in text
    assert "  acme/other#9, issue, open, 2026-05-01: “t”\n  #9, issue, open: “t”\n" in text
    assert "  commit cccccccccccc, 2026-05-01" in text


def test_checks_that_did_not_pass_come_first_and_each_says_why(wire: Wire, desk: Desk) -> None:
    def run(number: int, name: str, conclusion: str | None, **output: Any) -> dict[str, Any]:
        said = {"title": None, "summary": None, "text": None, "annotations_count": 0, **output}
        return {
            "id": number, "name": name, "status": "completed" if conclusion else "in_progress",
            "conclusion": conclusion, "output": said,
        }  # fmt: skip

    runs = [
        run(1, "lint", "success"), run(2, "slow", None), run(3, "nightly", "cancelled"),
        run(4, "tests", "failure", title="2 failed", summary="<!-- psst -->see below", annotations_count=30),
        run(5, "docs", "skipped"), run(6, "odd", "startup_failure"),
    ]  # fmt: skip
    wire.prepare(f"GET {R}/commits/{BASE}/check-runs", (200, {"check_runs": runs}))
    remark = {"path": "a.py", "start_line": 3, "annotation_level": "failure", "title": "T", "message": "m\nn"}
    wire.prepare(f"GET {R}/check-runs/4/annotations", (200, [remark] * 30))
    status = {"context": "jenkins", "state": "pending", "description": "waits"}
    states = {"state": "failure", "total_count": 130, "statuses": [{"context": "ok", "state": "success"}, status]}
    wire.prepare(f"GET {R}/commits/{BASE}/status", (200, states))
    rows = desk.ask("ci").text.split("\n")
    assert rows[:2] == [
        f"The base commit {BASE[:12]}:", "6 check runs: 3 did not pass, 1 are not finished, 2 passed.",
    ]  # fmt: skip
    assert rows[2:5] == ["failure: “tests”", "> 2 failed", "> see below"]
    assert rows[5:13] == ["  “a.py:3” failure: “T m n”"] * 8 and rows[13] == "  … 22 more remarks on lines"
    assert rows[14:19] == [
        "cancelled: “nightly”", "startup failure: “odd”", "in progress: “slow”", "success: “lint”", "skipped: “docs”",
    ]  # fmt: skip
    assert rows[19:] == [
        "130 commit statuses:", "pending: “jenkins”: “waits”", "success: “ok”", "… 128 more",
        "Hidden in the check “tests”, and taken out: HTML comment: “psst”",
    ]  # fmt: skip


def test_a_commit_without_ci_is_told_as_that(wire: Wire, desk: Desk) -> None:
    wire.prepare(f"GET {R}/commits/{BASE}/check-runs", (200, {"check_runs": []}))
    wire.prepare(f"GET {R}/commits/{BASE}/status", (200, {"state": "pending", "total_count": 0, "statuses": []}))
    rows = desk.ask("ci").text.split("\n")
    assert rows[1:] == ["No check run has reported on it.", "No commit status was set on it."]


REASONS = {
    "gone": (Answer(410, {"message": "This issue was deleted"}), "#7 was deleted."),
    "moved": (Answer(301, {}, {"Location": "{url}/repositories/99/issues/1"}), "#7 was moved to another repository"),
    "absent": (Answer(404, {"message": "Not Found"}), "#7 is not there, or may not be seen."),
    "forbidden": (
        Answer(403, {"message": "Resource not accessible by integration"},
               {"X-Accepted-GitHub-Permissions": "issues=read"}),
        "#7 may not be read: the App was not given issues=read.",
    ),
    "broken": (Answer(502, ""), "#7 could not be read: GitHub failed on its side"),
    "odd": (Answer(200, {"number": "seven"}), "#7 could not be read: GitHub's answer lacks something"),
    "silent": (Answer(drop=True), "#7 could not be read: GitHub could not be reached"),
}  # fmt: skip


@pytest.mark.parametrize("case", REASONS)
def test_whatever_github_says_becomes_words_and_ends_nothing(wire: Wire, desk: Desk, case: str) -> None:
    answer, words = REASONS[case]
    wire.prepare(f"GET {R}/issues/7", answer)
    told = desk.ask("linked", number=7)
    assert isinstance(told, conversation.Failed) and told.text.startswith(words)


def test_a_credential_that_github_does_not_take_ends_the_planning(wire: Wire, desk: Desk) -> None:
    wire.prepare(f"GET {R}/issues/7", (401, {"message": "Bad credentials"}))
    with pytest.raises(Unauthorized):
        desk.ask("linked", number=7)


def test_github_is_asked_a_bounded_number_of_times(wire: Wire, desk: Desk) -> None:
    prepared(wire, issue(7))
    told = [desk.ask("linked", number=7) for _ in range(MOST_QUESTIONS + 1)]
    assert [type(one) for one in told] == [conversation.Answer] * MOST_QUESTIONS + [conversation.Failed]
    assert desk.lines == MOST_QUESTIONS


def test_after_a_limit_github_is_left_alone_for_as_long_as_it_said(wire: Wire, desk: Desk) -> None:
    limited = Answer(429, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "40"})
    prepared(wire, issue(7))
    wire.prepare(f"GET {R}/issues/7", limited, (200, issue(7)))
    assert "asked again in 40 seconds" in desk.ask("linked", number=7).text
    desk.seconds = 39.0
    assert "asked again in 1 seconds" in desk.ask("linked", number=7).text and desk.lines == 1
    desk.seconds = 40.5
    assert isinstance(desk.ask("linked", number=7), conversation.Answer)


def test_no_line_to_github_is_told_in_words() -> None:
    def none() -> AbstractContextManager[Reader]:
        raise NotNow("The mint does not answer.")

    told = LookUps(none, BASE).every()["ci"][1]({})
    assert told == conversation.Failed("GitHub cannot be asked now: The mint does not answer.")


@given(text=st.text(max_size=400), limit=st.integers(1, 300))
def test_no_line_of_a_foreign_text_stands_without_its_mark(text: str, limit: int) -> None:
    quoting = Quoting()
    shown = quoting.text("a text", text, limit)
    assert all(line.startswith("> ") for line in shown.split("\n") if shown)
    assert len(shown) <= limit * 3 + 60
    assert "\n" not in quoting.words("a text", text)
