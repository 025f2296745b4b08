"""What the history says: commits whose words are the issue's, and files that change often."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from worker.repo.git import Bounds, Git, GitError
from worker.repo.ranking.scan import Scene, Signal, rarity
from worker.repo.ranking.store import IndexCache
from worker.repo.ranking.words import NAME, SILENT, parts

COMMITS = 1500
"""How far back the history is read."""

_MOST_FILES = 12
"""A commit that touched more files says little of any of them."""

_NUMBER = re.compile(r"(?:(?<![\w/])#|\bgh-|/(?:issues|pull)/)(\d{1,7})\b", re.IGNORECASE)
_FORM = "past4"


@dataclass(frozen=True, slots=True)
class PastCommit:
    """A commit's words, as stems, the files it touched, the numbers of issues it names, and its id."""

    words: tuple[str, ...]
    files: tuple[str, ...]
    numbers: tuple[int, ...]
    id: str


def past_commits(git: Git, commit: str, cache: IndexCache) -> tuple[PastCommit, ...]:
    """The newest commits up to this one, newest first; each is read from git once. Empty where there is no history."""
    try:
        listed = git.run("rev-list", "--no-merges", f"--max-count={COMMITS}", commit, "--", bounds=Bounds(20.0))
    except GitError:
        return ()
    ids = listed.decode().split()
    known = {key.partition(":")[2]: value for key, value in cache.kept([f"{_FORM}:{one}" for one in ids])}
    missing = [one for one in ids if one not in known]
    fresh = _read(git, missing)
    cache.keep([(f"{_FORM}:{one}", value) for one, value in fresh.items()])
    known |= fresh
    decode = msgspec.msgpack.Decoder(tuple[tuple[str, ...], tuple[str, ...], tuple[int, ...]]).decode
    return tuple(PastCommit(*decode(known[one]), one) for one in ids if one in known)


def _read(git: Git, ids: Sequence[str]) -> dict[str, bytes]:
    if not ids:
        return {}
    words = ["diff-tree", "--stdin", "-r", "--root", "--name-only", "-z", "--no-ext-diff"]
    words += ["--no-renames", "--format=%x01%H%x02%B%x02"]
    try:
        out = git.run(*words, input="".join(f"{one}\n" for one in ids).encode(), bounds=Bounds(60.0, 256_000_000))
    except GitError:
        return {}
    found = {}
    asked = {one.encode() for one in ids}
    for record in out.split(b"\x01")[1:]:
        pieces = record.split(b"\x02")
        # A message may hold these signs as well; what it makes of them is no commit.
        if len(pieces) != 3 or pieces[0] not in asked:
            continue
        said = pieces[1].decode("utf-8", "replace")[:2_000]
        stems = {part for name in NAME.findall(said) for part in parts(name)} - SILENT
        numbers = sorted({int(number) for number in _NUMBER.findall(said)})
        names = [name.removeprefix(b"\n") for name in pieces[2].split(b"\0")]
        # A name that is not UTF-8 cannot be kept; it still counts as one of the files.
        files = tuple(name.decode("utf-8", "replace") for name in names if name)
        found[pieces[0].decode()] = msgspec.msgpack.encode((sorted(stems), files[: _MOST_FILES + 1], numbers))
    return found


def alike(scene: Scene, past: Sequence[PastCommit], weights: Mapping[str, float]) -> Signal:
    """Files touched by the commits whose words are most like the issue's."""
    found: Counter[str] = Counter()
    for commit in past:
        found.update(word for word in commit.words if word in weights)
    value = {word: weights[word] * rarity(count, len(past)) for word, count in found.items()}
    scores: dict[str, float] = defaultdict(float)
    ranked = []
    for commit in past:
        files = [file for file in commit.files if file in scene.entries]
        if files and len(commit.files) <= _MOST_FILES:
            said = sum(value.get(word, 0.0) for word in commit.words) / math.sqrt(4 + len(commit.words))
            if said:
                ranked.append((said, files))
    ranked.sort(key=lambda each: -each[0])
    for said, files in ranked[:40]:
        for file in files:
            scores[file] += said * said / len(files)
    return Signal(
        {path: math.sqrt(score) for path, score in scores.items()},
        dict.fromkeys(scores, "changed by commits that speak of the same"),
    )


def referred(scene: Scene, past: Sequence[PastCommit]) -> Signal:
    """Files touched by commits that the issue names, or that name the same issues."""
    asked = scene.asked
    scores: dict[str, float] = defaultdict(float)
    for commit in past if asked.numbers or asked.commits else ():
        files = [file for file in commit.files if file in scene.entries]
        named = any(commit.id.startswith(one) for one in asked.commits)
        if files and len(commit.files) <= _MOST_FILES and (named or not asked.numbers.isdisjoint(commit.numbers)):
            for file in files:
                scores[file] += 1.0 / len(files)
    return Signal(
        {path: min(1.0, score) for path, score in scores.items()},
        dict.fromkeys(scores, "changed by a commit that the issue refers to"),
    )
