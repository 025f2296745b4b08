"""A repository that was renamed or changed hands without our being told, or while we were at work: a write to its old
name is answered with 301 and not sent on (github-facts 196), nor does git follow. So its name of today is looked up by
its id, and work goes on there."""

import logging

from app.core.news import Seen
from app.ledger.errors import LedgerError
from app.ledger.outcomes import Claim
from worker.github.errors import GitHubError, Moved
from worker.github.reader import Reader
from worker.mint.caller import MintDenied, MintUnreachable
from worker.outcomes import Outcome, Retry, outcome_of
from worker.repo.mirror import RepositoryMoved
from worker.shop import Shop

_LOG = logging.getLogger("countersign.renaming")


def of_moved(shop: Shop, claim: Claim, error: Moved | RepositoryMoved) -> Outcome | None:
    """What follows where the claim's repository is called otherwise now than `error` tells that it was called: every
    process knows it by today's name from here on, and it is tried there. Where it went out of our reach it is waited
    for. None where that name was right, so that something else moved, and where GitHub or the mint did not say."""
    try:
        with shop.line(claim) as line:
            today = Reader(line.connection, line.repository).repository()
        if today.id != line.repository.id or _was_asked(today.full_name, error):
            return None
        known = shop.ledger.repository(today.id)
        installation = claim.state.request.installation_id if known is None else known.installation_id
        shop.ledger.remember(Seen(today.id, today.full_name, installation))
    except (GitHubError, MintDenied, MintUnreachable, LedgerError) as trouble:
        _LOG.warning("whether %s has another name now is not known: %s", claim.state.request.repository, trouble)
        return outcome_of(trouble) if isinstance(trouble, MintDenied) and trouble.gone else None
    _LOG.info("%s is called %s now", claim.state.request.repository, today.full_name)
    return Retry("The repository has another name now; it is tried there.")


def _was_asked(name: str, error: Moved | RepositoryMoved) -> bool:
    """Whether it was under this name that something was found to have moved."""
    if isinstance(error, Moved):
        return f"{error.call.path}/".startswith(f"/repos/{name}/")
    return f"/{name}.git" in str(error)
