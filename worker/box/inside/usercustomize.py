"""Says on the trail which functions below `/work` a Python program goes through, in each of its processes.

Every interpreter that starts with this folder on PYTHONPATH imports this file before the program, so the program
is the main module as always and its tracebacks hold no stranger. A function is told when it is first called and
again at the 10th, 100th … call: whatever way the program ends, what was told stays told.

One line each, with tabs between: how (`m` a module was executed, `i` called while a module was executed, `r`
called), how often so far, the function's line, its name, its file's path below `/work`.

Runs on Python 3.6 and later.
"""

import fcntl
import os
import stat
import sys
from _thread import get_ident

MYPY = False
if MYPY:
    from types import CodeType, FrameType
    from typing import Any

_ROOT = "/work/"
_PIPES = "/proc/1/fd"
_HIGH = 711
"""A number for the descriptor that programs do not come to by themselves."""

_FUNCTION = 1
"""CO_OPTIMIZED: the code of a function, and not of a module or a class."""

_RECOVERS = sys.version_info >= (3, 9)
"""Whether an interpreter takes it well when somebody catches the error at the limit of recursion."""

_TOOL = 4
"""One of the numbers that `sys.monitoring` leaves to anybody."""


def _opened() -> int:
    """A descriptor of the trail. Raises OSError where there is none."""
    for name in os.listdir(_PIPES):
        place = _PIPES + "/" + name
        if int(name) > 2 and stat.S_ISFIFO(os.stat(place).st_mode):
            low = os.open(place, os.O_WRONLY)
            try:
                return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _HIGH)
            finally:
                os.close(low)
    raise OSError("no trail")


class _Trail:
    """The way out. A program that closes it, with all it finds open, gets it back."""

    def __init__(self) -> None:
        """Raises OSError where there is no trail."""
        self._number = _opened()
        self._mark = _seen(self._number)

    def tell(self, how: str, count: int, code: "CodeType", path: str) -> None:
        name = getattr(code, "co_qualname", None) or code.co_name
        line = "%s\t%d\t%d\t%s\t%s\n" % (how, count, code.co_firstlineno, name, path)  # noqa: UP031
        try:
            # Something else may be open under this number by now; it is left alone.
            if _seen(self._number) != self._mark:
                self._number = _opened()
            os.write(self._number, line.encode("utf-8", "surrogateescape")[:4000])
        except (OSError, ValueError):
            pass


def _seen(number: int) -> "tuple[int, int] | None":
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


class _Counter:
    """What was gone through so far. `paths` and `loading` are by file name and by thread."""

    def __init__(self, trail: _Trail) -> None:
        self._trail = trail
        self.paths: dict[str, str] = {}
        self.loading: dict[int, int] = {}
        self._entries: dict[int, list[Any]] = {}

    def path(self, name: str) -> str:
        """The file's path below the root, kept in `paths`; empty for a file elsewhere and for no file."""
        whole = name if name.startswith("/") else _ROOT + (name[2:] if name.startswith("./") else name)
        inside = whole.startswith(_ROOT) and not name.startswith("<") and "\n" not in name and "\t" not in name
        path = self.paths[name] = whole[len(_ROOT) :] if inside else ""
        return path

    def called(self, code: "CodeType", path: str) -> None:
        """A function was called once more."""
        entry = self._entries.get(id(code))
        if entry is None:
            # The code is kept, so that its number is not given to another one.
            entry = self._entries[id(code)] = [code, 0, 1]
            if self.loading.get(get_ident()):
                self._trail.tell("i", 1, code, path)
        if self.loading.get(get_ident()):
            return
        entry[1] += 1
        if entry[1] == entry[2]:
            entry[2] *= 10
            self._trail.tell("r", entry[1], code, path)

    def begin(self, code: "CodeType", path: str) -> None:
        """A module begins; whatever is called until its end only belongs to loading it."""
        thread = get_ident()
        self.loading[thread] = self.loading.get(thread, 0) + 1
        self._trail.tell("m", 1, code, path)

    def end(self) -> None:
        """A module came to its end."""
        thread = get_ident()
        self.loading[thread] = max(0, self.loading.get(thread, 0) - 1)


def _is_loaded(frame: "FrameType") -> bool:
    """Whether the frame is that of a module which somebody imports: the main one is no other's."""
    return frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__"


def _follow_frames(counter: _Counter) -> None:
    """By a trace function, which every thread gets. A program that sets one of its own is followed no further."""
    import threading

    def leave(frame: "FrameType", event: str, argument: object) -> "Any":
        if event == "return":
            counter.end()
        return leave

    def enter(frame: "FrameType", event: str, argument: object) -> "Any":
        try:
            code = frame.f_code
            path = counter.paths.get(code.co_filename)
            if path is None:
                path = counter.path(code.co_filename)
            if path and code.co_flags & _FUNCTION:
                if code.co_name[0] != "<":
                    counter.called(code, path)
            elif path and _is_loaded(frame):
                counter.begin(code, path)
                frame.f_trace_lines = False
                return leave
        except RecursionError:
            # The program is at its limit and meets it by itself in a moment; before 3.9 it would end badly.
            if not _RECOVERS:
                raise
        return None

    threading.settrace(enter)
    sys.settrace(enter)


def _follow_events(counter: _Counter, monitoring: "Any") -> None:
    """By the interpreter's own events, which cost nothing for code outside the tree (Python 3.12 and later)."""
    events = monitoring.events
    modules: dict[int, CodeType] = {}

    def start(code: "CodeType", offset: int) -> object:
        try:
            path = counter.paths.get(code.co_filename)
            if path is None:
                path = counter.path(code.co_filename)
            if not path or code.co_name == "<lambda>":
                return monitoring.DISABLE
            if code.co_flags & _FUNCTION:
                if code.co_name[0] != "<":
                    counter.called(code, path)
            elif _is_loaded(sys._getframe(1)):
                modules[id(code)] = code
                monitoring.set_local_events(_TOOL, code, events.PY_RETURN)
                counter.begin(code, path)
        except RecursionError:
            pass
        return None

    def end(code: "CodeType", offset: int, value: object) -> None:
        if modules.pop(id(code), None) is not None:
            counter.end()

    monitoring.use_tool_id(_TOOL, "trail")
    monitoring.register_callback(_TOOL, events.PY_START, start)
    monitoring.register_callback(_TOOL, events.PY_RETURN, end)
    monitoring.register_callback(_TOOL, events.PY_UNWIND, end)
    monitoring.set_events(_TOOL, events.PY_START | events.PY_UNWIND)


def _begin() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if place != here]
    try:
        counter = _Counter(_Trail())
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            _follow_frames(counter)
        else:
            _follow_events(counter, monitoring)
    except (OSError, ValueError):
        pass


_begin()
