"""A mint between a real ledger and a twin of GitHub, and runs in it that people and belts have brought so far."""

import functools
import hashlib
import logging
import shutil
import socket
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.core import facts as f
from app.core.belts import REACH, Belt, EffectKind
from app.core.digest import digest, short, text_digest
from app.core.effects import Purpose, Slot, SourceKind
from app.core.issue import IssueSnapshot, Person
from app.core.news import Delivery, News, OnIssue, Seen
from app.core.plan import Plan
from app.core.policy import Approving, Policy
from app.core.run import Request as Wish
from app.ledger import migrate, open_ledger
from app.ledger.outcomes import Claim
from infra.twin.twin import AppWish, Twin
from tests.fakes.household import app_key
from tests.fakes.plans import plan as a_plan
from worker.github.app import AppIdentity
from worker.github.asking import ConnectionSettings, InstallationToken, Request
from worker.github.connection import connect
from worker.mint.caller import MintCaller
from worker.mint.mint import Mint, Site
from worker.mint.purse import Caller
from worker.mint.serve import MintServer
from worker.mint.wire import Cut, Denied, Token

REPO = "acme/greet"
TITLE, BODY = "It is misspelt", "helo"
BOT = "countersign[bot]"
CONNECTIONS = ConnectionSettings(connect_seconds=2, read_seconds=5, write_gap_seconds=0)


@functools.cache
def _empty_ledger(session: Path) -> Path:
    """A ledger of this version, made once for all tests of this process, in pytest's own folder for them."""
    path = session / "an empty ledger.db"
    migrate(f"sqlite:///{path}")
    return path


class Desk:
    """The mint's world. Facts are recorded as the belts would record them, and only here can they be forged."""

    def __init__(self, folder: Path) -> None:
        self.twin = Twin.start(folder / "twin", AppWish(public_key=app_key()[1]))
        self.control = self.twin.control
        self.folder = folder
        shutil.copyfile(_empty_ledger(folder.parent), folder / "ledger.db")
        self.ledger = open_ledger(f"sqlite:///{folder / 'ledger.db'}")
        self.ahead = timedelta()
        for login in ("mira", "otto", "outsider"):
            self.control.add_user(login)
        self.control.add_repo(REPO, {"greet.sh": "echo helo\n"}, collaborators={"mira": "maintain", "otto": "write"})
        self.control.install("acme")
        self.repo = REPO
        world = self.twin.forge.world
        self.repository_id = next(one.id for one in world.repos.values() if one.full_name == REPO)
        self.installation_id = next(iter(world.installations))
        self.people = {one.login: Person(id=one.id, login=one.login) for one in world.people.values()}
        self.identity = AppIdentity(self.twin.url, str(self.twin.app.id), app_key()[0], settings=CONNECTIONS)
        self.identity.__enter__()
        self.mint = Mint(self.ledger, self.identity, Site(self.twin.url, CONNECTIONS), self.now)
        self.servers: list[MintServer] = []
        self.plan: Plan = a_plan()
        self.plan_comment: dict[str, Any] = {}
        self._not_the_mints: set[str] = set()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def goes_to(self, repo: str) -> int:
        """What follows happens in this repository, which is made where it is not there yet; its id."""
        world = self.twin.forge.world
        if repo not in [one.full_name for one in world.repos.values()]:
            people = {"mira": "maintain", "otto": "write", "outsider": "read"}
            self.control.add_repo(repo, {"greet.sh": "echo helo\n"}, private=True, collaborators=people)
        self.repo = repo
        self.repository_id = next(one.id for one in world.repos.values() if one.full_name == repo)
        return self.repository_id

    def covers(self, *repos: str) -> None:
        """The installation is for these repositories from now on."""
        self.control.do("choose_repos", account="acme", repos=list(repos))

    def value_of(self, token_digest: str) -> str:
        return self.twin.forge.world.tokens[token_digest].value

    def living(self) -> list[dict[str, Any]]:
        """Tokens that would still open something at GitHub."""
        return [one for one in self.control.tokens() if not one["revoked"]]

    # -- a run, honestly ----------------------------------------------------------------------------------------

    def label(self, number: int = 0) -> str:
        """A run that the label's setter may have."""
        if not number:
            number = self.control.open_issue(self.repo, "outsider", TITLE, BODY)["number"]
        run = f"r-{uuid.uuid4().hex[:12]}"
        request = Wish(
            run=run,
            installation_id=self.installation_id,
            repository_id=self.repository_id,
            repository=self.repo,
            issue_number=number,
            issue_title=TITLE,
            issue_digest=IssueSnapshot(number=number, title=TITLE, body=BODY).digest(),
            label="countersign",
            author=self.people["outsider"],
            labeller=self.people["mira"],
        )
        now = self.now()
        news = News(
            OnIssue(self.repository_id, number),
            f.Labelled(at=now, request=request),
            Seen(self.repository_id, self.repo, self.installation_id),
        )
        self.ledger.receive(Delivery(str(uuid.uuid4()), "issues", "labeled", now, b"{}"), news)
        self.do_with(run, EffectKind.LOOK_UP_AUTHORITY, self.found(run, Purpose.LABEL, SourceKind.LABEL, 0))
        return run

    def propose(self, run: str, author: str = BOT, paths: tuple[str, ...] | None = None, **changes: Any) -> str:
        """A plan, with these changes, stands on the issue; its digest. `paths` are what the ledger says of it, where
        that is not true."""
        request = self.view(run).state.request
        self.plan = a_plan(
            run=run,
            repository_id=self.repository_id,
            issue_number=request.issue_number,
            issue_digest=request.issue_digest,
            base_commit=self.control.branches(self.repo)["main"],
            **changes,
        )
        found = digest(self.plan)
        self.ledger.put_plan(run, self.plan)
        drafted = f.PlanDrafted(
            at=self.now(),
            version=1,
            digest=found,
            base_branch="main",
            base_commit=self.plan.base_commit,
            issue_digest=request.issue_digest,
            expires_at=self.now() + timedelta(days=7),
            spent=self.view(run).state.spent,
            paths=tuple(sorted(self.plan.paths())) if paths is None else paths,
        )
        self.do_with(run, EffectKind.DRAFT_PLAN, drafted)
        words = f"### Plan, version 1 · `{short(found)}`\n\nSpell it right."
        if author == BOT:
            self.show(run, self.bot_says(request.issue_number, words))
        else:
            self.show(run, self.control.comment(self.repo, request.issue_number, words, author))
        return found

    def bot_says(self, number: int, words: str) -> dict[str, Any]:
        """A comment of the App's own, with a token that is not the mint's."""
        asked = {"metadata": "read", "issues": "write"}
        token = self.identity.mint(self.installation_id, self.repository_id, asked)
        with connect(self.twin.url, InstallationToken(token.value), CONNECTIONS) as line:
            place = f"/repos/{self.repo}/issues/{number}/comments"
            comment = line.write(Request("POST", place, {}, {"body": words}, (201,)))
        self.identity.revoke(token)
        self._not_the_mints.add(hashlib.sha256(token.value.encode()).hexdigest())
        return dict(comment)

    def tokens(self) -> list[dict[str, Any]]:
        """Every token that the mint ever had cut."""
        return [one for one in self.control.tokens() if one["token"] not in self._not_the_mints]

    def show(self, run: str, comment: dict[str, Any]) -> None:
        """It is recorded that this comment is the plan comment."""
        self.plan_comment = comment
        said = f.Said(
            at=self.now(),
            slot=Slot.PLAN,
            plan_version=1,
            comment_id=comment["id"],
            node_id=comment["node_id"],
            comment_digest=text_digest(comment["body"]),
        )
        self.ledger.record(run, said)

    def approve(self, run: str, words: str = "/approve") -> dict[str, Any]:
        """Mira approves in a comment, and that is recorded."""
        comment = self.control.comment(self.repo, self.view(run).state.request.issue_number, words, "mira")
        self.forge_approval(run, comment)
        return comment

    def forge_approval(self, run: str, comment: dict[str, Any], source: SourceKind = SourceKind.COMMENT) -> None:
        """The ledger says that mira approved with this comment, or reaction."""
        written = text_digest(comment["body"]) if source is SourceKind.COMMENT else ""
        self.ledger.record(run, self.found(run, Purpose.APPROVE, source, comment["id"], source_digest=written))
        assert self.view(run).state.name == "approved"

    def approve_together(self, run: str, *logins: str) -> None:
        """These people approve, one after another; the ledger says that it took them all."""
        number = self.view(run).state.request.issue_number
        policy = Policy(approve=Approving(count=len(logins)), workflows="second_approver")
        for login in logins:
            comment = self.control.comment(self.repo, number, "/approve", login)
            found = self.found(run, Purpose.APPROVE, SourceKind.COMMENT, comment["id"])
            written = {"source_digest": text_digest(comment["body"]), "policy": policy, "person": self.people[login]}
            self.ledger.record(run, found.model_copy(update=written))
        assert self.view(run).state.name == "approved"

    def build(self, run: str) -> None:
        """The steps are done."""
        state = self.view(run).state
        done = f.StepsDone(
            at=self.now(),
            plan_digest=digest(self.plan),
            patch_ref="1" * 64,
            report_ref="2" * 64,
            spent=state.spent,
        )
        self.do_with(run, EffectKind.EXECUTE, done)

    def approved(self) -> str:
        """A run that mira approved."""
        run = self.label()
        self.propose(run)
        self.approve(run)
        return run

    def built(self) -> str:
        """A run whose change waits to be published."""
        run = self.approved()
        self.build(run)
        return run

    def found(self, run: str, purpose: Purpose, source: SourceKind, source_id: int, **more: Any) -> f.AuthorityFound:
        state, at = self.view(run).state, self.now()
        return f.AuthorityFound(
            at=at,
            said_at=at,
            shown_at=at,
            purpose=purpose,
            person=self.people["mira"],
            permission="write",
            role_name="maintain",
            policy=Policy(),
            source=source,
            source_id=source_id,
            source_found=f.Found.AS_WRITTEN,
            issue_digest=state.request.issue_digest,
            plan_version=state.last_version or None,
            plan_comment=f.Found.AS_WRITTEN,
            **more,
        )

    def write_over(self, sql: str) -> None:
        """Somebody writes into the ledger's file past the product."""
        with closing(sqlite3.connect(self.folder / "ledger.db")) as connection:
            connection.execute(sql)
            connection.commit()

    # -- claims and questions -------------------------------------------------------------------------------------

    def view(self, run: str) -> Any:
        view = self.ledger.run(run)
        assert view is not None
        return view

    def claim(self, run: str, kind: EffectKind, seconds: float = 60) -> Claim:
        owed = [one for one in self.view(run).effects if one.effect.kind is kind and one.settled_at is None]
        assert owed, f"no {kind} is owed"
        belt = REACH[kind].belt
        claim = self.ledger.claim(owed[-1].id, belt, self.now(), timedelta(seconds=seconds))
        assert isinstance(claim, Claim), claim
        return claim

    def do_with(self, run: str, kind: EffectKind, *facts: f.Fact) -> None:
        self.ledger.settle(self.claim(run, kind), facts, "done", self.now())

    def ask(self, claim: Claim, belt: Belt | None = None, line: int = 1, **other: Any) -> Token | Denied:
        """What the mint answers to the holder of the claim, or to whoever says it was."""
        words: dict[str, Any] = {"run": claim.run, "effect_id": claim.effect_id, "fence": claim.fence}
        return self.mint.cut(self.caller(belt or REACH[claim.effect.kind].belt, line), Cut(**(words | other)))

    def cut(self, claim: Claim, line: int = 1) -> Token:
        answer = self.ask(claim, line=line)
        assert isinstance(answer, Token), answer
        return answer

    def caller(self, belt: Belt, line: int = 1) -> Caller:
        return Caller(belt, line)

    # -- lines ----------------------------------------------------------------------------------------------------

    def serve(self) -> MintServer:
        self.servers.append(MintServer(self.mint))
        return self.servers[-1]

    def line(self, belt: Belt) -> tuple[MintCaller, socket.socket]:
        """A belt's line as `up` hands it in, and the belt's end of it."""
        control, theirs = socket.socketpair()
        (self.servers[0] if self.servers else self.serve()).take_lines(theirs.detach())
        ours, mints = socket.socketpair()
        with mints:
            socket.send_fds(control, [belt.value.encode()], [mints.fileno()])
        return MintCaller(ours), ours

    def close(self) -> None:
        for server in self.servers:
            server.stop()
        self.control.clear_faults()
        self.mint.end_all()
        self.identity.__exit__(None, None, None)
        self.ledger.close()
        self.twin.stop()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    """Everything that was logged so far, tracebacks and all."""
    caplog.set_level(logging.DEBUG)
    return lambda: "\n".join(logging.Formatter().format(record) for record in caplog.records)
