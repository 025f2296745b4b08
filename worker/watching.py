"""Watching: no webhook tells of a 👍 (github-facts 1), so the publisher looks at the plan comments that wait."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from app.core.facts import ApprovalVoided, ThumbSeen
from app.core.issue import Person
from app.ledger.outcomes import StandingThumb, WaitingProposal, Watched
from worker.github.errors import GitHubError, Unauthorized
from worker.github.reacting import reacted
from worker.github.views import CommentReactions, RepositoryRef
from worker.mint.caller import MintDenied, MintUnreachable
from worker.mint.wire import MOST_REPOSITORIES, Token
from worker.shop import Shop

LONGEST_REST = 10
"""How many intervals may lie between two looks at a plan on whose issue nothing happens."""

PART_OF_THE_QUIET = 12
"""Such a rest is at most this part of the time since something happened there."""

TOKEN_SECONDS = 500.0
"""A token for watching is used this long, then given back for a new one."""

_LOG = logging.getLogger("countersign.watching")


@dataclass(slots=True)
class _Quiet:
    """Since when nothing happened on a waiting plan's issue, and when it is looked at again."""

    told: tuple[int, datetime | None]
    since: datetime
    due: datetime


@dataclass(frozen=True, slots=True)
class _Held:
    token: Token
    installation_id: int
    since: datetime


class Watch:
    """Looks at the waiting plan comments, installation by installation, a hundred to a query.

    Where nothing happens it looks less and less often; whatever happens on an issue brings its interval back. A
    repository that GitHub does not know any more is left out, and said, and the others are looked at without it.
    """

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._tokens: list[_Held] = []
        self._due: datetime | None = None
        self._stir: tuple[datetime | None, datetime | None] = (None, None)
        self._quiet: dict[str, _Quiet] = {}
        self._left_out: dict[int, datetime] = {}
        self._shut: dict[int, datetime] = {}

    def look(self, at: datetime) -> None:
        """New thumbs are recorded and rung for. What cannot be read now is looked at again later."""
        stir = self._shop.ledger.newest_stir()
        if self._due is not None and at < self._due and stir == self._stir:
            return
        self._due, self._stir = at + self._interval, stir
        watched = self._shop.ledger.watched()
        self._forget(watched, at)
        shut = {one for one in set(map(_installation, watched)) if self._is_shut(one, at)}
        watched = tuple(one for one in watched if one.installation_id not in shut)
        for installation_id, grouped in groupby(sorted(watched, key=_installation), key=_installation):
            here = list(grouped)
            due = [one for one in here if self._is_due(one, at)]
            if due:
                self._look_there(installation_id, here, due, at)

    def lend(self, installation_id: int, repositories: list[int], at: datetime) -> Token:
        """A token that reads in these repositories; it stays ours. Raises `MintDenied`, `MintUnreachable`."""
        return self._token(installation_id, repositories, at)

    def close(self) -> None:
        """Gives every token back."""
        self._give_back(self._tokens)

    @property
    def _interval(self) -> timedelta:
        return timedelta(seconds=self._shop.settings.watch_seconds)

    def _is_shut(self, installation_id: int, at: datetime) -> bool:
        """True while nothing may be asked there: at a limit that anybody met, or as the mint said."""
        until = self._shut.get(installation_id)
        return (until is not None and at < until) or self._shop.limit_of(installation_id).left() is not None

    def _is_due(self, one: Watched, at: datetime) -> bool:
        """A thumb that holds work in hand is looked at each time."""
        if isinstance(one, StandingThumb):
            return True
        told = (one.told, one.stirred_at)
        quiet = self._quiet.get(one.run)
        if quiet is None or quiet.told != told:
            quiet = self._quiet[one.run] = _Quiet(told, at, at)
        if at < quiet.due:
            return False
        quiet.due = at + max(self._interval, self._rest(at - quiet.since))
        return True

    def _rest(self, quiet: timedelta) -> timedelta:
        return min(quiet / PART_OF_THE_QUIET, LONGEST_REST * self._interval)

    def _look_there(self, installation_id: int, here: list[Watched], due: list[Watched], at: datetime) -> None:
        """The token is for all that wait there, so that it serves until another repository does."""
        all_there, now = _repositories(here), _repositories(due)
        together = sorted(one for one in all_there if one not in self._left_out)
        parts = [together[start : start + MOST_REPOSITORIES] for start in range(0, len(together), MOST_REPOSITORIES)]
        parts += [[one] for one in sorted(now & self._left_out.keys()) if self._left_out[one] <= at]
        for part in parts:
            if not now.isdisjoint(part):
                self._look_at(installation_id, part, [one for one in due if one.repository_id in part], at)

    def _look_at(self, installation_id: int, repositories: list[int], due: list[Watched], at: datetime) -> None:
        try:
            token = self._token(installation_id, repositories, at)
            self._read(token, installation_id, [one for one in due if one.repository_id in token.repository_ids], at)
        except MintDenied as denied:
            if denied.fewer:
                half = len(repositories) // 2
                for part in (repositories[:half], repositories[half:]):
                    self._look_at(installation_id, part, [one for one in due if one.repository_id in part], at)
                return
            if denied.retry_after is not None:
                rest = min(timedelta(seconds=denied.retry_after), LONGEST_REST * self._interval)
                self._shut[installation_id] = at + rest
                _LOG.warning("plan comments of installation %s are not watched now: %s", installation_id, denied)
                return
            self._leave_out(repositories, denied, at)
        except (GitHubError, MintUnreachable) as error:
            if isinstance(error, Unauthorized):
                self._give_back([one for one in self._tokens if one.installation_id == installation_id])
            _LOG.warning("plan comments of installation %s could not be watched: %s", installation_id, error)
        else:
            for one in token.repository_ids:
                self._left_out.pop(one, None)

    def _leave_out(self, repositories: list[int], denied: MintDenied, at: datetime) -> None:
        """One that GitHub gives no token for is asked about by itself from now on, and seldom."""
        words = "plan comments of %s could not be watched: %s"
        if len(repositories) == 1:
            self._left_out[repositories[0]] = at + LONGEST_REST * self._interval
            _LOG.warning(words, f"repository {repositories[0]}", denied)
            return
        _LOG.warning(words, f"{len(repositories)} repositories", denied)

    def _read(self, token: Token, installation_id: int, due: list[Watched], at: datetime) -> None:
        where = {one.comment_node_id: RepositoryRef(one.repository_id, one.repository) for one in due}
        if not where:
            return
        with self._shop.connection(token, installation_id) as connection:
            answer = reacted(connection, where)
        for node_id, error in answer.unread.items():
            _LOG.warning("the plan comment of %s could not be watched: %s", where[node_id].full_name, error)
        for one in due:
            if one.comment_node_id in answer.unread:
                continue
            reactions = answer.found.get(one.comment_node_id)
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
        self._shop.tell(thumb.run, ApprovalVoided(at=at, plan_digest=thumb.plan_digest, reason=reason, remedy=remedy))

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
            self._shop.tell(plan.run, fact)

    def _token(self, installation_id: int, repositories: list[int], at: datetime) -> Token:
        """One that is for all of these; the mint ends the older ones that are for some of them."""
        wanted = set(repositories)
        for held in self._tokens:
            if held.installation_id == installation_id and wanted <= set(held.token.repository_ids):
                return held.token
        token = self._shop.mint.watch(installation_id, repositories)
        self._tokens = [one for one in self._tokens if wanted.isdisjoint(one.token.repository_ids)]
        self._tokens.append(_Held(token, installation_id, at))
        return token

    def _forget(self, watched: Sequence[Watched], at: datetime) -> None:
        """Nothing is kept of what is not watched any more, and no token for long."""
        runs, repositories = {one.run for one in watched}, _repositories(watched)
        self._quiet = {run: quiet for run, quiet in self._quiet.items() if run in runs}
        self._left_out = {one: due for one, due in self._left_out.items() if one in repositories}
        self._shut = {one: until for one, until in self._shut.items() if at < until}
        over = at - timedelta(seconds=TOKEN_SECONDS)
        self._give_back(
            [one for one in self._tokens if one.since < over or not repositories & set(one.token.repository_ids)]
        )

    def _give_back(self, tokens: list[_Held]) -> None:
        self._tokens = [one for one in self._tokens if one not in tokens]
        for one in tokens:
            try:
                self._shop.mint.release(one.token)
            except MintUnreachable:
                _LOG.warning("a token for watching could not be given back; the mint will end it")


def _installation(one: Watched) -> int:
    return one.installation_id


def _repositories(watched: Iterable[Watched]) -> set[int]:
    return {one.repository_id for one in watched}
