"""Where templates are found: the built-in ones, and beside them an operator's own, which cannot take their places."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.core.choice import ordered
from app.core.template import HOME, Prompts, Template, TemplateUnreadable, read_template

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_VERSION = re.compile(r"\d+\.\d+\.\d+")


MARKS = ("<untrusted-text", "</untrusted-text")
"""What stands around text that is data; every prompt has to say what they mean."""

_CHANGING = "read_file search replace create_file delete_file move_file step_done cannot"
_READING = "list_files search symbols read_file history"
TOOLS: Mapping[str, str] = {
    "planner": f"{_READING} reopen scout submit_plan ask_author give_up",
    "executor": _CHANGING,
    "reviewer": "search read_file review",
    "scout": f"{_READING} report",
}
"""The tools that each role is given, which its prompt has to name."""


class Standing(StrEnum):
    """How a version stands to what was released."""

    RELEASED = "released"
    CHANGED = "changed since its release"
    OWN = "your own"
    UNRELEASED = "not released"
    SHADOWS = "has the name of a built-in one, which is used instead"


@dataclass(frozen=True, slots=True)
class Shelf:
    """The built-in templates in `home`, and those in `own`, if the operator has any."""

    own: Path | None = None
    home: Path = HOME

    def versions(self) -> Mapping[str, tuple[str, ...]]:
        """Every template by name, with its versions in rising order."""
        found: dict[str, set[str]] = {}
        for folder in self._folders():
            found.setdefault(folder.parent.name, set()).add(folder.name)
        return {name: ordered(found[name]) for name in sorted(found)}

    def read(self, name: str, version: str) -> Template:
        """The template, a built-in one before any other; raises `TemplateUnreadable`."""
        if _NAME.fullmatch(name) and _VERSION.fullmatch(version):
            for home in self._homes():
                if (home / name / version).is_dir():
                    return read_template(home / name / version)
        raise TemplateUnreadable(f"There is no template {name} in version {version}.")

    def standing(self, folder: Path) -> Standing:
        """What is to be said of one version's folder."""
        name = f"{folder.parent.name}/{folder.name}"
        if folder.parent.parent != self.home:
            return Standing.SHADOWS if (self.home / name).is_dir() else Standing.OWN
        released = json.loads((self.home / "released.json").read_text("utf-8"))
        if name not in released:
            return Standing.UNRELEASED
        try:
            same = read_template(folder).digest == released[name]
        except TemplateUnreadable:
            same = False
        return Standing.RELEASED if same else Standing.CHANGED

    def folders(self, name: str) -> tuple[Path, ...]:
        """Every folder that holds a version of this template, those that are not used included."""
        return tuple(folder for folder in self._folders() if folder.parent.name == name)

    def _homes(self) -> tuple[Path, ...]:
        return (self.home,) if self.own is None else (self.home, self.own)

    def _folders(self) -> tuple[Path, ...]:
        return tuple(
            folder
            for home in self._homes()
            for folder in sorted(home.glob("*/*"))
            if folder.is_dir() and _NAME.fullmatch(folder.parent.name) and _VERSION.fullmatch(folder.name)
        )


def doubts(template: Template) -> tuple[str, ...]:
    """What makes a template that can be read unfit all the same: tools or marks that its prompts do not tell of."""
    if template.rule is not None:
        return ()
    found = []
    for role in Prompts.model_fields:
        prompt, tools = getattr(template.prompts, role), TOOLS[role]
        if role == "executor" and template.answers:
            tools = f"{_READING} answer cannot"
        unnamed = [tool for tool in tools.split() if f"`{tool}" not in prompt]
        if unnamed:
            found.append(f"The {role}'s prompt does not name its tools: {', '.join(unnamed)}.")
        if not all(mark in prompt for mark in MARKS):
            found.append(f"The {role}'s prompt does not say what the marks of data mean ({' … '.join(MARKS)}>).")
    return tuple(found)


def told_of(folder: Path) -> bool:
    """Whether the change log beside a version's folder, `NAME/CHANGELOG.md`, has a heading for it."""
    try:
        log = (folder.parent / "CHANGELOG.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return re.search(rf"^## {re.escape(folder.name)}\b", log, re.MULTILINE) is not None
