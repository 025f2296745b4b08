"""What is kept beside the facts: plans, artifacts, spans, mints and the key of our markers."""

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import zstandard
from sqlalchemy import Connection, Row, Select, delete, insert, select, update

from app.core.budget import Spent
from app.core.days import Paid
from app.core.digest import canonical
from app.core.facts import AmendmentProposed, PlanDrafted
from app.core.kept_answer import KeptAnswer
from app.core.plan import Plan
from app.core.redact import hide_bytes, redact
from app.core.span import Minted, Span
from app.ledger.answering import answers_of, keep_answers
from app.ledger.engine import OnDatabase
from app.ledger.errors import LedgerCorrupt
from app.ledger.money import count, settle
from app.ledger.schema import LIVE, artifacts, facts, keys, mints, plans, spans
from app.ledger.written import as_json, fact_read

ZSTD_LEVEL = 3
"""Artifacts are written once and may be large."""

MARKER_KEY_BYTES = 32

TEXTS = ("text/", "application/json")
"""Media of what was told, and not of what a repository's file holds."""

DROPPED = b""
"""What stands in the place of an artifact, or of a delivery's body, that was dropped by its age."""

YOUNG = timedelta(days=1)
"""An artifact that is kept once more within this time is not written again."""


class Plans(OnDatabase):
    """Plans by their digest: the bytes that are kept are the bytes that were approved."""

    def put_plan(self, run: str, plan: Plan) -> str:
        """Keeps the plan; its digest. A plan that is kept already is kept once."""
        body = canonical(plan)
        digest = hashlib.sha256(body).hexdigest()
        row = self._database.insert(plans).values(digest=digest, run_id=run, version=plan.version, body=body)
        self._database.writing(lambda connection: connection.execute(row.on_conflict_do_nothing()))
        return digest

    def plan(self, run: str, version: int) -> Plan | None:
        """The plan of this version: the one that was recorded as drafted or proposed, else the newest that was kept."""
        offers = facts.c.kind.in_(("plan_drafted", "amendment_proposed"))
        drafted = select(facts.c.body).where(facts.c.run_id == run, offers)
        kept = select(plans.c.digest).where(plans.c.run_id == run, plans.c.version == version)
        with self._database.reading() as connection:
            for body in connection.scalars(drafted):
                fact = fact_read(body, run)
                if isinstance(fact, PlanDrafted | AmendmentProposed) and fact.version == version:
                    digest: str | None = fact.digest
                    break
            else:
                digest = connection.scalar(kept.order_by(plans.c.nr.desc()).limit(1))
        return None if digest is None else self.plan_by_digest(digest)

    def plan_by_digest(self, digest: str) -> Plan | None:
        """The plan with this digest. Raises `LedgerCorrupt` where the bytes are no longer those that were kept."""
        with self._database.reading() as connection:
            body = connection.scalar(select(plans.c.body).where(plans.c.digest == digest))
        if body is None:
            return None
        if hashlib.sha256(body).hexdigest() != digest:
            raise LedgerCorrupt(f"The plan {digest} was changed in the ledger.")
        plan = Plan.model_validate_json(body)
        if canonical(plan) != body:
            raise LedgerCorrupt(f"The plan {digest} does not read as it was written.")
        return plan


class Artifacts(OnDatabase):
    """Full outputs by their content."""

    def put_artifact(self, content: bytes, media: str) -> str:
        """Keeps the bytes; their SHA-256, by which they are found again. What is kept again is as young as at first.

        Of a text this process' secrets are taken out first; what a repository holds stays, whatever it looks like. The
        content of a file is no text in this sense: it stays byte for byte, and no change may bring a secret into one.
        """
        content = hide_bytes(content) if media.startswith(TEXTS) else content
        sha = hashlib.sha256(content).hexdigest()
        now = datetime.now(UTC)
        body = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(content)
        row = self._database.insert(artifacts).values(
            sha256=sha, media=media, size=len(content), kept_since=now, body=body
        )
        again = {"kept_since": now, "body": body}
        old = (artifacts.c.kept_since < now - YOUNG) | (artifacts.c.body == DROPPED)
        row = row.on_conflict_do_update(index_elements=["sha256"], set_=again, where=old)
        self._database.writing(lambda connection: connection.execute(row))
        return sha

    def artifact(self, sha: str) -> bytes | None:
        """The bytes, untouched; None where they were never kept, or dropped by their age. Raises `LedgerCorrupt` where
        they are no longer those that were kept."""
        with self._database.reading() as connection:
            body = connection.scalar(select(artifacts.c.body).where(artifacts.c.sha256 == sha))
        return None if body is None else unpacked(sha, body)


class Books(OnDatabase):
    """What was done and spent, which tokens were cut, and the key of our markers."""

    def add_spans(
        self, done: Iterable[Span], paid: Sequence[Paid] | None = None, told: Sequence[KeptAnswer] = ()
    ) -> None:
        """Keeps the spans, all or none; no word in them looks like a secret. With them goes what the day has cost: of
        what was held the price stays, as `paid` says; None where nothing was held, and their own prices count. So does
        what was answered for it, as far as its effect is not settled."""
        done = [span.model_copy(update={"name": redact(span.name), "detail": redact(span.detail)}) for span in done]
        rows = [
            {
                "run_id": span.run,
                "belt": str(span.belt),
                "kind": str(span.kind),
                "began_at": span.began_at,
                "seconds": span.seconds,
                "body": as_json(span.model_dump(mode="json")),
            }
            for span in done
        ]

        def work(connection: Connection) -> None:
            if rows:
                connection.execute(insert(spans), rows)
            if paid is None:
                count(self._database, connection, done)
            else:
                settle(self._database, connection, paid)
            keep_answers(self._database, connection, told)

        if rows or paid or told:
            self._database.writing(work)

    def spans(self, run: str) -> tuple[Span, ...]:
        """The run's spans in the order in which they began."""
        query = select(spans.c.body).where(spans.c.run_id == run).order_by(spans.c.began_at, spans.c.id)
        with self._database.reading() as connection:
            return tuple(Span.model_validate(json.loads(body)) for body in connection.scalars(query))

    def answers(self, effect_id: int) -> dict[tuple[str, int], bytes]:
        """What was answered in the doing of an effect that is not settled, by question and its turn."""
        return answers_of(self._database, effect_id)

    def spent_on(self, run: str, effect_id: int) -> Spent:
        """What models cost in the doing of one effect, over all of its attempts, as far as it is written down."""
        total = Spent()
        for span in self.spans(run):
            if span.effect_id == effect_id:
                total = total.plus(span.spent())
        return total

    def record_mint(self, minted: Minted) -> None:
        """Keeps that a token was cut or refused. The same id again changes nothing."""
        row = self._database.insert(mints).values(
            id=minted.id,
            run_id=minted.run,
            minted_at=minted.minted_at,
            expires_at=minted.expires_at,
            revoked_at=minted.revoked_at,
            refused=bool(minted.refused),
            body=as_json(minted.model_dump(mode="json")),
        )
        self._database.writing(lambda connection: connection.execute(row.on_conflict_do_nothing()))

    def finish_mint(self, minted: Minted) -> None:
        """The token that was begun is there: its hash, what it opens and until when take the place of the intent."""
        values = {"expires_at": minted.expires_at, "body": as_json(minted.model_dump(mode="json"))}
        there = update(mints).where(mints.c.id == minted.id).values(**values)
        self._database.writing(lambda connection: connection.execute(there))

    def forget_mint(self, id: str) -> None:
        """What was begun came to nothing: GitHub said that it cut no token."""
        self._database.writing(lambda connection: connection.execute(delete(mints).where(mints.c.id == id)))

    def mark_revoked(self, id: str, at: datetime) -> None:
        """The token is revoked since `at`; the first time counts."""
        first = update(mints).where(mints.c.id == id, mints.c.revoked_at.is_(None)).values(revoked_at=at)
        self._database.writing(lambda connection: connection.execute(first))

    def mints(self, run: str | None = None) -> tuple[Minted, ...]:
        """Every token of a run, or of all, in the order in which they were minted."""
        query = select(mints.c.body, mints.c.revoked_at)
        return self._minted(query if run is None else query.where(mints.c.run_id == run))

    def live_mints(self, now: datetime) -> tuple[Minted, ...]:
        """The tokens that would still open something."""
        return tuple(one for one in self._not_over(now) if one.token_sha256)

    def unfinished_mints(self, now: datetime) -> tuple[Minted, ...]:
        """What was begun and has no end: a token may live that nobody holds. It has no hash, but all the rest."""
        return tuple(one for one in self._not_over(now) if not one.token_sha256)

    def marker_key(self) -> bytes:
        """The 32 bytes with which our hidden markers are authenticated: made by chance once, then always the same."""
        made = self._database.insert(keys).values(name="marker", secret=secrets.token_bytes(MARKER_KEY_BYTES))
        kept = select(keys.c.secret).where(keys.c.name == "marker")
        with self._database.reading() as connection:
            secret = connection.scalar(kept)
        if secret is None:
            self._database.writing(lambda connection: connection.execute(made.on_conflict_do_nothing()))
            with self._database.reading() as connection:
                secret = connection.scalar(kept)
        if secret is None:
            raise LedgerCorrupt("The key of our markers was kept and cannot be read.")
        return bytes(secret)

    def _not_over(self, now: datetime) -> tuple[Minted, ...]:
        live = (LIVE, mints.c.expires_at > now)
        return self._minted(select(mints.c.body, mints.c.revoked_at).where(*live))

    def _minted(self, query: Select[Any]) -> tuple[Minted, ...]:
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(mints.c.minted_at, mints.c.id)).all()
        return tuple(_mint_read(row) for row in rows)


def unpacked(sha: str, body: bytes) -> bytes | None:
    """The artifact of this body; None where it was dropped. Raises `LedgerCorrupt` where it is not the one kept."""
    if body == DROPPED:
        return None
    try:
        content = zstandard.ZstdDecompressor().decompress(body)
    except zstandard.ZstdError as error:
        raise LedgerCorrupt(f"The artifact {sha} cannot be unpacked: {error}") from error
    if hashlib.sha256(content).hexdigest() != sha:
        raise LedgerCorrupt(f"The artifact {sha} was changed in the ledger.")
    return content


def _mint_read(row: Row[Any]) -> Minted:
    return Minted.model_validate(json.loads(row.body) | {"revoked_at": row.revoked_at})
