"""Where every process' log is set up: one line for each thing, with what it is about and without a secret in it."""

import faulthandler
import json
import logging
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from app.core.redact import learn, redact
from app.secret_settings import secrets_of
from app.settings import LogForm, log_form

QUIET = ("httpx", "httpcore", "httpx2", "httpcore2", "celery", "kombu", "alembic", "opentelemetry", "urllib3")
"""Libraries whose every step is nobody's business; their warnings are."""

_ABOUT: ContextVar[Mapping[str, str | int]] = ContextVar("about", default={})  # noqa: B039 (never changed in place)


@contextmanager
def about(**what: str | int) -> Iterator[None]:
    """Each line that is written within the block says this: `run`, `delivery`, `belt`, `effect`."""
    before = _ABOUT.set({**_ABOUT.get(), **what})
    try:
        yield
    finally:
        _ABOUT.reset(before)


class Lines(logging.Formatter):
    """Formats lines of one process. Whatever a line holds, its traceback included, is redacted as a whole."""

    def __init__(self, process: str, form: LogForm) -> None:
        super().__init__()
        self._process = process
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """One line; in the readable form the traceback follows on lines of its own."""
        what = _ABOUT.get()
        at = datetime.fromtimestamp(record.created, UTC)
        message = record.getMessage()
        error = self.formatException(record.exc_info) if record.exc_info else record.exc_text or ""
        if self._form is LogForm.JSON:
            line: dict[str, Any] = {
                "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "level": record.levelname.lower(),
                "process": self._process,
                "logger": record.name,
                "message": redact(message),
                **{key: redact(one) if isinstance(one, str) else one for key, one in what.items()},
            }
            return json.dumps(line | ({"error": redact(error)} if error else {}))
        place = "".join(f" {key}={value}" for key, value in what.items() if key != "belt")
        told = f"{at:%Y-%m-%d %H:%M:%S} {self._process} {record.levelname} {record.name}{place}: {message}"
        return redact(f"{told}\n{error}" if error else told)


class _ToStandardError(logging.Handler):
    """Writes to what standard error is in the moment of the line."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


def set_up_logs(process: str, env: Mapping[str, str]) -> None:
    """From now on the process writes its log to standard error, in the form that `COUNTERSIGN_LOGS` asks for, and knows
    which values of its environment are nobody's business. What nobody caught is told there as well, redacted.

    Raises `SettingsWrong` for an unknown form; then the readable one is set up.
    """
    learn(secrets_of(env))
    try:
        form = log_form(env)
    except Exception:
        _begin(process, LogForm.TEXT)
        raise
    _begin(process, form)


def _begin(process: str, form: LogForm) -> None:
    root = logging.getLogger()
    for one in [one for one in root.handlers if isinstance(one, _ToStandardError)]:
        root.removeHandler(one)
    handler = _ToStandardError()
    handler.setFormatter(Lines(process, form))
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    # A crash of the interpreter itself: it tells files, lines and functions, and no value.
    faulthandler.enable(file=sys.__stderr__ or 2)
    sys.excepthook = _uncaught
    threading.excepthook = _uncaught_in_thread
    sys.unraisablehook = lambda told: _tell("Nobody could catch this", told.exc_value)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    logging.getLogger("countersign").critical("The process ends: %s", kind.__name__, exc_info=(kind, error, trace))


def _uncaught_in_thread(told: threading.ExceptHookArgs) -> None:
    if told.exc_type is not SystemExit:
        _tell(f"The thread {told.thread.name if told.thread else ''} ends", told.exc_value)


def _tell(what: str, error: BaseException | None) -> None:
    traced = (type(error), error, error.__traceback__) if error is not None else None
    logging.getLogger("countersign").error("%s: %s", what, type(error).__name__, exc_info=traced)
