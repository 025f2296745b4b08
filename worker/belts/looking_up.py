"""What the planner looks up on GitHub while it plans: an issue or pull request by its number, and what CI says.

Each question opens a line of its own, whose token is cut for it and given back before its answer is read by a model.
Only the planner has these tools, and not its scouts, who may be thinking at the same time: no model is asked while a
token lives. Texts that people or CI wrote are cleaned, and every line of them begins with `>`.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from worker.belts import found_ci, found_issue
from worker.github.errors import Forbidden, GitHubError, Gone, Moved, NotFound, RateLimited, Suspended, Unauthorized
from worker.github.reader import Reader
from worker.model.conversation import Answer, Failed, Handler
from worker.model.words import Tool

MOST_QUESTIONS = 20
"""Questions to GitHub in one planning."""

OpenLine = Callable[[], AbstractContextManager[Reader]]
"""Reading GitHub inside of the block, with a token that lives no longer than it. Raises `NotNow`."""

_NUMBER = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}

LINKED = Tool(
    "linked",
    "An issue or pull request of this repository by its number: text, first comments, what speaks of it; of a pull "
    "request also its files and whether it was merged.",
    {"type": "object", "properties": {"number": _NUMBER}, "required": ["number"], "additionalProperties": False},
)
CI = Tool(
    "ci",
    "Checks and commit statuses of the base commit, or of a pull request's head: which failed, and what they say.",
    {"type": "object", "properties": {"pull_request": _NUMBER}, "additionalProperties": False},
)


class NotNow(Exception):
    """GitHub cannot be asked at the moment; the text says why. The planning goes on without."""


@dataclass
class LookUps:
    """The tools `linked` and `ci` of one planning. `clock` counts seconds."""

    open_line: OpenLine
    base_commit: str
    clock: Callable[[], float] = time.monotonic
    asked: int = 0
    _limited_until: float = field(default=0.0)

    def every(self) -> Mapping[str, tuple[Tool, Handler[Any]]]:
        """The tools by name."""
        return {LINKED.name: (LINKED, self._linked), CI.name: (CI, self._ci)}

    def _linked(self, asked: Mapping[str, object]) -> Answer | Failed:
        number = _whole(asked, "number") or 0
        return self._ask(f"#{number}", lambda reader: found_issue.read(reader, number))

    def _ci(self, asked: Mapping[str, object]) -> Answer | Failed:
        number = _whole(asked, "pull_request")
        what = f"pull request #{number}" if number else "the checks of the base commit"
        return self._ask(what, lambda reader: found_ci.read(reader, self.base_commit, number))

    def _ask(self, what: str, question: Callable[[Reader], Answer]) -> Answer | Failed:
        """The answer, or in words why there is none. A suspended installation and a credential that GitHub does not
        take end the planning as they do elsewhere."""
        if self.asked >= MOST_QUESTIONS:
            return Failed(f"GitHub was asked {self.asked} times, which is all; plan with what is known.")
        left = self._limited_until - self.clock()
        if left > 0:
            return Failed(f"GitHub's limit was met; it is asked again in {left:.0f} seconds at the soonest.")
        self.asked += 1
        try:
            with self.open_line() as reader:
                return question(reader)
        except (Suspended, Unauthorized):
            raise
        except NotNow as reason:
            return Failed(f"GitHub cannot be asked now: {reason}")
        except RateLimited as limit:
            self._limited_until = self.clock() + limit.retry_after
            return Failed(f"{limit.reason} It is asked again in {limit.retry_after:.0f} seconds at the soonest.")
        except GitHubError as error:
            return Failed(_why(what, error))


def _why(what: str, error: GitHubError) -> str:
    match error:
        case NotFound():
            return f"{what} is not there, or may not be seen."
        case Gone():
            return f"{what} was deleted."
        case Moved():
            return f"{what} was moved to another repository, which is not read."
        case Forbidden(needed=(_, *_) as needed):
            return f"{what} may not be read: the App was not given {', '.join(needed)}."
        case _:
            return f"{what} could not be read: {error.reason}"


def _whole(asked: Mapping[str, object], name: str) -> int | None:
    value = asked.get(name)
    return int(value) if isinstance(value, int | float) else None
