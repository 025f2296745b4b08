"""Where templates are found: the built-in ones, and beside them an operator's own, which cannot take their places."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.core.choice import ordered
from app.core.template import HOME, Template, TemplateUnreadable, read_template

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_VERSION = re.compile(r"\d+\.\d+\.\d+")


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
