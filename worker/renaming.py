"""A repository that was renamed without our being told: a write to its old name is answered with 301 and not sent on
(github-facts 196), so its name of today is looked up by its id, and work goes on there."""

import logging

from app.core.news import Seen
from app.ledger.errors import LedgerError
from app.ledger.outcomes import Claim
from worker.github.errors import GitHubError
from worker.github.reader import Reader
from worker.mint.caller import MintDenied, MintUnreachable
from worker.shop import Shop

_LOG = logging.getLogger("countersign.renaming")


def found_again(shop: Shop, claim: Claim) -> bool:
    """True where the claim's repository is called otherwise now; every process knows it by that name from here on.
    False where the name is right, so that something else moved, and where GitHub or the mint did not say."""
    try:
        with shop.line(claim) as line:
            today = Reader(line.connection, line.repository).repository()
        if today.id != line.repository.id or today.full_name == line.repository.full_name:
            return False
        shop.ledger.remember(Seen(today.id, today.full_name, claim.state.request.installation_id))
    except (GitHubError, MintDenied, MintUnreachable, LedgerError) as error:
        _LOG.warning("whether %s has another name now is not known: %s", claim.state.request.repository, error)
        return False
    _LOG.info("%s is called %s now", line.repository.full_name, today.full_name)
    return True
