"""The same client against the GitHub look-alike: real tokens, real permissions, real commits."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.core.run import Proposal
from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.control import TwinControl
from infra.twin.twin import AppWish, Twin
from tests.rooms.github.conftest import FAST
from worker.github import errors
from worker.github.app import AppIdentity, Identity, Token
from worker.github.blobs import FEW
from worker.github.commenter import Commenter, How, Smile
from worker.github.connection import Connection, InstallationToken, connect
from worker.github.moved import Moved, moved
from worker.github.reader import Reader
from worker.github.views import RepositoryRef
from worker.github.writer import Delete, FileMode, Move, Portion, Publisher, Put, Work

REPO = "acme/humanize"
READ = {"contents": "read", "issues": "read", "pull_requests": "read"}
SPEAK = {"issues": "write", "pull_requests": "write"}
PUBLISH = {"contents": "write", "pull_requests": "write"}
MARKER = "<!-- countersign:run-1 -->"
FILES = {
    "README.md": "hello\n",
    "src/a.py": "A = 1\n",
    "old.py": "x = 1\n",
    "gone.txt": "bye\n",
    "run.sh*": "#!/bin/sh\n",
}


@dataclass
class Town:
    """A twin with one repository, the App installed, and an issue 1."""

    twin: Twin
    control: TwinControl
    app: AppIdentity
    installation_id: int
    ref: RepositoryRef
    who: Identity

    def token(self, permissions: dict[str, str]) -> Token:
        return self.app.mint(self.installation_id, self.ref.id, permissions)

    def line(self, permissions: dict[str, str]) -> Connection:
        return connect(self.twin.url, InstallationToken(self.token(permissions).value), FAST)


@pytest.fixture(scope="module")
def key() -> str:
    """One App key for all: making one takes longer than most tests."""
    return new_private_key()


@pytest.fixture
def town(tmp_path: Path, key: str) -> Iterator[Town]:
    twin = Twin.start(tmp_path, AppWish(public_key=public_key_of(key)))
    control = twin.control
    for login in ("mira", "outsider"):
        control.add_user(login)
    shown = control.add_repo(REPO, FILES, collaborators={"mira": "maintain"}, labels=["countersign"])
    control.install("acme")
    control.open_issue(REPO, "outsider", "It says 1000.0 kB", "see there")
    with AppIdentity(twin.url, str(twin.app.id), key, settings=FAST) as app:
        ref = RepositoryRef(shown["id"], REPO)
        installation = app.installation(REPO)
        who = app.identity(app.mint(installation.id, ref.id, {"metadata": "read"}))
        yield Town(twin, control, app, installation.id, ref, who)
    twin.stop()


def test_tokens_reach_only_what_was_asked_and_end_when_revoked(town: Town) -> None:
    token = town.token(READ)
    assert token.permissions == {**READ, "metadata": "read"}
    with connect(town.twin.url, InstallationToken(token.value), FAST) as line:
        with pytest.raises(errors.Forbidden):
            Commenter(line, town.ref, town.who.bot_user_id).create_comment(1, "hello")
        town.app.revoke(token)
        with pytest.raises(errors.Unauthorized):
            Reader(line, town.ref).issue(1)
    town.app.revoke(token)


def test_an_uninstalled_or_suspended_app_gets_no_token(town: Town) -> None:
    town.control.suspend("acme")
    with pytest.raises(errors.Suspended):
        town.token(READ)
    town.control.uninstall("acme")
    with pytest.raises(errors.NotFound):
        town.token(READ)


def test_what_the_app_was_granted_is_told_under_whatever_name_its_repositories_have(town: Town) -> None:
    town.control.set_installation_permissions("acme", {"contents": "read", "issues": "write"})
    town.control.change_repo(REPO, name="hello")
    assert town.app.granted(town.installation_id) == {"metadata": "read", "contents": "read", "issues": "write"}
    town.control.uninstall("acme")
    with pytest.raises(errors.NotFound):
        town.app.granted(town.installation_id)


def test_more_than_the_installation_has_is_refused(town: Town) -> None:
    with pytest.raises(errors.Forbidden):
        town.token({"workflows": "write"})


def test_an_issue_its_talk_and_its_people_are_read(town: Town) -> None:
    for number in range(45):
        town.control.comment(REPO, 1, f"comment {number}", "mira")
    town.control.label(REPO, 1, "countersign", "mira")
    with town.line(READ) as line:
        reader = Reader(line, town.ref)
        issue = reader.issue(1)
        assert (issue.title, issue.labels, issue.is_pull_request) == ("It says 1000.0 kB", ("countersign",), False)
        assert issue.author is not None and issue.author.login == "outsider"
        assert [comment.body for comment in reader.comments(1)] == [f"comment {n}" for n in range(45)]
        mira = reader.permission_of("mira")
        assert (mira.legacy, mira.role_name) == ("write", "maintain")
        known = reader.user("mira")
        assert known is not None and mira.user_id == known.id
        assert reader.permission_of("outsider").legacy == "read"
        assert reader.permission_of("nobody-at-all").legacy == "none"
        assert "labeled" in [event.event for event in reader.timeline(1)]


def test_files_and_branches_are_read_at_a_commit(town: Town) -> None:
    with town.line({**READ, "checks": "read"}) as line:
        reader = Reader(line, town.ref)
        base = reader.repository().default_branch
        head = reader.head_of(base)
        found = reader.file_at("src/a.py", head)
        assert found is not None and found.content == b"A = 1\n"
        assert reader.file_at("no/such.file", head) is None and reader.file_at("src", head) is None
        assert reader.find_branch("no-such-branch") is None
        assert reader.branch_rules("countersign/1-a") == ()
        assert reader.check_runs(head) == ()


@pytest.mark.parametrize("first_id", [5_000, 2**31 + 7])
def test_thumbs_are_seen_with_edits_hiding_and_deletion(town: Town, first_id: int) -> None:
    town.control.set_ids("other", first_id)
    with town.line(SPEAK) as line:
        commenter, reader = Commenter(line, town.ref, town.who.bot_user_id), Reader(line, town.ref)
        plans = [commenter.say(1, f"{MARKER}{n}", f"{MARKER}{n} plan").comment for n in range(3)]
        town.control.react(plans[0].id, "+1", "mira")
        town.control.react(plans[0].id, "-1", "outsider")
        town.control.edit_comment(plans[0].id, "another plan", "mira")
        commenter.minimise(plans[1].node_id)
        town.control.delete_comment(plans[2].id, "mira")
        seen = reader.reactions([plan.node_id for plan in plans])
        assert set(seen) == {plans[0].node_id, plans[1].node_id}
        first, second = seen[plans[0].node_id], seen[plans[1].node_id]
        assert [thumb.login for thumb in first.thumbs] == ["mira"]
        assert first.thumbs == reader.thumbs(plans[0].id)
        assert first.body == "another plan" and first.edited_at is not None and not first.minimized
        assert second.minimized and second.edited_at is None and second.thumbs == ()
        with pytest.raises(errors.NotFound):
            reader.comment(plans[2].id)


def test_a_comment_is_said_once_and_edited_in_place(town: Town) -> None:
    with town.line(SPEAK) as line:
        commenter = Commenter(line, town.ref, town.who.bot_user_id)
        town.control.comment(REPO, 1, MARKER + " mine", "outsider")
        assert commenter.say(1, MARKER, MARKER + " one").how is How.MADE
        assert commenter.say(1, MARKER, MARKER + " one").how is How.FOUND
        said = commenter.say(1, MARKER, MARKER + " two")
        assert said.how is How.UPDATED
        commenter.react(said.comment.id, Smile.SEEN)
        commenter.react(said.comment.id, Smile.SEEN)
    bodies = [comment["body"] for comment in town.control.comments(REPO, 1)]
    assert bodies == [MARKER + " mine", MARKER + " two"]


def test_a_comment_made_before_the_server_failed_is_found(town: Town) -> None:
    town.control.fault("POST .*/comments", mode="after", status=502, body='{"message": "Server Error"}')
    with town.line(SPEAK) as line:
        commenter = Commenter(line, town.ref, town.who.bot_user_id)
        with pytest.raises(errors.Broken) as caught:
            commenter.say(1, MARKER, MARKER + " one")
        assert caught.value.maybe_done
        assert commenter.say(1, MARKER, MARKER + " one").how is How.FOUND
    assert len(town.control.comments(REPO, 1)) == 1


def test_a_locked_issue_and_an_archived_repository_are_told_apart(town: Town) -> None:
    with town.line(SPEAK) as line:
        commenter = Commenter(line, town.ref, town.who.bot_user_id)
        town.control.lock_issue(REPO, 1, "mira")
        with pytest.raises(errors.Locked):
            commenter.create_comment(1, "hello")
        town.control.unlock_issue(REPO, 1, "mira")
        town.control.change_repo(REPO, archived=True)
        with pytest.raises(errors.Archived):
            commenter.create_comment(1, "hello")


def test_a_transferred_issue_is_neither_read_nor_written_elsewhere(town: Town) -> None:
    town.control.add_repo("acme/other", {"a": "b"})
    town.control.transfer_issue(REPO, 1, "acme/other", "acme")
    with town.line(SPEAK) as line:
        with pytest.raises(errors.Moved):
            Reader(line, town.ref).issue(1)
        with pytest.raises(errors.GitHubError):
            Commenter(line, town.ref, town.who.bot_user_id).create_comment(1, "hello")
    assert town.control.comments("acme/other", 1) == []


def test_a_renamed_repository_is_still_read_and_not_written_under_its_old_name(town: Town) -> None:
    town.control.change_repo(REPO, name="renamed")
    with town.line(SPEAK) as line:
        assert Reader(line, town.ref).issue(1).title == "It says 1000.0 kB"
        assert Reader(line, town.ref).comments(1) == ()
        with pytest.raises(errors.Moved):
            Commenter(line, town.ref, town.who.bot_user_id).create_comment(1, "hello")
        named = RepositoryRef(town.ref.id, Reader(line, town.ref).repository().full_name)
        assert Commenter(line, named, town.who.bot_user_id).create_comment(1, "hello").body == "hello"


def work(town: Town, line: Connection) -> Work:
    parent = Reader(line, town.ref).head_of("main")
    changes = (
        Put("src/a.py", b"A = 2\r\n\xff"),
        Put("bin/new.sh", b"#!/bin/sh\n", FileMode.EXECUTABLE),
        Delete("gone.txt"),
        Move("old.py", "src/new.py", b"x = 1\n"),
    )
    return Work.at_once(parent, ("Roll over to the next unit",), changes)


def test_work_is_published_as_a_draft_once(town: Town) -> None:
    with town.line(PUBLISH) as line:
        publisher = Publisher(line, town.ref, town.who.bot_user_id)
        done = work(town, line)
        landed = publisher.land("countersign/1-a", "main", done)
        assert landed.how is How.MADE and landed.commit.verification.verified
        opened = publisher.open_draft("countersign/1-a", "main", "Roll over", "Fixes #1")
        assert opened.how is How.MADE and opened.pull.draft
        assert publisher.land("countersign/1-a", "main", done).commit.sha == landed.commit.sha
        again = publisher.open_draft("countersign/1-a", "main", "Roll over", "Fixes #1")
        assert (again.how, again.pull.number) == (How.FOUND, opened.pull.number)
        owner, branch = "acme", "countersign/1-a"
        assert [pull.number for pull in Reader(line, town.ref).pulls_by_head(owner, branch)] == [opened.pull.number]
    files = town.control.branch_files(REPO, "countersign/1-a")
    assert files == {
        "README.md": b"hello\n", "src/a.py": b"A = 2\r\n\xff", "bin/new.sh": b"#!/bin/sh\n", "src/new.py": b"x = 1\n",
        "run.sh": b"#!/bin/sh\n",
    }  # fmt: skip
    modes = town.control.branch_modes(REPO, "countersign/1-a")
    assert modes["bin/new.sh"] == "100755" and modes["run.sh"] == "100755" and modes["src/a.py"] == "100644"
    assert len(town.control.pulls(REPO)) == 1


def test_many_files_go_together_and_arrive_to_the_byte(town: Town) -> None:
    letters = "e\u0301 \u2028 \U0001f600\n".encode()
    odd = (b"", b"\xef\xbb\xbfmarked\r\n", b"no end", b"\xff\x00\r", letters, b"\r\r", b"x" * 70_000)
    files = {f"many/{number}.txt": f"{number}\n".encode() for number in range(FEW)}
    files |= {f"odd/{number}": content for number, content in enumerate(odd)}
    with town.line(PUBLISH) as line:
        publisher = Publisher(line, town.ref, town.who.bot_user_id)
        whole = tuple(Put(path, content) for path, content in files.items())
        base = Reader(line, town.ref).head_of("main")
        publisher.land("countersign/many", "main", Work.at_once(base, ("Many",), whole))
    there = town.control.branch_files(REPO, "countersign/many")
    assert {path: there[path] for path in files} == files
    posts = [one["path"] for one in town.control.journal() if one["method"] == "POST" and "/git/" in one["path"]]
    assert sum(path.endswith("/blobs") for path in posts) == 3, "what is empty, large or no text"
    assert sum(path.endswith("/trees") for path in posts) == 2


def test_a_draft_whose_answer_was_lost_is_adopted(town: Town) -> None:
    with town.line(PUBLISH) as line:
        publisher = Publisher(line, town.ref, town.who.bot_user_id)
        town.control.fault("POST .*/git/refs", mode="drop-after")
        with pytest.raises(errors.Unreachable) as lost:
            publisher.land("countersign/1-a", "main", work(town, line))
        assert lost.value.maybe_done
        assert publisher.land("countersign/1-a", "main", work(town, line)).how is How.FOUND
        town.control.fault("POST .*/pulls$", mode="drop-after")
        with pytest.raises(errors.Unreachable):
            publisher.open_draft("countersign/1-a", "main", "Roll over", "Fixes #1")
        assert publisher.open_draft("countersign/1-a", "main", "Roll over", "Fixes #1").how is How.FOUND
    assert len(town.control.pulls(REPO)) == 1


def two_commits(town: Town, line: Connection) -> Work:
    parent = Reader(line, town.ref).head_of("main")
    first = Portion(("The one",), (Put("src/a.py", b"A = 3\n"), Put("new.txt", b"1\n")))
    second = Portion(("Then the other", "or so"), (Put("src/a.py", b"A = 2\n"), Delete("new.txt"), Delete("gone.txt")))
    return Work(parent, (first, second), (Put("src/a.py", b"A = 2\n"), Delete("gone.txt")))


def test_commits_one_upon_another_are_made_once_and_come_to_the_whole(town: Town) -> None:
    with town.line(PUBLISH) as line:
        publisher = Publisher(line, town.ref, town.who.bot_user_id)
        town.control.fault("POST .*/git/refs", mode="drop-after")
        with pytest.raises(errors.Unreachable):
            publisher.land("countersign/1-a", "main", two_commits(town, line))
        landed = publisher.land("countersign/1-a", "main", two_commits(town, line))
        assert landed.how is How.FOUND and len(landed.commits) == 2
        assert all(one.verification.verified for one in landed.commits)
        first, second = (town.control.commit(REPO, one.sha) for one in landed.commits)
        assert [one["sha"] for one in second["parents"]] == [first["sha"]]
        assert town.control.branch_files(REPO, first["sha"])["new.txt"] == b"1\n"
        after = town.control.branch_files(REPO, "countersign/1-a")
        assert after["src/a.py"] == b"A = 2\n" and not {"new.txt", "gone.txt"} & set(after)
        whole = two_commits(town, line)
        at_once = Work.at_once(whole.parent, ("Then the other",), whole.whole)
        with pytest.raises(errors.AlreadyExists):
            publisher.land("countersign/1-a", "main", at_once)
        with pytest.raises(ValueError, match="do not come to"):
            publisher.land("countersign/1-b", "main", Work(whole.parent, whole.portions, (Put("stray.txt", b"x"),)))
    assert set(town.control.branches(REPO)) == {"main", "countersign/1-a"}


def test_a_branch_of_somebody_else_is_never_overwritten(town: Town) -> None:
    mine = town.control.push_commit(REPO, "countersign/1-a", {"mine.txt": "mine"}, as_login="mira")
    with town.line(PUBLISH) as line:
        publisher = Publisher(line, town.ref, town.who.bot_user_id)
        with pytest.raises(errors.AlreadyExists):
            publisher.land("countersign/1-a", "main", work(town, line))
        assert publisher.land("countersign/1-a-2", "main", work(town, line)).how is How.MADE
    assert town.control.branches(REPO)["countersign/1-a"] == mine


def test_where_drafts_are_refused_the_branch_stays_and_a_plain_one_can_follow(town: Town) -> None:
    town.control.change_repo(REPO, drafts=False)
    with town.line(PUBLISH) as line:
        publisher = Publisher(line, town.ref, town.who.bot_user_id)
        publisher.land("countersign/1-a", "main", work(town, line))
        with pytest.raises(errors.DraftUnsupported):
            publisher.open_draft("countersign/1-a", "main", "Roll over", "Fixes #1")
        assert not publisher.open_undrafted("countersign/1-a", "main", "not reviewed", "Fixes #1").pull.draft


def test_an_empty_change_and_a_workflow_file_are_refused_with_their_reason(town: Town) -> None:
    with town.line(PUBLISH) as line:
        publisher = Publisher(line, town.ref, town.who.bot_user_id)
        parent = Reader(line, town.ref).head_of("main")
        same = Work.at_once(parent, ("Nothing",), (Put("README.md", b"hello\n"),))
        publisher.land("countersign/1-same", "main", same)
        sneaky = Work.at_once(parent, ("CI",), (Put(".github/workflows/x.yml", b"on: push\n"),))
        with pytest.raises(errors.Forbidden, match="workflows"):
            publisher.land("countersign/1-ci", "main", sneaky)
        with pytest.raises(errors.Invalid):
            publisher.tree(parent, (Delete("no/such.file"),))


def test_a_secondary_limit_is_told_at_once(town: Town) -> None:
    said = '{"message": "You have exceeded a secondary rate limit."}'
    town.control.fault("POST .*/comments", status=403, body=said)
    with town.line(SPEAK) as line:
        commenter = Commenter(line, town.ref, town.who.bot_user_id)
        with pytest.raises(errors.RateLimited) as caught:
            commenter.create_comment(1, "hello")
        assert caught.value.retry_after == 60 and not caught.value.maybe_done
        assert commenter.create_comment(1, "hello").body == "hello"


def test_an_aged_token_is_renewed_once(town: Town) -> None:
    town.control.set_tokens(seconds=5)
    value = town.token(SPEAK).value
    town.control.set_clock(6)
    with connect(town.twin.url, InstallationToken(value, lambda: town.token(SPEAK).value), FAST) as line:
        assert Commenter(line, town.ref, town.who.bot_user_id).create_comment(1, "hello").body == "hello"


@pytest.mark.parametrize("offset", [-45, 45, 480])
def test_a_clock_that_runs_differently_from_githubs_is_believed(town: Town, offset: int) -> None:
    town.control.set_clock(offset)
    assert town.app.installation(REPO).id == town.installation_id


@pytest.mark.parametrize(
    ("offset", "said"), [(-61, "too far in the future"), (-300, "too far in the future"), (541, "Expiration time")]
)
def test_a_clock_that_is_minutes_off_is_named_as_what_to_mend(town: Town, offset: int, said: str) -> None:
    """GitHub's clock is so many seconds ahead of ours; ours is fast where that is less than nothing."""
    town.control.set_clock(offset)
    with pytest.raises(errors.Unauthorized, match=said) as caught:
        town.app.installation(REPO)
    assert "this machine's clock" in caught.value.remedy


def test_the_delivery_log_is_read_and_asked_to_send_again(town: Town) -> None:
    town.control.set_hook("http://127.0.0.1:9/nowhere", "secret")
    town.control.comment(REPO, 1, "hello", "mira")
    town.control.settle()
    log = town.app.delivery_log().attempts
    assert log and log[0].event == "issue_comment" and log[0].status != "OK"
    town.app.redeliver(log[0].id)
    town.control.settle()
    again = town.app.delivery_log().attempts
    assert len(again) == len(log) + 1 and again[0].guid == log[0].guid and again[0].id != log[0].id


def a_proposal(town: Town, base: str, **changes: Any) -> Proposal:
    now = datetime.now(UTC)
    values: dict[str, Any] = {"version": 1, "digest": "d" * 64, "base_branch": "main", "base_commit": base}
    values |= {"issue_digest": "a" * 64, "drafted_at": now, "expires_at": now, "paths": ("README.md", "src/a.py")}
    return Proposal(**(values | changes))


def test_which_of_a_plans_paths_changed_since_its_commit(town: Town) -> None:
    with town.line(READ) as line:
        reader = Reader(line, town.ref)
        base = reader.head_of("main")
        plan = a_proposal(town, base)
        assert moved(reader, plan, base) == Moved()
        other = town.control.push_commit(REPO, "main", {"run.sh": "#!/bin/sh\n:\n"})
        assert moved(reader, plan, other) == Moved()
        assert moved(reader, a_proposal(town, base, paths=("run.sh",)), other) == Moved(("run.sh",))
        away = town.control.push_commit(REPO, "main", {"src/a.py": None, "src/b.py": "A = 1\n"})
        assert moved(reader, plan, away) == Moved(("src/a.py",))
        assert moved(reader, a_proposal(town, base, paths=None), away) == Moved()
        assert "no part of main" in moved(reader, plan.model_copy(update={"base_commit": away}), base).problem
        assert "no part of main" in moved(reader, plan.model_copy(update={"base_commit": "0" * 40}), away).problem
        assert moved(reader, plan, None).problem == "There is no branch main any more."
        many = town.control.push_commit(REPO, "main", {f"a/{number}": "x" for number in range(301)})
        assert "More than 300 files" in moved(reader, a_proposal(town, base, paths=("z",)), many).problem
