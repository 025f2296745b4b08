"""`make bench-edit REPOS=dir`: real edits damaged as models damage them, and what the edit engine makes of each.

Per kind of damage and number of context lines, in percent: placed (the file is exactly what it must be), refused (the
file is as it was), wrong (anything else). Hunks are those of a file of issues and, with `--commits`, of some commits.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from app.core.verdict import Refused
from infra.bench.edit_cases import Hunk, hunks_of_commits, hunks_of_issues
from infra.bench.edit_damage import DAMAGES, Edit
from infra.bench.edit_field import verdicts
from infra.bench.edit_speed import speed
from worker.repo.placed import NotPlaced
from worker.repo.textedits import replaced

CONTEXTS = (0, 1, 2, 3)
SEED = 7

UNCHANGED = ("undamaged", "crlf in the file", "crlf in the texts")
IN_ITS_PLACE = ("first indent cut", "first line cut", "first line lost", "last line cut")
"""The damaged text stands in the file, in the place that is meant: the damage is what the new text has beyond it."""

OF_BLANKS = ("outdented", "indented", "tabbed", *IN_ITS_PLACE)
"""Damages of what an edit of nothing but blanks is about."""


def outcome(edit: Edit) -> tuple[str, str]:
    """`placed`, `refused` or `wrong`, and the kind of refusal."""
    made = replaced(edit.path, edit.file.encode(), edit.old, edit.new)
    if isinstance(made, Refused):
        return "refused", str(made.why) if isinstance(made, NotPlaced) else "other"
    return ("placed", "") if made.content == edit.wanted.encode() else ("wrong", "")


def damaged(name: str, hunk: Hunk) -> Edit | None:
    """The edit with this damage; None where it does not apply.

    A damaged text that stands in the file byte for byte is the search text of another edit, and shows nothing; nor does
    a new text that stands there beforehand, or a damage of the indents that the edit is about.
    """
    edit = DAMAGES[name](hunk, random.Random(f"{SEED}{name}{hunk.path}{hunk.start}"))
    whole = DAMAGES["undamaged"](hunk, random.Random(SEED))
    if edit is None or whole is None or name == "already applied":
        return edit
    if whole.new and whole.new in whole.file and whole.old in whole.new:
        return None
    if name in OF_BLANKS and [line.strip() for line in hunk.old] == [line.strip() for line in hunk.new]:
        return None
    return (
        None
        if name not in UNCHANGED and name not in IN_ITS_PLACE and edit.old != whole.old and edit.old in edit.file
        else edit
    )


def matrix(hunks: Iterable[Hunk], show_wrong: int = 0) -> dict[str, Any]:
    """By damage and context, the shares; and every kind of refusal, counted."""
    counts: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    whys: dict[str, Counter[str]] = defaultdict(Counter)
    for hunk in hunks:
        for context in CONTEXTS:
            narrow = hunk.narrowed(context)
            for name in DAMAGES:
                edit = damaged(name, narrow)
                if edit is None:
                    continue
                what, why = outcome(edit)
                counts[name, context][what] += 1
                whys[name].update([why] if why else [])
                if what == "wrong" and show_wrong:
                    show_wrong -= 1
                    print(json.dumps({"damage": name, "context": context, "path": edit.path, "old": edit.old}))
    report: dict[str, Any] = {
        name: {str(context): _shares(counts[name, context]) for context in CONTEXTS}
        | {"refused": dict(whys[name].most_common())}
        for name in DAMAGES
    }
    everything = sum((counted for counted in counts.values()), Counter[str]())
    return report | {"edits": everything.total(), "wrong": everything["wrong"]}


def _shares(counted: Counter[str]) -> str:
    many = sum(counted.values())
    shares = [f"{100 * counted[what] / many:.1f}" for what in ("placed", "refused")] if many else ["-", "-"]
    return f"{' / '.join(shares)} / {counted['wrong']} wrong of {many}"


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repos", type=Path, help="a folder of bare clones, owner+name.git")
    parser.add_argument("issues", type=Path)
    parser.add_argument("--blocks", type=Path, help="edit blocks with the right verdicts, one JSON object a line")
    parser.add_argument("--commits", type=int, default=0, help="commits of every clone whose hunks are damaged as well")
    parser.add_argument("--show-wrong", type=int, default=0, help="print so many of the edits that went wrong")
    asked = parser.parse_args()
    report: dict[str, Any] = {}
    if asked.blocks:
        report["blocks"] = verdicts(asked.blocks)
    report["issues"] = matrix(hunks_of_issues(asked.issues, asked.repos), asked.show_wrong)
    if asked.commits:
        report["commits"] = matrix(hunks_of_commits(asked.repos, asked.commits, SEED), asked.show_wrong)
    report["speed"] = speed()
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
