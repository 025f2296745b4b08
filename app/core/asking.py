"""The moves that people cause: the label, commands, thumbs, answers, and what their authority leads to."""

from collections.abc import Callable

from app.core import dropping, gate, resuming
from app.core import facts as f
from app.core.command import steps_of
from app.core.digest import text_digest
from app.core.effects import Execute, LookUpAuthority, Purpose, React, ReplyTopic, SourceKind
from app.core.move import Move, Stay, closed, draft, execute_key, is_well_before, kept, refusal, reply, status
from app.core.run import (
    Approved,
    Built,
    Closed,
    ClosedReason,
    NeedsInput,
    Proposed,
    Published,
    Reporting,
    State,
    Wanted,
)
from app.core.verb import Verb
from app.core.verdict import Refused

NEW_RUN = "Setting the label again starts a new run."


def opened(fact: f.Labelled) -> Move:
    """A run begins. Without a known sender there is nobody whose authority could be asked for."""
    wanted = Wanted(request=fact.request)
    person = fact.request.labeller
    if person is None:
        nobody = Refused(
            "GitHub did not say who set the label, so nobody's authority could be checked.",
            "Take the label off and set it again.",
        )
        return closed(wanted, ClosedReason.NOT_ALLOWED, nobody)
    look = LookUpAuthority(
        key="authority:label", purpose=Purpose.LABEL, person=person, source=SourceKind.LABEL, source_id=0
    )
    return Move(wanted, (look,))


def labelled_again(state: State, fact: f.LabelledAgain) -> Move:
    """One plan at a time: the label is answered, once per stage."""
    where = {
        "wanted": "A plan is already being made for this issue.",
        "needs_input": "A question to the issue's author is still open.",
        "proposed": "A plan is already waiting for approval on this issue.",
        "approved": "An approved plan is already being carried out.",
        "built": "An approved plan is already being carried out.",
        "reporting": "The report of an approved plan is being posted.",
        "published": "A draft pull request for this issue is already open.",
    }[state.name]
    note = Refused(where, "`/cancel` ends this run; after that the label starts a new one.")
    key = f"again:{state.name}:v{state.last_version}"
    if fact.happened_at is not None:
        # That the label was taken off before this says nothing any more.
        request = state.request.model_copy(update={"labelled_at": fact.happened_at})
        state = state.model_copy(update={"request": request})
    return Move(state, (reply(key, ReplyTopic.NOTE, fact.person, note),))


def label_removed(state: State, fact: f.LabelRemoved) -> Move | Stay:
    """Who takes the label off wants no run; that there is no such label any more says nothing of an approved plan."""
    who = fact.person.login if fact.person else "somebody"
    if fact.label and not _is_its_label(state, fact):
        return Stay("It is not the label of this run.")
    if fact.deleted and isinstance(state, Approved | Built | Reporting):
        return Stay("The plan is approved; that its label is no more changes nothing.")
    if fact.deleted:
        words = Refused("The label was deleted from the repository, or archived.", "Another one starts a new run.")
        return closed(state, ClosedReason.CANCELLED, words)
    words = Refused(f"The label was taken off by {who}.", "Setting it again starts a new run.")
    return closed(state, ClosedReason.CANCELLED, words)


def _is_its_label(state: State, fact: f.LabelRemoved) -> bool:
    """By its id, which outlives a name; by its name where an id is not known."""
    if fact.label_id is not None and state.request.label_id is not None:
        return fact.label_id == state.request.label_id
    return fact.label.strip().casefold() == state.request.label.strip().casefold()


def authority_found(state: State, found: f.AuthorityFound) -> Move | Stay:
    """What a person's authority leads to, by what it was asked for."""
    if isinstance(state, Closed) and found.purpose not in (Purpose.REFRESH, Purpose.RETRY):
        return Stay("The run has ended.")
    if found.purpose is Purpose.LABEL:
        return _label_decided(state, found) if isinstance(state, Wanted) else Stay("The label was decided already.")
    return _DECIDED[found.purpose](state, found)


def _label_decided(state: Wanted, found: f.AuthorityFound) -> Move | Stay:
    if state.allowed:
        return Stay("The label was decided already.")
    if found.source_found is not f.Found.AS_WRITTEN:
        # That it was taken off may have been told before that it was set (github-facts 23).
        gone = Refused("The label is not on the issue any more.", NEW_RUN)
        return closed(state, ClosedReason.CANCELLED, gone, policy=found.policy)
    verdict = gate.may_label(found)
    if isinstance(verdict, Refused):
        return closed(state, ClosedReason.NOT_ALLOWED, verdict, policy=found.policy)
    word = _word(state, found)
    request = state.request if word is None else state.request.model_copy(update={"label_word": word})
    after = state.model_copy(update={"allowed": True, "policy": found.policy, "request": request})
    return Move(after, (status("planning"), draft(state.last_version + 1)))


def _word(state: Wanted, found: f.AuthorityFound) -> str | None:
    """Of several trigger labels on the issue, the word that the policy names first; None where it names none."""
    words = {state.request.label_word, *found.label_words}
    return next((word for word in found.policy.templates if word in words), None) if found.policy else None


def _approval_decided(state: State, found: f.AuthorityFound) -> Move | Stay:
    if isinstance(state, Approved | Built | Reporting | Published):
        by = state.approval.person.login
        words = Refused(f"Version {state.approval.plan_version} of the plan was already approved by {by}.")
        return Move(
            state,
            (reply(f"already:{found.person.id}:{state.approval.source_id}", ReplyTopic.NOTE, found.person, words),),
        )
    if not isinstance(state, Proposed):
        no_plan = Refused("There is no plan to approve yet.", "The plan will be posted here as a comment.")
        return Move(state, (refusal(state, "approve", found.person, no_plan),))
    if steps_of(found.argument) and not gate.is_the_narrowing(state.proposal, found):
        return dropping.kept_steps_decided(state, found)
    verdict = gate.may_approve(state.request, state.proposal, found, found.at)
    if isinstance(verdict, Refused):
        # Anybody can react: a passer-by's thumb is no question that needs an answer (github-facts 45).
        quiet = found.source is SourceKind.REACTION and gate.lacks_level(state.proposal, found)
        return Move(state, () if quiet else (refusal(state, "approve", found.person, verdict),))
    return _one_more_approval(state, found)


def _one_more_approval(state: Proposed, found: f.AuthorityFound) -> Move:
    """The approval counts; with those before it it is enough, or it is said what is missing. Each person counts once,
    with what they said last."""
    approval = gate.approval_from(state.proposal, found)
    others = tuple(one for one in state.given if one.person.id != approval.person.id and one.expires_at > found.at)
    given = (*others, approval)
    missing = gate.missing(state.proposal, found, given)
    if missing:
        key = f"given:v{state.proposal.version}:{'-'.join(str(one.source_id) for one in given)}"
        words = Refused("Your approval counts, and it takes more than that.", " ".join(missing))
        after = state.model_copy(update={"given": given, "policy": found.policy})
        return Move(after, (reply(key, ReplyTopic.NOTE, found.person, words), status(key)))
    until = min(one.expires_at for one in given)
    deciding = approval.model_copy(update={"expires_at": until})
    # A revision in the making is dropped, and its version number with it: the next wish must be a new effect.
    changes = {"policy": found.policy, "last_version": state.last_version + (1 if state.drafting else 0)}
    approved = Approved(
        **(kept(state) | changes),
        proposal=state.proposal,
        approval=deciding,
        also=others,
        work=state.proposal.work(),
    )
    key = execute_key(deciding)
    return Move(approved, (status(f"approved:{key}"), Execute(key=key, plan_digest=state.proposal.digest)))


def _revision_decided(state: State, found: f.AuthorityFound) -> Move:
    verdict = gate.may_steer(found)
    if isinstance(verdict, Refused):
        return Move(state, (refusal(state, "revise", found.person, verdict),))
    if isinstance(state, NeedsInput) or (isinstance(state, Proposed) and not state.drafting):
        return resuming.revised(state, found)
    words = Refused(
        "A plan can be revised only while it waits for approval.",
        "`/cancel` ends this run; after that the label starts a new one.",
    )
    return Move(state, (refusal(state, "revise", found.person, words),))


def _end_decided(state: State, found: f.AuthorityFound) -> Move | Stay:
    verdict = gate.may_end(state.request, found)
    if isinstance(verdict, Refused):
        return Move(state, (refusal(state, "end", found.person, verdict),))
    if isinstance(state, Published):
        words = Refused("The draft pull request is open.", "Close it on its own page.")
        return Move(state, (refusal(state, "end", found.person, words),))
    by = found.person.login
    if found.purpose is Purpose.REJECT:
        why = " ".join(found.argument.split())
        words = Refused(f"The plan was rejected by {by}{f': {why}' if why else '.'}", NEW_RUN)
        return closed(state, ClosedReason.REJECTED, words)
    words = Refused(f"The run was cancelled by {by}.", NEW_RUN)
    return closed(state, ClosedReason.CANCELLED, words)


def _answer_decided(state: State, found: f.AuthorityFound) -> Move | Stay:
    verdict = gate.may_steer(found)
    if isinstance(verdict, Refused):
        return Move(state, (refusal(state, "answer", found.person, verdict),))
    if not isinstance(state, NeedsInput):
        return Stay("No question is open any more.")
    return _answer_taken(state, found.source_id)


def command_given(state: State, fact: f.CommandGiven) -> Move | Stay:
    """A command leads to a question about its giver's authority, or to an answer that needs none."""
    if fact.verb in (Verb.HELP, Verb.STATUS, Verb.WHY):
        topic = ReplyTopic.HELP if fact.verb is Verb.HELP else ReplyTopic.WHY
        key = f"{fact.verb}:{fact.person.id}:{state.name}:v{state.last_version}"
        return Move(state, (reply(key, topic, fact.person, Refused("")),))
    if isinstance(state, Closed) and not resuming.is_resumed_by(state, fact.verb):
        return resuming.ended(state, fact)
    seen = React(key=f"seen:{fact.comment_id}", comment_id=fact.comment_id, content="eyes")
    if (said := _needs_no_authority(state, fact)) is not None:
        return Move(said.state, (*said.effects, seen))
    look = LookUpAuthority(
        key=f"authority:comment:{fact.comment_id}",
        purpose=Purpose(fact.verb.value),
        person=fact.person,
        source=SourceKind.COMMENT,
        source_id=fact.comment_id,
        source_digest=fact.comment_digest,
        argument=fact.argument[:4_000],
        plan_version=_posted_version(state),
    )
    return Move(state, (look, seen))


def _needs_no_authority(state: State, fact: f.CommandGiven) -> Move | None:
    """An answer of the person who was asked, and what is asked for where there is nothing of it."""
    if fact.verb is Verb.ANSWER and isinstance(state, NeedsInput):
        asked = state.request.author is not None and fact.person.id == state.request.author.id
        return _answer_taken(state, fact.comment_id) if asked else None
    if fact.verb is Verb.ANSWER:
        none = Refused("The planner asks nothing now.", "`/revise` and your words ask for another version of a plan.")
        return Move(state, (refusal(state, "answer", fact.person, none),))
    if fact.verb is Verb.RETRY and not isinstance(state, Closed):
        none = Refused("Nothing has failed here.", "`/status` says where the run stands.")
        return Move(state, (refusal(state, "retry", fact.person, none),))
    return None


def command_unclear(state: State, fact: f.CommandUnclear) -> Move:
    """One hint for each person, command and plan, however many comments that are almost one."""
    words = Refused(f"`{fact.written}` is not a command I follow.", f"Did you mean `{fact.meant}`?")
    verb, *_ = fact.meant.partition(" ")
    key = f"unclear:{fact.person.id}:{text_digest(verb)[:12]}:v{state.last_version}"
    return Move(state, (reply(key, ReplyTopic.UNCLEAR, fact.person, words),))


def thumb_seen(state: Proposed, fact: f.ThumbSeen) -> Move | Stay:
    """A thumb on the newest plan comment asks for its giver's authority."""
    if fact.comment_id != state.proposal.comment_id:
        return Stay("The thumb is not on the newest plan comment.")
    look = LookUpAuthority(
        key=f"authority:reaction:{fact.reaction_id}:v{state.proposal.version}",
        purpose=Purpose.APPROVE,
        person=fact.person,
        source=SourceKind.REACTION,
        source_id=fact.reaction_id,
        plan_version=state.proposal.version,
    )
    return Move(state, (look,))


def _posted_version(state: State) -> int | None:
    """Which plan a person can have read by now."""
    posted = isinstance(state, Proposed) and state.proposal.comment_id is not None
    return state.proposal.version if posted and isinstance(state, Proposed) else None


def answered(state: NeedsInput, fact: f.Answered) -> Move | Stay:
    """Only the issue's author was asked."""
    if state.request.author is None or fact.person.id != state.request.author.id:
        return Stay("The question was to the issue's author.")
    if is_well_before(fact.happened_at, state.asked_at):
        return Stay("The comment is older than the question.")
    return _answer_taken(state, fact.comment_id)


def _answer_taken(state: NeedsInput, comment_id: int) -> Move:
    """The planner goes on; it finds the answer among the comments."""
    wanted = Wanted(**kept(state), allowed=True)
    return Move(wanted, (status(f"answered:{comment_id}"), draft(state.last_version + 1)))


_DECIDED: dict[Purpose, Callable[[State, f.AuthorityFound], Move | Stay]] = {
    Purpose.APPROVE: _approval_decided,
    Purpose.REVISE: _revision_decided,
    Purpose.DROP: dropping.unticked_decided,
    Purpose.ANSWER: _answer_decided,
    Purpose.REFRESH: resuming.refresh_decided,
    Purpose.RETRY: resuming.retry_decided,
    Purpose.REJECT: _end_decided,
    Purpose.CANCEL: _end_decided,
}
