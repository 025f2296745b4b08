"""What can go wrong with the ledger that a caller has to know. No SQLAlchemy exception leaves this room."""


class LedgerError(Exception):
    """Something is wrong with the ledger; the message is a sentence for the operator."""


class LedgerBehind(LedgerError):
    """The schema is not the one that this version works with."""


class RunLeftAside(LedgerError):
    """What is recorded of one run cannot be read here. It alone is left aside, and every other run goes on."""

    def __init__(self, run: str, sentence: str) -> None:
        super().__init__(sentence)
        self.run = run


class LedgerNewer(RunLeftAside):
    """A newer version wrote something of which this one knows nothing: it is left to that one."""


class LedgerUnreachable(LedgerError):
    """The database does not answer, or stayed locked; nothing was recorded."""


class LedgerForbids(LedgerError):
    """The database role of this process may not write that; nothing was recorded."""


class LedgerCorrupt(LedgerError):
    """What was read is not what was written: a digest differs, or the facts do not follow from one another."""


class RunCorrupt(RunLeftAside, LedgerCorrupt):
    """The rows of one run are not those that were written: somebody has to restore it."""
