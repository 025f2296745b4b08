"""Watching: no webhook tells of a 👍 (github-facts 1), so the publisher looks at the plan comments that wait."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from app.core.facts import ApprovalVoided, Fact, ThumbSeen
from app.core.issue import Person
from app.core.run import Request
from app.ledger.outcomes import Recorded, StandingThumb, WaitingProposal
from worker.github.errors import GitHubError
from worker.github.reader import Reader
from worker.github.views import CommentReactions
from worker.mint.caller import MintDenied, MintUnreachable
from worker.mint.wire import Token
from worker.shop import Shop

LONGEST_REST = 10
"""How many intervals may lie between two looks at a repository in which nothing happens."""

PART_OF_THE_QUIET = 12
"""Such a rest is at most this part of the time since something happened there."""

TOKEN_SECONDS = 500.0
"""A token for watching is used this long, then given back for a new one."""

_LOG = logging.getLogger("countersign.watching")


@dataclass(slots=True)
class _Quiet:
    """Since when nothing happened in a repository's waiting runs, and when it is looked at again."""

    waiting: frozenset[tuple[str, int]]
    since: datetime
    due: datetime


class Watch:
    """Looks at the waiting plan comments, repository by repository, at most once per interval.

    Where nothing happens it looks less and less often; a fact in one of the waiting runs brings the interval back.
    """

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._tokens: dict[int, tuple[Token, datetime]] = {}
        self._due: datetime | None = None
        self._quiet: dict[int, _Quiet] = {}

    def look(self, at: datetime) -> None:
        """New thumbs are recorded and rung for. A repository that cannot be read now is looked at again later."""
        if self._due is not None and at < self._due:
            return
        self._due = at + timedelta(seconds=self._shop.settings.watch_seconds)
        seen: tuple[WaitingProposal | StandingThumb, ...]
        seen = (*self._shop.ledger.waiting_proposals(), *self._shop.ledger.standing_thumbs())
        watched = sorted(seen, key=lambda one: one.repository_id)
        self._forget({one.repository_id for one in watched}, at)
        by_repository = [(id, list(here)) for id, here in groupby(watched, key=lambda one: one.repository_id)]
        self._quiet = {id: self._quiet[id] for id, _ in by_repository if id in self._quiet}
        for repository_id, here in by_repository:
            if not self._is_due(repository_id, here, at):
                continue
            try:
                self._look_at(repository_id, here, at)
            except (GitHubError, MintDenied, MintUnreachable) as error:
                _LOG.warning("plan comments of repository %s could not be watched: %s", repository_id, error)

    def _is_due(self, repository_id: int, here: list[WaitingProposal | StandingThumb], at: datetime) -> bool:
        """A thumb that holds work in hand is looked at each time."""
        waiting = frozenset((one.run, one.told) for one in here if isinstance(one, WaitingProposal))
        quiet = self._quiet.get(repository_id)
        if quiet is None or quiet.waiting != waiting:
            quiet = self._quiet[repository_id] = _Quiet(waiting, at, at)
        if at < quiet.due and not any(isinstance(one, StandingThumb) for one in here):
            return False
        longest = timedelta(seconds=LONGEST_REST * self._shop.settings.watch_seconds)
        quiet.due = at + min((at - quiet.since) / PART_OF_THE_QUIET, longest)
        return True

    def close(self) -> None:
        """Gives every token back."""
        self._forget(set(), None)

    def _look_at(self, repository_id: int, watched: list[WaitingProposal | StandingThumb], at: datetime) -> None:
        request = self._request(watched[0].run)
        token = self._token(repository_id, at)
        with self._shop.connected(token, request) as line:
            reader = Reader(line.connection, line.repository)
            found = reader.reactions([one.comment_node_id for one in watched])
        for one in watched:
            reactions = found.get(one.comment_node_id)
            if isinstance(one, StandingThumb):
                self._hold(one, reactions, at)
            elif reactions is not None:
                self._tell(one, reactions, token.bot_user_id, at)

    def _hold(self, thumb: StandingThumb, reactions: CommentReactions | None, at: datetime) -> None:
        """An approval whose thumb is gone stands no longer, and its work in hand ends."""
        if reactions is not None and any(one.reaction_id == thumb.reaction_id for one in reactions.thumbs):
            return
        reason = f"The 👍 of {thumb.person.login} is not on the plan's comment any more."
        remedy = "Approve the plan again to have it carried out."
        self._record(thumb.run, ApprovalVoided(at=at, plan_digest=thumb.plan_digest, reason=reason, remedy=remedy))

    def _tell(self, plan: WaitingProposal, reactions: CommentReactions, bot_user_id: int, at: datetime) -> None:
        for thumb in reactions.thumbs:
            # Our own thumb would be a hint for people, never a vote (github-facts 44).
            if thumb.reaction_id in plan.seen_reactions or thumb.user_id == bot_user_id:
                continue
            fact = ThumbSeen(
                at=at,
                reaction_id=thumb.reaction_id,
                comment_id=plan.comment_id,
                person=Person(id=thumb.user_id, login=thumb.login),
                created_at=thumb.created_at,
            )
            self._record(plan.run, fact)

    def _record(self, run: str, fact: Fact) -> None:
        recorded = self._shop.ledger.record(run, fact)
        if isinstance(recorded, Recorded):
            self._shop.doorbell.ring(recorded.rings)

    def _request(self, run: str) -> Request:
        view = self._shop.ledger.run(run)
        if view is None:
            raise KeyError(run)
        return view.state.request

    def _token(self, repository_id: int, at: datetime) -> Token:
        held = self._tokens.get(repository_id)
        if held is None:
            held = (self._shop.mint.watch(repository_id), at)
            self._tokens[repository_id] = held
        return held[0]

    def _forget(self, still: set[int], at: datetime | None) -> None:
        for repository_id, (token, since) in list(self._tokens.items()):
            if repository_id not in still or at is None or at - since > timedelta(seconds=TOKEN_SECONDS):
                del self._tokens[repository_id]
                try:
                    self._shop.mint.release(token)
                except MintUnreachable:
                    _LOG.warning("a token for watching could not be given back; the mint will end it")
