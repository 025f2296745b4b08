"""A story: people who label, speak and read, in a house. What we say must be read, or the story does not end."""

import base64
import hashlib
import hmac
import json
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import httpx

from app.core.advance import replay
from app.core.run import Approved, State
from infra.twin.control import tree_of
from tests.fakes.household import REPO, SECRET, House

Deed = Callable[[], object]


class Person:
    """Somebody with a login, who acts; afterwards everything that follows has been done."""

    def __init__(self, story: "Story", login: str) -> None:
        self._story = story
        self.login = login

    def labels(self, label: str = "countersign", number: int = 1) -> None:
        """Sets a label."""
        self._story.control.label(REPO, number, label, self.login)
        self._story.crank()

    def unlabels(self, label: str = "countersign", number: int = 1) -> None:
        """Takes a label off."""
        self._story.control.unlabel(REPO, number, label, self.login)
        self._story.crank()

    def writes(self, words: str, number: int = 1) -> int:
        """Comments, while nobody works yet; the comment's id."""
        return int(self._story.control.comment(REPO, number, words, self.login)["id"])

    def says(self, words: str, number: int = 1) -> int:
        """Comments; the comment's id."""
        comment = self.writes(words, number)
        self._story.crank()
        return comment

    def edits_the_issue(self, number: int = 1, **what: str) -> None:
        """Changes `title` or `body`."""
        self._story.control.edit_issue(REPO, number, self.login, **what)
        self._story.crank()

    def edits(self, comment: int, words: str) -> None:
        """Changes a comment."""
        self._story.control.edit_comment(comment, words, self.login)
        self._story.crank()

    def deletes(self, comment: int) -> None:
        """Deletes a comment."""
        self._story.control.delete_comment(comment, self.login)
        self._story.crank()

    def hides(self, comment: int) -> None:
        """Hides a comment."""
        self._story.control.minimize(comment, self.login)
        self._story.crank()

    def thumbs_up(self, comment: int) -> None:
        """Puts a 👍 on a comment; nobody has looked at it yet."""
        self._story.control.react(comment, "+1", self.login)

    def takes_the_thumb_back(self, comment: int) -> None:
        """The 👍 is gone, without a trace."""
        self._story.control.unreact(comment, "+1", self.login)

    def opens_an_issue(self, title: str, body: str, **more: Any) -> int:
        """Opens another issue; its number."""
        issue = self._story.control.open_issue(REPO, self.login, title, body, **more)
        self._story.crank()
        return int(issue["number"])

    def closes_the_issue(self, number: int = 1) -> None:
        """Closes it."""
        self._story.control.close_issue(REPO, number, self.login)
        self._story.crank()


class Story(House):
    """A house with people: `mira` maintains, `max` writes, `theo` triages, `rita` only reads, `olga` reported."""

    def people(
        self, files: Mapping[str, str | bytes], issue: str, links: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        """They are there, with a repository (of files, and links by their targets) and an issue."""
        roles = {"mira": "maintain", "max": "write", "theo": "triage", "rita": "read", "olga": "read"}
        for login in roles:
            self.control.add_user(login)
        linked = [
            {"path": path, "mode": "120000", "content": base64.b64encode(target.encode()).decode()}
            for path, target in (links or {}).items()
        ]
        self.control.add_repo(REPO, [*tree_of(files), *linked], collaborators=roles, **more)
        self.control.install("acme")
        title, _, body = issue.partition("\n")
        self.control.open_issue(REPO, "olga", title, body)
        self.mira, self.max, self.theo = Person(self, "mira"), Person(self, "max"), Person(self, "theo")
        self.rita, self.olga = Person(self, "rita"), Person(self, "olga")
        self.ended = False
        self._read: set[tuple[int, str]] = set()

    # -- reading ----------------------------------------------------------------------------------------------

    def unread(self) -> list[dict[str, Any]]:
        """Our comments that nobody in the story has read, oldest first. A status counts anew after each change."""
        return [one for one in self._ours() if (one["id"], _read_as(one)) not in self._read]

    def next_comment(self, *words: str) -> dict[str, Any]:
        """Reads our oldest unread comment that is no status; all the words must be in it."""
        found = [one for one in self.unread() if not _is_status(one)]
        assert found, f"nothing more was said; what was: {self.said()}"
        self._read.add((found[0]["id"], _read_as(found[0])))
        missing = [word for word in words if word not in found[0]["body"]]
        assert not missing, f"{missing} is not in: {found[0]['body']}"
        return found[0]

    def read_status(self, *words: str, number: int = 1) -> str:
        """Reads the newest status comment of an issue; all the words must be in it."""
        found = [one for one in self._ours() if _is_status(one) and one["issue"] == number]
        assert found, f"no status was said; what was: {self.said()}"
        self._read |= {(one["id"], _read_as(one)) for one in found}
        body = str(found[-1]["body"])
        missing = [word for word in words if word not in body]
        assert not missing, f"{missing} is not in: {body}"
        return body

    def said(self) -> list[str]:
        """Everything that we said, oldest first."""
        return [one["body"] for one in self._ours()]

    def plan_is_read(self, version: int = 1) -> dict[str, Any]:
        """The plan comment was read; it says how to approve exactly this plan."""
        plan = self.next_comment(f"### Plan, version {version}", "/approve")
        self.read_status(f"Plan version {version}")
        return plan

    def hidden(self, comment: int) -> bool:
        """Whether a comment is hidden as outdated on the page."""
        world = self.twin.forge.world
        found = [one for repo in world.repos.values() for issue in repo.issues for one in issue.comments]
        return next(one.minimized for one in found if one.id == comment) is not None

    def draft(self) -> dict[str, Any]:
        """The one pull request that we opened."""
        ours = [one for one in self.control.pulls(REPO) if one["user"]["login"] == f"{self.twin.app.slug}[bot]"]
        assert len(ours) == 1, (len(ours), self.said())
        return ours[0]

    def shown_to(self, role: str) -> list[str]:
        """What a model in this role was shown, one text for each request."""
        return [json.dumps(one["body"], ensure_ascii=False) for one in self.model.requests if one["role"] == role]

    def writes_to_github(self) -> list[dict[str, Any]]:
        """The journal's entries that changed contents or pull requests, and were answered with success."""
        wrote = ("POST", "PATCH", "PUT", "DELETE")
        places = ("/git/", "/pulls", "/contents/", "/merges")
        return [
            one
            for one in self.control.journal()
            if one["method"] in wrote and any(place in one["path"] for place in places) and one["status"] < 300
        ]

    def _ours(self) -> list[dict[str, Any]]:
        bot, ours = f"{self.twin.app.slug}[bot]", []
        for issue in self.control.issues(REPO):
            for one in self.control.comments(REPO, issue["number"]):
                if one["user"] is not None and one["user"]["login"] == bot:
                    body = one["body"].partition("<!-- countersign")[0].strip()
                    ours.append(one | {"body": body, "issue": issue["number"]})
        return ours

    # -- deliveries by hand -----------------------------------------------------------------------------------

    def last_delivery(self, event: str, action: str) -> dict[str, Any]:
        """The payload of the newest delivery of this kind, sent or not."""
        found = [one for one in self.control.deliveries() if (one["event"], one["action"]) == (event, action)]
        payload: dict[str, Any] = found[-1]["request"]["payload"]
        return payload

    def deliver(self, event: str, body: bytes, signed: bytes | None = None) -> int:
        """Sends these bytes with a right signature (of `signed`, when given); the status of the answer."""
        mac = hmac.new(SECRET.encode(), body if signed is None else signed, hashlib.sha256).hexdigest()
        headers = {
            "content-type": "application/json",
            "x-github-event": event,
            "x-github-delivery": str(uuid.uuid4()),
            "x-hub-signature-256": f"sha256={mac}",
        }
        with httpx.Client(trust_env=False) as client:
            return client.post(f"{self.web_url}/webhooks/github", content=body, headers=headers).status_code

    # -- ending -----------------------------------------------------------------------------------------------

    def ends(self, state: type, *words: str, number: int = 1, lost_tokens: int = 0) -> None:
        """The story is told: the run stands there and its status says the words; everything we said was read; nothing
        is owed; no token lives, and none that could write contents lived before a person approved.

        `lost_tokens` were cut by GitHub and their answers lost: nobody holds them, and nobody ever used one.
        """
        self.crank()
        assert isinstance(self.state(number), state), (self.state(number), self.said())
        if words or any(_is_status(one) and one["issue"] == number for one in self._ours()):
            self.read_status(*words, number=number)
        assert [one["body"] for one in self.unread()] == [], "this was said and not read"
        assert self.ledger.debts() == ()
        self._assert_no_token_lives(lost_tokens)
        self._assert_nothing_was_written_unapproved()
        self.ended = True

    def _assert_no_token_lives(self, lost: int) -> None:
        self.watch.close()
        self.mint.tidy()
        used = {one["token"] for one in self.control.journal()}
        now = (self.now() - self.fast).timestamp()
        living = [one for one in self.control.tokens() if not one["revoked"] and one["expires"] > now]
        assert [one for one in living if one["token"] in used] == []
        assert len(living) == lost, living
        # Nobody holds a lost one, and yet the ledger names it.
        assert len(self.ledger.unfinished_mints(self.now())) >= lost
        assert self.ledger.live_mints(self.now()) == ()

    def _assert_nothing_was_written_unapproved(self) -> None:
        """By the twin's own books: tokens that may write contents, and writes with them."""
        approved = min((at for run in self.ledger.runs() if (at := self._approved_at(run.id))), default=None)
        writing = [one for one in self.control.tokens() if one["permissions"].get("contents") == "write"]
        digests = {one["token"] for one in writing}
        assert [one for one in self.writes_to_github() if one["token"] not in digests] == []
        if approved is None:
            assert writing == []
        else:
            # The twin's books hold whole seconds.
            assert [one for one in writing if one["minted"] < int((approved - self.fast).timestamp())] == []

    def _approved_at(self, run: str) -> datetime | None:
        view = self.ledger.run(run)
        assert view is not None
        facts = [one.fact for one in view.facts]
        at = (fact.at for number, fact in enumerate(facts, 1) if isinstance(replay(facts[:number]), Approved))
        return next(at, None)


def _is_status(comment: Mapping[str, Any]) -> bool:
    return str(comment["body"]).startswith("**Countersign** ·")


def _read_as(comment: Mapping[str, Any]) -> str:
    return str(comment["body"]) if _is_status(comment) else ""


__all__ = ["REPO", "Person", "State", "Story"]
