"""The script: parts for the roles that call a model, each a list of turns, each turn one answer to one request.

name: what this script is for
parts:
  - role: planner | executor | scout | reviewer     # known by the tool that only this role is offered
    step: 2                                          # executor only: the first "step N" of its opening message
    repair: 1                                        # executor only: the "Repair N" that its opening begins with
    about: ["text"]                                  # only conversations whose opening message shows these
    turns:
      - when: ["text"]                               # goes on only if the request's messages show these
        text: "what the model says"
        calls: [{name: read_file, input: {path: a.py}}]
        delay: 0.2                                   # seconds before the answer
      - cut: {name: submit_plan, input: {}}          # stops at max_tokens, or as `stop` says; `name` may be left out
      - malformed: {name: replace, input: "{\\"pa"}   # a tool call whose input is not an object
      - refusal: cyber                               # stops with a refusal of this category
      - pause: true                                  # stops with pause_turn
      - error: 529                                   # an error body; `retry_after: 2` adds the header
        repeat: 3                                    # the same turn this many times
      - raw: "<html>"                                # status 200 and this body
      - torn: 40                                     # so many bytes of an answer, and the connection is closed
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

ROLES: Mapping[str, str] = {
    "submit_plan": "planner",
    "step_done": "executor",
    "answer": "executor",
    "review": "reviewer",
    "report": "scout",
}
_KINDS = ("text", "calls", "cut", "malformed", "refusal", "pause", "error", "raw", "torn")
_TURN_FIELDS = frozenset({*_KINDS, "when", "delay", "repeat", "retry_after", "message", "after_failure"})
_PART_FIELDS = frozenset({"role", "step", "repair", "about", "turns"})


class ScriptError(ValueError):
    """The script cannot be read; the message says where."""


@dataclass(frozen=True)
class Turn:
    """One answer. `fields` are the turn's own words as written in the script."""

    when: tuple[str, ...]
    fields: Mapping[str, object]

    @property
    def is_fault(self) -> bool:
        """True for answers after which a client is expected to try again; a late one may have gone unheard."""
        return bool({"error", "raw", "torn", "delay"} & set(self.fields))


@dataclass(frozen=True)
class Part:
    """The turns of one conversation of one role."""

    role: str
    step: int | None
    repair: int | None
    about: tuple[str, ...]
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Script:
    """All parts, in the order in which they are tried."""

    name: str
    parts: tuple[Part, ...]


def read_script(path: Path) -> Script:
    """The script in a YAML file; raises `ScriptError`."""
    try:
        written = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ScriptError(f"{path.name} cannot be read: {error}") from error
    return parse_script(written)


def parse_script(written: object) -> Script:
    """The script in plain values; raises `ScriptError`."""
    if not isinstance(written, dict) or not isinstance(written.get("parts"), list):
        raise ScriptError("A script is a mapping with a list of parts.")
    parts = tuple(_part(one, f"part {number}") for number, one in enumerate(written["parts"], 1))
    return Script(name=str(written.get("name", "a script")), parts=parts)


def _part(written: object, where: str) -> Part:
    if not isinstance(written, dict) or set(written) - _PART_FIELDS:
        raise ScriptError(f"{where} must be a mapping of {', '.join(sorted(_PART_FIELDS))}.")
    role = str(written.get("role"))
    if role not in ROLES.values():
        raise ScriptError(f"{where} has the role {role!r}, not one of {', '.join(ROLES.values())}.")
    turns: list[Turn] = []
    for number, one in enumerate(written.get("turns") or [], 1):
        turns += _turns(one, f"{where}, turn {number}")
    if not turns:
        raise ScriptError(f"{where} has no turns.")
    step, repair = (None if written.get(name) is None else int(written[name]) for name in ("step", "repair"))
    return Part(role, step, repair, tuple(written.get("about") or ()), tuple(turns))


def _turns(written: object, where: str) -> list[Turn]:
    if not isinstance(written, dict) or not set(written) & set(_KINDS):
        raise ScriptError(f"{where} must have one of {', '.join(_KINDS)}.")
    if strange := set(written) - _TURN_FIELDS:
        raise ScriptError(f"{where} has the unknown fields {', '.join(sorted(strange))}.")
    turn = Turn(when=tuple(written.get("when") or ()), fields=written)
    return [turn] * int(written.get("repeat", 1))
