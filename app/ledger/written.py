"""How values stand in columns: the same on both databases, and read back equal to what was written."""

import json
import re
from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import BigInteger, DateTime, Dialect, Integer, String, Text
from sqlalchemy.types import TypeDecorator

from app.core.effects import EFFECTS, Effect
from app.core.facts import FACTS, Fact
from app.core.redact import hide_in
from app.ledger.errors import LedgerNewer, RunCorrupt

_Part = TypeVar("_Part")

_UNSAFE = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})")

BigId = BigInteger().with_variant(Integer, "sqlite")
"""64 bits on both: GitHub's ids are beyond 32. SQLite makes ids by itself only for its own INTEGER, also 64 bits."""


class AnyText(TypeDecorator[str]):
    r"""Any text. NUL and lone surrogates, which no database takes, stand as `\u0000`; a backslash as `\u005c`."""

    impl: type[String] = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or "\\" not in value:
            return value
        return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), value)


class AnyName(AnyText):
    """As `AnyText`, of a bounded length: whatever it is compared with, as somebody's guess of a run's id."""

    impl = String
    cache_ok = True


class Moment(TypeDecorator[datetime]):
    """A point in time, to the microsecond. Only aware times go in; they come out in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a time without a zone cannot be recorded: {value}")
        in_utc = value.astimezone(UTC)
        # SQLite knows no zone: every time in it is UTC.
        return in_utc.replace(tzinfo=None) if dialect.name == "sqlite" else in_utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def as_json(value: Any) -> str:
    """JSON in ASCII alone, so that NUL and lone surrogates stand in it as escapes."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def fact_written(fact: Fact) -> str:
    """A fact as it stands in the ledger, without a secret of this process."""
    return as_json(hide_in(FACTS.dump_python(fact, mode="json")))


def fact_read(text: str, run: str) -> Fact:
    """The fact of this run that was written; equal to it. Raises `LedgerNewer` for a kind that this version does not
    know, `RunCorrupt` for what nobody wrote."""
    return _read(FACTS, text, run)


def effect_written(effect: Effect) -> str:
    """An effect as it stands in the ledger."""
    return as_json(hide_in(EFFECTS.dump_python(effect, mode="json")))


def effect_read(text: str, run: str) -> Effect:
    """The effect of this run that was written; equal to it. Raises as `fact_read` does."""
    return _read(EFFECTS, text, run)


def _read(kinds: TypeAdapter[_Part], text: str, run: str) -> _Part:
    try:
        return kinds.validate_python(json.loads(text))
    except json.JSONDecodeError as error:
        raise RunCorrupt(run, f"A row of run {run} is not JSON: {error}.") from error
    except ValidationError as error:
        # While versions run side by side, kinds and their parts come to be known to the newer one first.
        if all(one["type"] in ("union_tag_invalid", "extra_forbidden") for one in error.errors(include_url=False)):
            raise LedgerNewer(run, "A newer version recorded something here, and this one leaves it alone.") from error
        first = error.errors(include_url=False, include_input=False)[0]
        why = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        raise RunCorrupt(run, f"A row of run {run} does not read as it was written ({why}).") from error
