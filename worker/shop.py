"""The shop: what one belt's process has at hand, put together from its settings once and shared by its threads."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.core.belts import Belt
from app.core.days import Paid
from app.core.digest import digest
from app.core.facts import Fact
from app.core.kept_answer import KeptAnswer
from app.core.plan import Plan, TemplatePin
from app.core.run import Approved, Built, Reporting, Request, State
from app.core.shelf import Shelf
from app.core.span import Span
from app.core.template import Template, TemplateUnreadable
from app.ledger.outcomes import Claim, Recorded
from app.ledger.store import Ledger
from app.queue import Doorbell
from worker.ending import Ending
from worker.evidence.trace import Trace
from worker.github.limit import SharedLimit
from worker.github.views import RepositoryRef
from worker.mint.caller import MintCaller
from worker.mint.wire import Token
from worker.model.words import BOTTOMLESS, Terms
from worker.outcomes import NoLongerKept
from worker.repo.mirror import Mirror, Mirrors, Remote
from worker.repo.ranking.store import IndexCache
from worker.repo.symbols import SymbolCache
from worker.settings import BeltSettings, ModelSettings
from worker.till import Till

if TYPE_CHECKING:
    from worker.github.connection import Connection
    from worker.model.client import Model
    from worker.telemetry.export import Export


Done = tuple[Sequence[Fact], str]
"""What a duty leads to: facts, and a few words for the ledger."""


@dataclass(frozen=True, slots=True)
class Line:
    """An open line to GitHub for one effect. The token stays in here."""

    connection: "Connection"
    repository: RepositoryRef
    bot_user_id: int
    remote: Remote = field(repr=False)


@dataclass(frozen=True)
class Shop:
    """One belt's process."""

    settings: BeltSettings
    ledger: Ledger
    doorbell: Doorbell
    mint: MintCaller
    clock: Callable[[], datetime]
    """The time by which claims, facts and deadlines go: the ledger's, the same on every machine."""
    ending: Ending = field(default_factory=Ending)
    export: "Export | None" = None
    """The way to a collector, where the operator has one."""

    @property
    def belt(self) -> Belt:
        return self.settings.belt

    @cached_property
    def mirrors(self) -> Mirrors:
        """The bare mirrors on this machine."""
        return Mirrors(self.settings.data_dir / "mirrors", self.settings.transport)

    @cached_property
    def symbols(self) -> SymbolCache:
        """Parsed definitions, by blob."""
        return SymbolCache(self.settings.data_dir / f"symbols-{self.belt}.db")

    @cached_property
    def index(self) -> IndexCache:
        """What the ranking knows of files and commits, by blob and commit."""
        return IndexCache(self.settings.data_dir / f"index-{self.belt}.db", self.symbols)

    @contextmanager
    def line(self, claim: Claim) -> Iterator[Line]:
        """A line with a token for exactly this effect, which is given back at the end.

        A token that aged out meanwhile is renewed once (case GH-04). Raises `MintDenied`, `MintUnreachable`.
        """
        tokens = [self.mint.cut(claim.run, claim.effect_id, claim.fence)]

        def again() -> str:
            tokens.append(self.mint.cut(claim.run, claim.effect_id, claim.fence))
            return tokens[-1].value

        try:
            with self.connected(tokens[0], claim.state.request, again) as line:
                yield line
        finally:
            for token in tokens:
                self.mint.release(token)

    @contextmanager
    def connected(self, token: Token, request: Request, again: Callable[[], str] | None = None) -> Iterator[Line]:
        """A line with a token that the caller gives back."""
        repository = self.repository(request)
        remote = Remote(f"{self.settings.github.web_url}/{repository.full_name}.git", token.value)
        with self.connection(token, request.installation_id, again) as connection:
            yield Line(connection, repository, token.bot_user_id, remote)

    def connection(self, token: Token, installation_id: int, again: Callable[[], str] | None = None) -> "Connection":
        """A connection, to be entered, with a token that the caller gives back."""
        from worker.github.connection import ConnectionSettings, InstallationToken, connect

        github = self.settings.github
        settings = ConnectionSettings(write_gap_seconds=github.write_gap_seconds)
        credential, limit = InstallationToken(token.value, again), self.limit_of(installation_id)
        return connect(github.api_url, credential, settings, installation_id, limit)

    def limit_of(self, installation_id: int) -> SharedLimit:
        """How far GitHub's limits for an installation are reached, as all belts and the mint know it."""
        return SharedLimit(self.ledger, installation_id, self.clock)

    def repository(self, request: Request) -> RepositoryRef:
        """The repository under its name of today."""
        seen = self.ledger.repository(request.repository_id)
        return RepositoryRef(request.repository_id, seen.full_name if seen else request.repository)

    def repository_url(self, request: Request) -> str:
        """The repository's page."""
        return f"{self.settings.github.web_url}/{self.repository(request).full_name}"

    def tell(self, run: str, fact: Fact) -> bool:
        """The run has taken what no delivery told, and what follows was rung for; False where it has no use for it, or
        where it cannot be read here."""
        with self.ledger.leaving_aside():
            recorded = self.ledger.record(run, fact)
            if isinstance(recorded, Recorded):
                self.doorbell.ring(recorded.rings)
                return True
        return False

    def note(self, trace: Trace) -> None:
        """What was done since is in the ledger, and on its way to a collector where there is one."""
        trace.write_down(self.write)

    def write(self, spans: Sequence[Span], paid: Sequence[Paid] | None, answers: Sequence[KeptAnswer] = ()) -> None:
        """The spans are kept, with what became of the money that was held for them and what was answered."""
        self.ledger.add_spans(spans, paid, answers)
        if self.export is not None:
            self.export.add(spans)

    def keep(self, content: bytes, media: str) -> str:
        """Keeps a full output; answers with the reference by which it can be reopened."""
        return self.ledger.put_artifact(content, media)

    def kept(self, reference: str) -> bytes:
        """What was kept under the reference. Raises `NoLongerKept` where it was dropped by its age, KeyError where
        nothing ever was."""
        content = self.ledger.artifact(reference)
        if content is None and self.ledger.is_dropped(reference):
            raise NoLongerKept
        if content is None:
            raise KeyError(reference)
        return content

    def approved_plan(self, state: State) -> Plan:
        """The stored plan that was approved. Raises KeyError where there is none."""
        if not isinstance(state, Approved | Built | Reporting):
            raise KeyError(f"{state.request.run} is {state.name}")
        plan = self.ledger.plan(state.request.run, state.proposal.version)
        if plan is None or digest(plan) != state.proposal.digest:
            raise KeyError(f"plan {state.proposal.version} of {state.request.run}")
        return plan

    def mirror_of(self, line: Line) -> Mirror:
        """The mirror of the line's repository."""
        return self.mirrors.mirror(urlsplit(line.remote.url).netloc, line.repository.id)

    def fetched(self, line: Line, commit: str, depth: int | None = None) -> Mirror:
        """The mirror of the line's repository, which holds the commit; those that were not used for longest are gone
        as far as all together took more room than the operator gives. Raises a MirrorError."""
        mirror = self.mirror_of(line)
        with mirror.in_use():
            mirror.fetch(line.remote, commit, depth=depth)
            self.mirrors.keep_under(self.settings.mirror_bytes)
        return mirror

    @cached_property
    def shelf(self) -> Shelf:
        """The templates, built-in ones and the operator's."""
        return Shelf(self.settings.templates.folder)

    def pinned(self, pin: TemplatePin) -> Template:
        """The template by which a plan was made. Raises TemplateUnreadable where it is gone or was changed since."""
        template = self.shelf.read(pin.name, pin.version)
        if pin.digest is not None and template.digest != pin.digest:
            raise TemplateUnreadable(f"The template {pin.name} {pin.version} is not the one of the approved plan.")
        return template

    @property
    def models(self) -> ModelSettings:
        """Which model has which role."""
        if self.settings.model is None:
            raise PermissionError(f"the {self.belt} talks to no model")
        return self.settings.model

    def warm(self) -> None:
        """The model's SDK is being loaded, or is there."""
        if self.settings.model is None:
            return
        from worker.model.client import warm

        threading.Thread(target=warm, name="warm", daemon=True).start()

    def model(self, name: str, role: str, trace: Trace) -> "Model":
        """A model in a role; each of its billed replies becomes a span. None is asked for once nobody wants it, nor one
        that an earlier attempt at the effect was given."""
        from worker.model.client import Access, Model

        days = self.settings.days
        purse = Till(self.ledger, days, trace, self.clock) if days else BOTTOMLESS
        terms = Terms(trace, purse, trace.recalling(role, name))
        return Model(Access(self.models.api_key, self.models.base_url), name, trace.replied(role, name), terms)
