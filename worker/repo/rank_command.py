"""`countersign rank --repo PATH --commit SHA --issue FILE --top K`: the places that the planner would start from."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from app.core.paths import shown
from worker.repo.clone import Clone, NoClone
from worker.repo.ranking.issue import IssueText
from worker.repo.ranking.ranking import Ranked, rank
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache

NOT_FOUND = 1
REFUSED = 2
MOST = 200


def rank_command(words: Sequence[str]) -> int:
    """Prints one line per file. Exit code 1 for a repository, commit or file that is missing, 2 for a wrong number."""
    parser = argparse.ArgumentParser(prog="countersign rank", description="Files that an issue may be about.")
    parser.add_argument("--repo", required=True, type=Path, help="a repository's folder, bare or not")
    parser.add_argument("--commit", default="HEAD", help="a commit's id, a branch or a tag")
    parser.add_argument("--issue", required=True, help="a file, its first line the title; - reads standard input")
    parser.add_argument("--top", type=int, default=10, help="how many files")
    parser.add_argument("--cache", type=Path, help="a folder that keeps what was parsed from one time to the next")
    asked = parser.parse_args(list(words))
    if not 1 <= asked.top <= MOST:
        sys.stderr.write(f"--top is between 1 and {MOST}.\n")
        return REFUSED
    try:
        issue = issue_in(sys.stdin.read() if asked.issue == "-" else Path(asked.issue).read_text("utf-8", "replace"))
        clone = Clone(asked.repo)
        commit = clone.commit(asked.commit)
    except OSError as unread:
        sys.stderr.write(f"{asked.issue} cannot be read: {unread.strerror}.\n")
        return NOT_FOUND
    except NoClone as missing:
        sys.stderr.write(f"{missing}\n")
        return NOT_FOUND
    except KeyError:
        sys.stderr.write(f"{asked.repo} has no commit {asked.commit}.\n")
        return NOT_FOUND
    with tempfile.TemporaryDirectory(prefix="countersign-rank-") as folder, Snapshot(clone, commit) as snapshot:
        kept: Path = asked.cache or Path(folder)
        try:
            cache = IndexCache(kept / "index.db", SymbolCache(kept / "symbols.db"))
        except OSError as unmade:
            sys.stderr.write(f"{kept} cannot hold a cache: {unmade.strerror}.\n")
            return NOT_FOUND
        for number, place in enumerate(rank(issue, snapshot, cache, asked.top), 1):
            sys.stdout.write(line_of(number, place) + "\n")
    return 0


def issue_in(text: str) -> IssueText:
    """An issue from a file: the first line that holds something is the title, a Markdown heading or not."""
    title, _, body = text.lstrip("\ufeff\r\n\t ").partition("\n")
    return IssueText(title.lstrip("# ").strip(), body)


def line_of(number: int, place: Ranked) -> str:
    """One line: place, score, path, reason, definitions."""
    symbols = f"  [{', '.join(place.symbols)}]" if place.symbols else ""
    return f"{number:>3}  {place.score:6.2f}  {shown(place.path)}  {shown(place.reason + symbols)}"
