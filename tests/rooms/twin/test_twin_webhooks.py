"""Webhooks: signed, complete, logged, never repeated on their own, and as unruly as a test wishes."""

import hashlib
import hmac
import time
import uuid
from typing import Any

import pytest

REPO = "octo/demo"
SECRET = b"It's a Secret to Everybody"


def test_a_delivery_carries_every_header_and_both_signatures_over_the_raw_bytes(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "naïve 😀 ç", "text")
    yard.heard()
    one = yard.receiver.seen[0]
    assert one.headers["x-hub-signature-256"] == "sha256=" + hmac.new(SECRET, one.body, hashlib.sha256).hexdigest()
    assert one.headers["x-hub-signature"] == "sha1=" + hmac.new(SECRET, one.body, hashlib.sha1).hexdigest()
    assert one.headers["x-github-event"] == "issues" and one.headers["content-type"] == "application/json"
    assert one.headers["x-github-hook-installation-target-type"] == "integration"
    assert one.headers["x-github-hook-installation-target-id"] == "4711" and one.headers["x-github-hook-id"].isdigit()
    assert one.headers["user-agent"].startswith("GitHub-Hookshot/")
    assert uuid.UUID(one.headers["x-github-delivery"]).version == 4
    assert one.payload["installation"]["id"] == yard.installation["id"]


def test_the_signature_of_githubs_own_example_comes_out() -> None:
    found = hmac.new(SECRET, b"Hello, World!", hashlib.sha256).hexdigest()
    assert found == "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


def test_an_issue_opened_with_two_labels_sends_opened_and_one_labeled_each(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "A bug", labels=["bug", "countersign"])
    assert yard.heard() == ["issues.opened", "issues.labeled", "issues.labeled"]
    labelled = [one.payload for one in yard.receiver.seen[1:]]
    assert [one["label"]["name"] for one in labelled] == ["bug", "countersign"]
    assert all(len(one["issue"]["labels"]) == 2 for one in labelled)


def test_every_human_act_sends_its_event_as_github_describes_it(yard: Any) -> None:
    control = yard.control
    control.open_issue(REPO, "mira", "A bug", "text")
    control.edit_issue(REPO, 1, "mira", title="Another title", body="other text")
    control.label(REPO, 1, "bug", "tess")
    control.unlabel(REPO, 1, "bug", "tess")
    comment = control.comment(REPO, 1, "hi", "mira")
    control.edit_comment(comment["id"], "hello", "mira")
    control.delete_comment(comment["id"], "mira")
    control.close_issue(REPO, 1, "mira")
    control.reopen_issue(REPO, 1, "mira")
    control.lock_issue(REPO, 1, "mira")
    control.unlock_issue(REPO, 1, "mira")
    control.push_commit(REPO, "fix", {"a": "1"}, as_login="mira")
    control.do("open_pull", repo=REPO, as_login="mira", title="t", head="fix", into="main", draft=True)
    control.label(REPO, 2, "bug", "tess")
    control.unlabel(REPO, 2, "bug", "tess")
    control.mark_ready(REPO, 2, "mira")
    control.merge_pull(REPO, 2, "mira")
    control.do("rename_label", repo=REPO, label="bug", name="defect", as_login="mira")
    control.label(REPO, 1, "defect", "mira")
    control.do("delete_label", repo=REPO, label="defect", as_login="mira")
    control.change_repo(REPO, private=False)
    control.change_repo(REPO, archived=True)
    control.change_repo(REPO, archived=False, default_branch="fix")
    control.change_repo(REPO, name="renamed")
    control.do("delete_repo", repo="octo/renamed")
    assert yard.heard() == [
        "issues.opened", "issues.edited", "issues.labeled", "issues.unlabeled", "issue_comment.created",
        "issue_comment.edited", "issue_comment.deleted", "issues.closed", "issues.reopened", "issues.locked",
        "issues.unlocked", "push", "pull_request.opened", "pull_request.labeled", "pull_request.unlabeled",
        "pull_request.ready_for_review", "pull_request.closed", "push", "label.edited", "issues.labeled",
        "issues.unlabeled", "label.deleted", "repository.publicized", "repository.archived", "repository.unarchived",
        "repository.edited", "repository.renamed", "repository.deleted",
    ]
    edited = yard.receiver.seen[1].payload["changes"]
    assert edited == {"title": {"from": "A bug"}, "body": {"from": "text"}}
    without_label = yard.receiver.seen[20].payload
    assert "label" not in without_label and without_label["action"] == "unlabeled"
    closed = yard.receiver.seen[16].payload["pull_request"]
    assert closed["merged"] is True and closed["state"] == "closed"


def test_the_life_of_an_installation_is_told_without_any_subscription(yard: Any) -> None:
    yard.control.add_repo("octo/two", {"a": "1"})
    yard.control.set_installation_permissions("octo", {"issues": "read"})
    yard.control.do("choose_repos", account="octo", repos=["octo/two"])
    yard.control.do("choose_repos", account="octo", repos=["octo/two", REPO])
    yard.control.suspend("octo")
    yard.control.open_issue(REPO, "mira", "Nobody hears this")
    yard.control.unsuspend("octo")
    yard.control.uninstall("octo")
    yard.control.install("octo")
    assert [name for name in yard.heard() if name.startswith("install")] == [
        "installation.new_permissions_accepted", "installation_repositories.removed",
        "installation_repositories.added", "installation.suspend", "installation.unsuspend", "installation.deleted",
        "installation.created",
    ]
    assert "issues.opened" not in yard.receiver.names()


def test_what_the_app_does_comes_back_from_its_bot(yard: Any) -> None:
    headers = yard.token()
    yard.control.open_issue(REPO, "mira", "A bug")
    yard.call("POST", "/issues/1/comments", headers, {"body": "plan"})
    yard.call("POST", "/issues/1/labels", headers, {"labels": ["bug"]})
    assert yard.heard() == ["issues.opened", "issue_comment.created", "issues.labeled"]
    spoken, labelled = (one.payload for one in yard.receiver.seen[1:])
    bot = yard.http.get("/users/countersign[bot]", headers=headers).json()
    assert spoken["sender"]["type"] == "Bot" and spoken["sender"]["id"] == bot["id"] != 4711
    assert spoken["comment"]["performed_via_github_app"]["id"] == 4711
    assert labelled["sender"]["login"] == "countersign[bot]"


def test_the_sender_of_an_edited_comment_is_the_editor_and_the_author_stays(yard: Any) -> None:
    yard.control.open_issue(REPO, "tess", "A bug")
    comment = yard.control.comment(REPO, 1, "hi", "tess")
    yard.control.edit_comment(comment["id"], "/approve", "mira")
    yard.heard()
    payload = yard.receiver.seen[-1].payload
    assert (payload["sender"]["login"], payload["comment"]["user"]["login"]) == ("mira", "tess")


def test_an_event_that_the_installation_may_not_hear_is_not_sent(yard: Any) -> None:
    yard.control.set_installation_permissions("octo", {"contents": "read"})
    yard.control.open_issue(REPO, "mira", "A bug")
    yard.control.push_commit(REPO, "fix", {"a": "1"}, as_login="mira")
    assert [name for name in yard.heard() if not name.startswith("install")] == ["push"]


def test_a_failed_delivery_is_recorded_and_not_repeated_until_asked_with_the_same_guid(yard: Any) -> None:
    yard.receiver.status = 500
    yard.control.open_issue(REPO, "mira", "A bug")
    assert yard.heard() == ["issues.opened"]
    app = yard.jwt()
    (failed,) = yard.http.get("/app/hook/deliveries?status=failure", headers=app).json()
    assert (failed["status_code"], failed["redelivery"]) == (500, False)
    yard.receiver.status = 202
    asked = yard.http.post(f"/app/hook/deliveries/{failed['id']}/attempts", headers=app)
    assert asked.status_code == 202
    assert yard.heard() == ["issues.opened", "issues.opened"]
    first, second = yard.receiver.seen
    assert first.headers["x-github-delivery"] == second.headers["x-github-delivery"] and first.body == second.body
    newest = yard.http.get("/app/hook/deliveries", headers=app).json()[0]
    assert newest["redelivery"] is True and newest["status"] == "OK" and newest["id"] != failed["id"]
    assert newest["guid"] == failed["guid"]


def test_a_receiver_that_is_down_leaves_a_record_without_a_failure_code(yard: Any) -> None:
    yard.control.set_hook("http://127.0.0.1:9")
    yard.control.open_issue(REPO, "mira", "A bug")
    yard.heard()
    app = yard.jwt()
    (one,) = yard.http.get("/app/hook/deliveries", headers=app).json()
    assert one["status"] == "failed to connect to host"
    assert yard.http.get("/app/hook/deliveries?status=failure", headers=app).json() == []


def test_a_slow_receiver_is_cut_off_at_the_limit(yard: Any) -> None:
    assert yard.twin.forge.webhooks.seconds_to_answer == 10.0
    yard.control.set_hook(yard.receiver.url, seconds_to_answer=0.1)
    yard.receiver.seconds = 0.4
    yard.control.open_issue(REPO, "mira", "A bug")
    yard.heard()
    (one,) = yard.http.get("/app/hook/deliveries", headers=yard.jwt()).json()
    assert one["status"] == "timed out"


def test_the_delivery_log_pages_by_cursor_newest_first(yard: Any) -> None:
    for number in range(5):
        yard.control.open_issue(REPO, "mira", f"Bug {number}")
    yard.heard()
    app, found, path = yard.jwt(), [], "/app/hook/deliveries?per_page=2"
    while path:
        answer = yard.http.get(path, headers=app)
        found += [one["id"] for one in answer.json()]
        path = answer.links.get("next", {}).get("url")
    assert found == sorted(found, reverse=True) and len(found) == 5
    full = yard.http.get(f"/app/hook/deliveries/{found[-1]}", headers=app).json()
    assert full["request"]["payload"]["issue"]["title"] == "Bug 0"


def test_the_delivery_log_forgets_after_three_days(yard: Any) -> None:
    yard.control.open_issue(REPO, "mira", "A bug")
    yard.heard()
    (one,) = yard.http.get("/app/hook/deliveries", headers=yard.jwt()).json()
    for seconds, there in ((3 * 86_400 - 60, True), (3 * 86_400 + 60, False)):
        yard.control.set_clock(seconds)
        now = int(time.time() + seconds)
        app = yard.jwt(iat=now - 60, exp=now + 540)
        log = yard.http.get("/app/hook/deliveries", headers=app).json()
        assert (one["id"] in [each["id"] for each in log]) is there
        asked = yard.http.post(f"/app/hook/deliveries/{one['id']}/attempts", headers=app)
        assert asked.status_code == (202 if there else 404)


def test_deliveries_can_be_lost_doubled_held_and_turned_round(yard: Any) -> None:
    control = yard.control
    control.open_issue(REPO, "mira", "A bug")
    control.treat_deliveries("drop", event="issue_comment")
    control.comment(REPO, 1, "lost", "mira")
    control.treat_deliveries("duplicate", event="issue_comment", action="created")
    control.comment(REPO, 1, "twice", "mira")
    control.treat_deliveries("hold", times=None)
    control.comment(REPO, 1, "first", "mira")
    control.comment(REPO, 1, "second", "mira")
    control.clear_treatments()
    control.comment(REPO, 1, "third", "mira")
    assert len(yard.heard()) == 4
    assert control.release_deliveries("last-first") == 2
    yard.heard()
    bodies = [one.payload["comment"]["body"] for one in yard.receiver.seen[1:]]
    assert bodies == ["twice", "twice", "third", "second", "first"]
    twice = [one.headers["x-github-delivery"] for one in yard.receiver.seen[1:3]]
    assert twice[0] == twice[1]
    assert [one["status"] for one in control.deliveries()].count("lost") == 1


@pytest.mark.parametrize("what", ["issue", "comment"])
def test_a_deleted_account_leaves_a_null_author(yard: Any, what: str) -> None:
    yard.control.open_issue(REPO, "mira", "A bug")
    comment = yard.control.comment(REPO, 1, "hi", "tess")
    target = {"comment_id": comment["id"]} if what == "comment" else {"repo": REPO, "number": 1}
    yard.control.do("forget_author", **target)
    found = yard.control.comments(REPO, 1)[0] if what == "comment" else yard.control.issue(REPO, 1)
    assert found["user"] is None
    yard.control.label(REPO, 1, "bug", "tess")
    assert yard.heard()[-1] == "issues.labeled"
