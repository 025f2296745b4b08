"""Faults, limits, pages of lists, ETags and the journal."""

import time
from typing import Any

import httpx
import pytest

REPO = "octo/demo"
SECONDARY = '{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}'


@pytest.fixture
def talking(yard: Any) -> Any:
    yard.control.open_issue(REPO, "mira", "A bug")
    return yard


def _say(yard: Any, headers: dict[str, str]) -> httpx.Response:
    with httpx.Client(base_url=yard.twin.url, trust_env=False) as plain:
        return plain.post(f"/repos/{REPO}/issues/1/comments", headers=headers, json={"body": "x"})


def test_a_502_after_the_work_leaves_the_comment_behind(talking: Any) -> None:
    headers = talking.token()
    talking.control.fault(r"^POST .*/comments$", mode="after", status=502)
    assert _say(talking, headers).status_code == 502
    assert len(talking.control.comments(REPO, 1)) == 1
    assert _say(talking, headers).status_code == 201


def test_a_502_instead_of_the_work_leaves_nothing(talking: Any) -> None:
    headers = talking.token()
    talking.control.fault(r"^POST .*/comments$", times=2)
    assert [_say(talking, headers).status_code for _ in range(3)] == [502, 502, 201]
    assert len(talking.control.comments(REPO, 1)) == 1


@pytest.mark.parametrize(("mode", "left"), [("drop", 0), ("drop-after", 1)])
def test_a_connection_can_be_dropped_before_or_after_the_work(talking: Any, mode: str, left: int) -> None:
    headers = talking.token()
    talking.control.fault(r"^POST .*/comments$", mode=mode)
    with pytest.raises(httpx.TransportError):
        _say(talking, headers)
    assert len(talking.control.comments(REPO, 1)) == left
    entry = talking.control.journal()[-1]
    assert (entry["status"], entry["fault"]) == (0, f"{mode} 502")


def test_a_secondary_limit_can_last_for_a_time_with_or_without_retry_after(talking: Any) -> None:
    headers = talking.token()
    talking.control.fault(r"^POST .*/comments$", status=403, body=SECONDARY, seconds=30, headers={"Retry-After": "60"})
    limited = _say(talking, headers)
    assert limited.status_code == 403 and limited.headers["retry-after"] == "60"
    assert _say(talking, headers).status_code == 403
    talking.control.set_clock(31)
    assert _say(talking, headers).status_code == 201


def test_an_answer_can_be_late_and_a_fault_can_skip_the_first_calls(talking: Any) -> None:
    headers = talking.token()
    talking.control.fault(r"^POST .*/comments$", mode="delay", seconds_before=0.2, skip=1)
    started = time.monotonic()
    _say(talking, headers)
    quick = time.monotonic() - started
    assert _say(talking, headers).status_code == 201
    assert time.monotonic() - started - quick >= 0.2
    assert len(talking.control.comments(REPO, 1)) == 2


def test_a_true_answer_can_be_held_back_after_the_work_is_done(talking: Any) -> None:
    headers = talking.token()
    talking.control.fault(r"^POST .*/comments$", mode="delay", seconds_after=5)
    impatient = httpx.Client(base_url=talking.twin.url, trust_env=False, timeout=0.5)
    with impatient, pytest.raises(httpx.ReadTimeout):
        impatient.post(f"/repos/{REPO}/issues/1/comments", headers=headers, json={"body": "x"})
    assert len(talking.control.comments(REPO, 1)) == 1


def test_faults_touch_nothing_else_and_can_be_cleared(talking: Any) -> None:
    headers = talking.token()
    talking.control.fault(r"^GET /app/installations", times=None)
    assert _say(talking, headers).status_code == 201
    talking.control.clear_faults()
    assert talking.http.get("/app/installations", headers=talking.jwt()).status_code == 200


def test_the_primary_limit_is_counted_per_installation_and_a_304_is_free(talking: Any) -> None:
    headers = talking.token()
    first = talking.call("GET", "/issues/1", headers)
    again = talking.call("GET", "/issues/1", {**headers, "If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
    assert again.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"]
    talking.control.do("set_rate_limit", limit=int(first.headers["x-ratelimit-used"]))
    refused = talking.call("GET", "/issues/1", headers)
    assert refused.status_code == 403 and refused.headers["x-ratelimit-remaining"] == "0"
    assert int(refused.headers["x-ratelimit-reset"]) > time.time()
    assert talking.http.get("/rate_limit", headers=headers).json()["rate"]["remaining"] == 0


def test_an_etag_belongs_to_one_token_and_dies_with_a_change(talking: Any) -> None:
    one, other = talking.token(), talking.token()
    first = talking.call("GET", "/issues/1", one)
    assert "Authorization" in first.headers["vary"]
    tag = {"If-None-Match": first.headers["etag"]}
    assert talking.call("GET", "/issues/1", {**other, **tag}).status_code == 200
    assert talking.call("GET", "/issues/1", {**one, **tag}).status_code == 304
    talking.control.edit_issue(REPO, 1, "mira", title="Changed")
    assert talking.call("GET", "/issues/1", {**one, **tag}).status_code == 200


def test_comments_come_thirty_at_a_time_with_links_to_the_rest(talking: Any) -> None:
    headers = talking.token()
    for number in range(45):
        talking.control.comment(REPO, 1, f"comment {number}", "mira")
    first = talking.call("GET", "/issues/1/comments", headers)
    assert len(first.json()) == 30 and set(first.links) == {"next", "last"}
    second = talking.http.get(first.links["next"]["url"], headers=headers)
    assert [one["body"] for one in second.json()][-1] == "comment 44" and set(second.links) == {"first", "prev"}
    assert len(talking.call("GET", "/issues/1/comments?per_page=100", headers).json()) == 45


def test_the_journal_names_each_requests_reach_and_no_secret(talking: Any) -> None:
    reader = talking.token(contents="read")
    talking.call("GET", "/git/ref/heads/main", reader)
    _say(talking, reader)
    talking.http.get("/app", headers=talking.jwt())
    talking.http.get("/octo/demo")
    minted, read, refused, app = talking.control.journal()
    assert (minted["method"], minted["caller"], minted["status"]) == ("POST", "app", 201)
    assert read["permissions"] == {"metadata": "read", "contents": "read"}
    assert read["repository_ids"] == [talking.repo["id"]] and read["token"] == talking.control.tokens()[0]["token"]
    assert refused["status"] == 403 and app["path"] == "/app" and app["token"] is None
    assert "write" not in str([one["permissions"] for one in talking.control.journal()])


def test_what_people_did_is_kept_on_the_clock_of_the_journal(talking: Any) -> None:
    headers = talking.token(issues="write")
    talking.control.comment(REPO, 1, "/approve", "mira")
    _say(talking, headers)
    (opened, approved) = talking.control.acts()
    assert (approved["login"], approved["deed"], approved["values"]["body"]) == ("mira", "comment", "/approve")
    assert opened["at"] < talking.control.tokens()[0]["minted"] < approved["at"] < talking.control.journal()[-1]["at"]


def test_versions_that_github_does_not_know_are_410_and_rate_is_gone_from_the_newest(talking: Any) -> None:
    headers = talking.token()
    old = {**headers, "X-GitHub-Api-Version": "2019-01-01"}
    assert talking.call("GET", "", old).status_code == 410
    new = {**headers, "X-GitHub-Api-Version": "2026-03-10"}
    found = talking.http.get("/rate_limit", headers=new).json()
    assert "rate" not in found and found["resources"]["core"]["limit"] == 5000


def test_the_paths_of_an_enterprise_host_work_as_well(talking: Any) -> None:
    headers = talking.token()
    assert talking.http.get(f"/api/v3/repos/{REPO}", headers=headers).status_code == 200
    asked = talking.http.post("/api/graphql", headers=headers, json={"query": "{viewer{login}}"})
    assert asked.json() == {"data": {"viewer": {"login": "countersign"}}}


def test_the_timeline_tells_who_labelled(talking: Any) -> None:
    talking.control.label(REPO, 1, "countersign", "tess")
    (entry,) = talking.call("GET", "/issues/1/timeline", talking.token()).json()
    assert (entry["event"], entry["actor"]["login"], entry["label"]["name"]) == ("labeled", "tess", "countersign")
