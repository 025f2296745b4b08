"""Runs for tests: people, requests and facts that could have happened, drawn by hypothesis or made one by one.

`World` lets a whole run happen: people do what they like, belts answer what is owed, late and in any order. What
it draws is plausible; `any_fact` also draws what is not.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from app.core import facts as f
from app.core.advance import advance
from app.core.budget import Spent
from app.core.digest import text_digest
from app.core.effects import (
    DraftPlan,
    Effect,
    Execute,
    FindDraft,
    LookUpAuthority,
    OpenDraft,
    PlanSaying,
    Purpose,
    Say,
    Slot,
    SourceKind,
    StageDraft,
)
from app.core.issue import Person
from app.core.outcome import BranchCommit
from app.core.owed import still_owed
from app.core.owners import Owned
from app.core.policy import Policy
from app.core.run import (
    Approved,
    Built,
    Closed,
    KeptRepair,
    KeptStep,
    NeedsInput,
    Proposed,
    Published,
    PullRequest,
    Reporting,
    Request,
    State,
)
from app.core.split import Piece, Split
from app.core.verb import Verb
from app.core.verdict import Allowed, Refused

START = datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)
WIDE = 4_300_000_007
"""Above 32 bits, as today's comment ids are."""

MIRA = Person(id=WIDE + 1, login="mira")
"""A maintainer."""
OTTO = Person(id=12, login="otto")
"""Another maintainer."""
OUTSIDER = Person(id=13, login="outsider")
"""Somebody who may only read."""
ROBOT = Person(id=14, login="robot[bot]", is_bot=True)
PEOPLE = (MIRA, OTTO, OUTSIDER, ROBOT)

LEVELS = {MIRA.id: "write", OTTO.id: "admin", OUTSIDER.id: "read", ROBOT.id: "write"}


def sha(word: object) -> str:
    """A digest that stands for a word."""
    return hashlib.sha256(str(word).encode()).hexdigest()


TEXTS = (sha("the issue"), sha("the issue, edited"))


def a_request(run: str = "r-000001", number: int = 7, repository_id: int = WIDE + 2) -> Request:
    """A label that a maintainer set on an outsider's issue."""
    return Request(
        run=run,
        installation_id=WIDE + 3,
        repository_id=repository_id,
        repository="acme/widgets",
        issue_number=number,
        issue_title="It rounds the wrong way",
        issue_digest=TEXTS[0],
        label="countersign",
        author=OUTSIDER,
        labeller=MIRA,
    )


def labelled(request: Request | None = None, at: datetime = START) -> f.Labelled:
    """The fact that opens a run."""
    return f.Labelled(at=at, request=request or a_request())


def found(look: LookUpAuthority, at: datetime, **changes: Any) -> f.AuthorityFound:
    """The answer about a maintainer whose word stands as it was written."""
    answer: dict[str, Any] = {
        "at": at,
        "purpose": look.purpose,
        "person": look.person,
        "permission": LEVELS.get(look.person.id, "none"),
        "role_name": LEVELS.get(look.person.id, ""),
        "policy": Policy(),
        "source": look.source,
        "source_id": look.source_id,
        "source_found": f.Found.AS_WRITTEN,
        "source_digest": look.source_digest,
        "said_at": at,
        "shown_at": at,
        "argument": look.argument,
        "issue_digest": TEXTS[0],
        "plan_comment": f.Found.AS_WRITTEN,
    }
    return f.AuthorityFound(**(answer | changes))


def drafted(version: int, at: datetime, **changes: Any) -> f.PlanDrafted:
    """A plan of this version that stands for a week."""
    made: dict[str, Any] = {
        "at": at,
        "version": version,
        "digest": sha(f"plan {version}"),
        "base_branch": "main",
        "base_commit": "c" * 40,
        "issue_digest": TEXTS[0],
        "expires_at": at + timedelta(days=7),
        "spent": Spent(calls=3, input_tokens=1000, usd=Decimal("0.25"), model_seconds=1.5),
        "paths": ("src/sizes.py",),
    }
    return f.PlanDrafted(**(made | changes))


def kept_step(digest: str, execution: str, step: int, at: datetime) -> f.StepKept:
    """A step that was verified, for some money."""
    kept = KeptStep(id=step, files_ref=sha(f"files after {step}"), notes=(f"Step {step} was easy.",))
    cost = Spent(calls=2, usd=Decimal("0.10"))
    return f.StepKept(at=at, plan_digest=digest, execution=execution, kept=kept, spent=cost)


def kept_repair(digest: str, execution: str, number: int, at: datetime) -> f.RepairKept:
    """A repair that came to an end, for some money."""
    repair = KeptRepair(number=number, files_ref=sha(f"files after repair {number}"), told_ref=sha(f"told {number}"))
    cost = Spent(calls=3, usd=Decimal("0.20"))
    return f.RepairKept(at=at, plan_digest=digest, execution=execution, repair=repair, spent=cost)


def amendment(digest: str, execution: str, version: int, at: datetime) -> f.AmendmentProposed:
    """A further file is wanted; the offer stands for a week."""
    return f.AmendmentProposed(
        at=at,
        plan_digest=digest,
        execution=execution,
        version=version,
        digest=sha(f"plan {version}"),
        step=2,
        why="The word stands in another file too.",
        paths=("src/sizes.py", "src/units.py"),
        report_ref=sha("report so far"),
        expires_at=at + timedelta(days=7),
        spent=Spent(calls=1, usd=Decimal("0.05")),
    )


A_SPLIT = Split(
    reason="It is two things.",
    pieces=(Piece(title="The one", covers="The first half."), Piece(title="The other", covers="The rest.", after=(1,))),
)


def a_pull(number: int = 41) -> PullRequest:
    """A draft pull request."""
    return PullRequest(
        number=number, url=f"https://github.test/acme/widgets/pull/{number}", branch="fix", commit="d" * 40, draft=True
    )


# -- any fact at all, likely or not ------------------------------------------------------------------------

_people = st.sampled_from(PEOPLE)
_somebody = st.none() | _people
_times = st.integers(0, 20 * 86_400).map(lambda seconds: START + timedelta(seconds=seconds, microseconds=seconds))
_digests = st.sampled_from([*TEXTS, sha("plan 1"), sha("plan 2")])
_versions = st.integers(1, 4)
_ids = st.integers(WIDE, WIDE + 3)
_words = st.text(max_size=20)
_spent = st.builds(Spent, calls=st.integers(0, 5), usd=st.decimals(0, 3, places=2))
_requests = st.builds(
    lambda labeller, author: a_request().model_copy(update={"labeller": labeller, "author": author}),
    _somebody,
    _somebody,
)
_SHARED: dict[str, st.SearchStrategy[Any]] = {
    "at": _times,
    "person": _people,
    "comment_id": _ids,
    "source_id": _ids,
    "reaction_id": _ids,
    "version": _versions,
    "plan_version": st.none() | _versions,
    "digest": _digests,
    "plan_digest": _digests,
    "issue_digest": _digests,
    "patch_ref": st.sampled_from([sha("patch 1"), sha("patch 2")]),
    "report_ref": st.just(sha("report")),
    "findings_ref": st.sampled_from([sha("findings 1"), sha("findings 2")]),
    "template": st.none(),
    "spent": _spent,
    "split": st.just(A_SPLIT),
    "reason": _words,
    "remedy": _words,
    "expires_at": _times,
    "created_at": _times,
    "base_commit": st.just("c" * 40),
    "base_branch": st.just("main"),
    "paths": st.sampled_from([None, (), ("src/sizes.py",), ("poetry.lock",)]),
    "owners": st.just(()),
    "policy": st.none() | st.just(Policy()),
    "pull": st.integers(1, 3).map(a_pull),
    "request": _requests,
    "permission": st.sampled_from(["admin", "write", "read", "none"]),
    "key": st.sampled_from(["authority:label", "plan:1", "plan:2", "x"]),
    "staged_ref": st.just(sha("staged")),
    "branch": st.sampled_from(["", "countersign/a"]),
    "effect": st.sampled_from(["draft_plan", "execute", "open_draft", "look_up_authority", "say", "find_draft"]),
    "comment_digest": st.just(sha("comment")),
    "kept": st.integers(1, 3).map(lambda step: KeptStep(id=step, files_ref=sha(f"files after {step}"))),
    "repair": st.integers(1, 3).map(lambda at: KeptRepair(number=at, files_ref=sha("files"), told_ref=sha("told"))),
    "execution": st.sampled_from(["execute:a", "execute:b"]),
}
_WHERE_NOBODY = {f.LabelledAgain, f.LabelRemoved, f.IssueChanged, f.IssueEnded, f.PullRequestEnded}

KINDS: tuple[type[Any], ...] = tuple(f.Fact.__origin__.__args__)  # type: ignore[attr-defined]
"""Every kind of fact."""


def any_fact_of(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Any fact of this kind, likely or not."""
    given = {name: part for name, part in _SHARED.items() if name in kind.model_fields}
    if kind in _WHERE_NOBODY:
        given["person"] = _somebody
    if kind is f.AmendmentProposed:
        given["paths"] = st.just(("src/sizes.py", "src/units.py"))
    if kind is f.PullRequestRead:
        given["commits"] = st.just((BranchCommit(id="c" * 40, author=None, merge=False),))
    if kind is f.DraftFound:
        given["pull"] = st.none() | given["pull"]
    if kind is f.ExecutionFailed:
        given["report_ref"] = st.just("")
    return st.builds(kind, **given)


any_fact: st.SearchStrategy[Any] = st.one_of([any_fact_of(kind) for kind in KINDS])
"""Any fact at all."""


# -- a world in which a run happens ------------------------------------------------------------------------


@dataclass
class World:
    """One run, the people around it and the belts that work for it. `pick` decides everything that is open."""

    pick: Callable[[Sequence[Any]], Any]
    request: Request = field(default_factory=a_request)
    clock: datetime = START
    text: str = TEXTS[0]
    """Digest of the issue as it reads now."""
    policy: Policy = field(default_factory=Policy)
    owners: tuple[Owned, ...] = ()
    """Code owners of what each plan touches."""
    state: State | None = None
    facts: list[f.Fact] = field(default_factory=list)
    effects: dict[str, Effect] = field(default_factory=dict)
    owed: list[str] = field(default_factory=list)
    """Keys of what nobody works on yet."""
    held: list[str] = field(default_factory=list)
    """Keys of what somebody works on."""
    begun: set[str] = field(default_factory=set)
    """Keys of what somebody ever worked on."""
    ids: int = WIDE + 100
    witness: Callable[["World", State | None, tuple[Effect, ...]], None] = lambda *_: None
    """Looks at every step: the world after it, the state before it, and what it brought to be owed."""

    def fresh(self) -> int:
        """An id that nothing else has."""
        self.ids += 1
        return self.ids

    def tick(self) -> datetime:
        """Time goes on, mostly by seconds and sometimes by days."""
        self.clock += self.pick([timedelta(seconds=1), timedelta(minutes=3), timedelta(days=1)])
        return self.clock

    def step(self) -> f.Fact | None:
        """Something happens: a person acts, a belt takes up what is owed, or a belt finishes."""
        if self.state is None:
            fact: f.Fact | None = labelled(self.request, self.tick())
        elif self.held and self.pick(range(5)):
            fact = self.finish(self.pick(self.held))
        elif self.owed and self.pick(range(5)):
            self.take_up(self.pick(self.owed))
            return None
        else:
            fact = self.people(self.state)
        if fact is not None:
            self.tell(fact)
        return fact

    def tell(self, fact: f.Fact) -> None:
        """The fact reaches the run."""
        outcome = advance(self.state, fact)
        if isinstance(outcome, Refused):
            return
        before, self.state = self.state, outcome.state
        self.facts.append(fact)
        self.witness(self, before, outcome.effects)
        for effect in outcome.effects:
            if effect.key not in self.effects:
                self.effects[effect.key] = effect
                self.owed.append(effect.key)

    def take_up(self, key: str) -> None:
        """A belt claims what is owed, or learns that it is owed no longer."""
        assert self.state is not None
        self.owed.remove(key)
        effect = self.effects[key]
        if isinstance(still_owed(effect, self.state), Allowed):
            self.held.append(key)
            self.begun.add(key)
        elif isinstance(effect, OpenDraft) and key in self.begun:
            self.tell(f.DraftUnsettled(at=self.clock, plan_digest=effect.plan_digest, key=key))

    def finish(self, key: str) -> f.Fact | None:
        """A belt is done with what it held: well, badly, or not at all."""
        self.held.remove(key)
        effect = self.effects[key]
        at = self.tick()
        if self.pick(range(40)) == 39:
            return f.EffectAbandoned(at=at, effect=effect.kind, key=key, reason="GitHub did not answer.")
        if isinstance(effect, LookUpAuthority):
            return self._authority(effect, at)
        if isinstance(effect, DraftPlan):
            return self._planned(effect, at)
        if isinstance(effect, Execute):
            return self._executed(effect, at)
        if isinstance(effect, OpenDraft | StageDraft):
            return self._published(effect, at)
        if isinstance(effect, FindDraft):
            return self._looked_for(effect, at)
        if isinstance(effect, Say):
            saying = effect.saying
            version = saying.version if isinstance(saying, PlanSaying) else None
            return f.Said(
                at=at,
                slot=Slot(saying.slot),
                plan_version=version,
                comment_id=self.fresh(),
                node_id=f"IC_{key}",
                comment_digest=sha(key),
            )
        return None

    def people(self, state: State) -> f.Fact | None:
        """Somebody does something on GitHub, or time is over."""
        at, who = self.tick(), self.pick([MIRA, OTTO, *PEOPLE])
        acts: dict[str, Callable[[], f.Fact | None]] = {
            "command": lambda: self._command(at, who),
            "thumb": lambda: self._thumb(state, at, who),
            "box": lambda: self._box(state, at, who),
            "edit": lambda: self._edit(at, who),
            "label": lambda: f.LabelledAgain(at=at, person=who),
            "unlabel": lambda: f.LabelRemoved(at=at, person=who),
            "unclear": lambda: f.CommandUnclear(
                at=at, written="/aprove", meant="/approve", comment_id=self.fresh(), person=who
            ),
            "answer": lambda: f.Answered(at=at, comment_id=self.fresh(), person=OUTSIDER),
            "end": lambda: f.IssueEnded(at=at, how=self.pick([*f.IssueEnd]), person=who),
            "gone": lambda: f.RepositoryEnded(at=at, how="The repository was deleted."),
            "merge": lambda: f.PullRequestEnded(at=at, merged=self.pick([False, True]), person=who),
            "time": lambda: self._expiry(state, at),
        }
        often = (
            ["command"] * 12
            + ["thumb"] * 6
            + ["box"] * 2
            + ["edit"] * 4
            + ["answer"] * 3
            + ["label"] * 2
            + ["merge"] * 2
            + ["unclear"]
        )
        ends = ["time", "unlabel", "end", "gone"]
        # Most of what can happen to a run happens before it ends.
        return acts[self.pick(ends if self.pick(range(30)) == 29 else often)]()

    def _command(self, at: datetime, who: Person) -> f.Fact:
        verb = self.pick([Verb.APPROVE] * 9 + [Verb.REVISE] * 5 + [*Verb])
        if isinstance(self.state, Closed):
            verb = self.pick([Verb.RETRY, Verb.REFRESH, verb])
        argument = self.pick(["", "", "", "steps 1"]) if verb is Verb.APPROVE else ""
        return f.CommandGiven(
            at=at,
            verb=verb,
            argument=argument,
            comment_id=self.fresh(),
            comment_digest=text_digest(f"/{verb} {argument}"),
            person=who,
        )

    def _thumb(self, state: State, at: datetime, who: Person) -> f.Fact | None:
        if not isinstance(state, Proposed) or state.proposal.comment_id is None:
            return None
        return f.ThumbSeen(
            at=at, reaction_id=self.fresh(), comment_id=state.proposal.comment_id, person=who, created_at=at
        )

    def _box(self, state: State, at: datetime, who: Person) -> f.Fact | None:
        if not isinstance(state, Proposed | Approved) or state.proposal.comment_id is None:
            return None
        proposal = state.proposal
        return f.PlanCommentChanged(
            at=at,
            comment_id=proposal.comment_id or 0,
            node_id=proposal.comment_node_id,
            person=who,
            whole=self.pick([proposal.comment_digest] * 5 + ["", sha("something else")]),
            unticked=self.pick([(), (2,), (1, 2)]),
        )

    def _edit(self, at: datetime, who: Person) -> f.Fact:
        self.text = self.pick([TEXTS[0], TEXTS[0], TEXTS[1]])
        return f.IssueChanged(at=at, issue_digest=self.text, person=who)

    def _expiry(self, state: State, at: datetime) -> f.Fact | None:
        if isinstance(state, Proposed):
            over = state.proposal.expires_at
        elif isinstance(state, Approved | Built):
            over = state.approval.expires_at
        elif isinstance(state, NeedsInput):
            over = at + timedelta(days=14)
        else:
            return None
        self.clock = max(at, over)
        return f.Expired(at=self.clock)

    def _authority(self, look: LookUpAuthority, at: datetime) -> f.Fact:
        state = self.state
        often_so = [f.Found.AS_WRITTEN] * 12
        offered = Proposed | Approved | Built | Reporting | Published
        version = state.proposal.version if isinstance(state, offered) else None
        return found(
            look,
            at,
            source_found=self.pick([*often_so, f.Found.EDITED, f.Found.DELETED]),
            plan_comment=self.pick([*often_so, f.Found.EDITED]),
            issue_digest=self.text if look.source is not SourceKind.LABEL else self.request.issue_digest,
            policy=self.pick([self.policy] * 24 + [None]),
            owners=self.owners,
            plan_version=version if look.purpose in (Purpose.APPROVE, Purpose.DROP) else None,
            argument=self.pick(["", "steps 2"]) if look.source is SourceKind.BOXES else look.argument,
        )

    def _planned(self, effect: DraftPlan, at: datetime) -> f.Fact:
        how = self.pick(["plan"] * 6 + ["no", "ask", "stale", "split"])
        if how == "split":
            return f.SplitProposed(at=at, version=effect.version, split=A_SPLIT, spent=Spent())
        if how == "ask":
            return f.InputNeeded(at=at, version=effect.version, question="Which unit?", spent=Spent())
        if how == "plan" and effect.narrow is not None:
            digest = sha(f"plan {effect.version} of {effect.narrow.version}")
            return drafted(effect.version, at, digest=digest, narrowed=effect.narrow.version, issue_digest=self.text)
        if how == "plan":
            return drafted(effect.version, at, issue_digest=self.text)
        reason = "The place could not be found."
        return f.PlanNotPossible(at=at, version=effect.version, reason=reason, stale=how == "stale")

    def _executed(self, effect: Execute, at: datetime) -> f.Fact:
        digest = effect.plan_digest
        how = self.pick(["done"] * 5 + ["kept"] * 2 + ["amended", "answered", "failed", "held", "voided"])
        if how == "kept":
            self.held.append(effect.key)
            if self.pick([False, False, True]):
                return kept_repair(digest, effect.key, self.pick([1, 2]), at)
            return kept_step(digest, effect.key, self.pick([1, 2, 3]), at)
        if how == "amended" and self.state is not None:
            return amendment(digest, effect.key, self.state.last_version + 1, at)
        if how == "answered":
            findings = sha(f"findings of {digest}")
            return f.QuestionsAnswered(at=at, plan_digest=digest, findings_ref=findings, spent=Spent())
        if how == "done":
            patch = sha(f"patch of {digest}")
            return f.StepsDone(at=at, plan_digest=digest, patch_ref=patch, report_ref=sha("report"), spent=Spent())
        if how == "failed":
            return f.ExecutionFailed(at=at, plan_digest=digest, reason="A step could not be done.")
        if how == "held":
            self.owed.append(effect.key)
            where = self.pick(["There is no box here.", "The box is full."])
            return f.ExecutionHeld(at=at, plan_digest=digest, reason=where)
        return f.ApprovalVoided(at=at, plan_digest=digest, reason="The approving comment is gone.")

    def _looked_for(self, effect: FindDraft, at: datetime) -> f.Fact | None:
        if isinstance(self.state, Built) and self.state.proposal.digest == effect.plan_digest:
            self.owed.append(effect.key)
            return None
        pull = self.pick([None, a_pull(self.fresh())])
        left = f.DraftFound(at=at, plan_digest=effect.plan_digest, branch="fix", pull=pull)
        return self.pick([None, left])

    def _published(self, effect: OpenDraft | StageDraft, at: datetime) -> f.Fact | None:
        digest = effect.plan_digest
        how = self.pick(["done"] * 3 + ["failed", "voided", "voided", "died"])
        if how == "died":
            self.owed.append(effect.key)
            return None
        if how == "done" and isinstance(effect, StageDraft):
            return f.DraftStaged(at=at, plan_digest=digest, staged_ref=sha("staged"))
        if how == "done":
            return f.DraftOpened(at=at, plan_digest=digest, pull=a_pull(self.fresh()))
        if how == "failed":
            return f.PublishFailed(at=at, plan_digest=digest, reason="The branch is protected.")
        return f.ApprovalVoided(at=at, plan_digest=digest, reason="The approver lost the permission.")


def lived(pick: Callable[[Sequence[Any]], Any], steps: int, **more: Any) -> World:
    """A world after so many steps."""
    world = dataclasses.replace(World(pick), **more)
    for _ in range(steps):
        world.step()
    return world
