"""Lines to GitHub while a plan is made: one for each question, with a token that is cut for it and given back after."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from app.ledger.outcomes import Claim
from worker.belts.looking_up import NotNow
from worker.github.reader import Reader
from worker.mint.caller import MintDenied, MintUnreachable
from worker.outcomes import SUSPENDED_SECONDS
from worker.shop import Shop


@contextmanager
def reading(shop: Shop, claim: Claim) -> Iterator[Reader]:
    """The repository of the claimed effect as GitHub shows it; the token is gone when the block is left.

    Raises `NotNow` where no token can be had at the moment, and `MintDenied` where the effect has no right to one any
    more, or the installation is suspended: then the planning ends as everything else does.
    """
    with ExitStack() as stack:
        try:
            line = stack.enter_context(shop.line(claim))
        except MintUnreachable as error:
            raise NotNow(str(error)) from error
        except MintDenied as error:
            if error.retry_after is None or error.retry_after >= SUSPENDED_SECONDS:
                raise
            raise NotNow(error.reason) from error
        yield Reader(line.connection, line.repository)
