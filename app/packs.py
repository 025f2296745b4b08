"""The templates as an operator sees them on the command line: listed, compared, validated, scored."""

import argparse
import difflib
import sys
from pathlib import Path

from app.core.choice import current_version, is_allowed
from app.core.shelf import Shelf, Standing, doubts, told_of
from app.core.template import TemplateUnreadable, read_template
from app.settings import TemplateSettings, environment, ledger_settings, template_settings


def add_templates(templates: argparse.ArgumentParser) -> None:
    """The command `templates` with its parts; each sets `do`, which answers with an exit code."""
    templates.set_defaults(do=_listed)
    parts = templates.add_subparsers(metavar="PART")
    diff = parts.add_parser("diff", help="what differs between two versions")
    for word in ("name", "old", "new"):
        diff.add_argument(word)
    diff.set_defaults(do=_compared)
    validate = parts.add_parser("validate", help="whether a folder NAME/VERSION holds a template that can be used")
    validate.add_argument("folder", type=Path)
    validate.set_defaults(do=_validated)
    scores = parts.add_parser("scores", help="what became of the runs of each version")
    scores.set_defaults(do=_scored)


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")


def _listed(asked: argparse.Namespace) -> int:
    settings = template_settings(environment())
    shelf, broken = Shelf(settings.folder), 0
    for name, versions in shelf.versions().items():
        for folder in shelf.folders(name):
            try:
                about = read_template(folder).about
            except TemplateUnreadable as error:
                about, broken = f"cannot be read: {' '.join(str(error).split())}", broken + 1
            standing = shelf.standing(folder)
            part = "not used" if standing is Standing.SHADOWS else _part(name, folder.name, versions, settings)
            _out(f"{name:<12} {folder.name:<8} {standing:<10} {part:<22} {about}")
    return 1 if broken else 0


def _part(name: str, version: str, versions: tuple[str, ...], settings: TemplateSettings) -> str:
    """The part that a version plays under the operator's settings."""
    rules = settings.rules
    candidate = rules.candidates.get(name)
    if candidate is not None and candidate.version == version:
        return f"candidate, {candidate.percent}%"
    if not is_allowed(name, version, rules):
        return "not allowed"
    if current_version(name, versions, rules) != version:
        return "older"
    return "current, the only one" if rules.pins.get(name) == version else "current"


def _compared(asked: argparse.Namespace) -> int:
    shelf = Shelf(template_settings(environment()).folder)
    folders = {folder.name: folder for folder in reversed(shelf.folders(asked.name))}
    missing = [version for version in (asked.old, asked.new) if version not in folders]
    if missing:
        there = ", ".join(sorted(folders)) or "none"
        sys.stderr.write(f"There is no version {missing[0]} of {asked.name}; there are: {there}.\n")
        return 1
    old, new = folders[asked.old], folders[asked.new]
    for name in sorted({path.name for path in (*old.iterdir(), *new.iterdir())}):
        before, after = _lines(old / name), _lines(new / name)
        titles = (f"{asked.name}/{asked.old}/{name}", f"{asked.name}/{asked.new}/{name}")
        for line in difflib.unified_diff(before, after, *titles, lineterm=""):
            _out(line)
    return 0


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.is_file() else []


def _validated(asked: argparse.Namespace) -> int:
    folder: Path = asked.folder.expanduser().absolute()
    try:
        template = read_template(folder)
    except TemplateUnreadable as error:
        sys.stderr.write(f"{error}\n")
        return 1
    said = list(doubts(template))
    if Shelf(folder.parent.parent).standing(folder) is Standing.SHADOWS:
        said.append(f"{template.name} {template.version} is a built-in template; give yours another name or version.")
    if not told_of(folder):
        said.append(f"{folder.parent.name}/CHANGELOG.md has no heading `## {folder.name}`.")
    for sentence in said:
        sys.stderr.write(f"{sentence}\n")
    if not said:
        _out(f"{template.name} {template.version} can be used. Its digest is {template.digest}.")
    return 1 if said else 0


def _scored(asked: argparse.Namespace) -> int:
    from app.ledger import open_ledger

    for one in open_ledger(ledger_settings(environment()).url).template_scores():
        ends = ", ".join(f"{count} {end.replace('_', ' ')}" for end, count in one.ends.most_common())
        _out(
            f"{one.name:<12} {one.version:<8} {one.runs:>4} runs, {one.planned} planned, {one.revised} revised, "
            f"{one.drafts} drafts, ${one.usd_each:.2f} each: {ends}"
        )
    return 0
