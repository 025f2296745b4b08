"""What the issue names outright: definitions, modules, paths, options, messages, frames."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping

from worker.repo.ranking.places import stripped
from worker.repo.ranking.scan import Scene, Signal, last_name, rarity
from worker.repo.ranking.words import looks_like_code, parts

_RAISED = re.compile(r"(Error|Exception|Warning|Exit)$")
"""What is raised is named in issues for where it comes out, which is seldom where it is defined."""


def definitions(scene: Scene, names: Mapping[str, float]) -> Signal:
    """Files that define a name, more for a name that is defined in few places."""
    scores: dict[str, float] = defaultdict(float)
    best: dict[str, tuple[float, str]] = {}
    many = len(scene.candidates)
    for name, weight in names.items():
        files = scene.defined.get(name, {})
        if not files:
            continue
        value = weight * rarity(len(files), many) / rarity(1, many) / math.sqrt(len(files))
        if not looks_like_code(name):
            value *= 0.6
        if _RAISED.search(name):
            value *= 0.4
        for path in files:
            scores[path] += value
            if value > best.get(path, (0.0, ""))[0]:
                best[path] = (value, name)
    return Signal(
        _bent(scores, 2.0), {path: f"defines `{name}`, named in the issue" for path, (_, name) in best.items()}
    )


def modules(scene: Scene) -> Signal:
    """Files that a dotted name leads to; what is left of the name must be defined or used there to count in full."""
    scores: dict[str, float] = {}
    why: dict[str, str] = {}
    by_path = {hits.path: hits for hits in scene.candidates}
    for dotted, weight in scene.asked.dotted.items():
        files, left = scene.finder.module(dotted)
        names = [name for name in left.split(".") if name]
        for path in files:
            if len(names) == len(re.split(r"::|\.", dotted)):
                continue
            value = min(1.0, weight / 2) / len(files)
            if names:
                inside = {last_name(symbol.name) for symbol in by_path[path].symbols}
                value *= 1.0 if names[0] in inside else 0.3
            elif len(stripped(path).split("/")) < 2:
                value *= 0.3
            if value > scores.get(path, 0.0):
                scores[path] = value
                why[path] = f"`{dotted}` in the issue"
    return Signal(scores, why)


def methods(scene: Scene) -> Signal:
    """Files that define `Class.method` where the issue says so, by both parts."""
    whole: dict[str, list[str]] = defaultdict(list)
    for hits in scene.candidates:
        for symbol in hits.symbols:
            if "." in symbol.name or "::" in symbol.name:
                whole[".".join(re.split(r"::|\.", symbol.name)[-2:])].append(hits.path)
    scores: dict[str, float] = {}
    why: dict[str, str] = {}
    for dotted, weight in scene.asked.dotted.items():
        pieces = re.split(r"::|\.", dotted)
        for at in range(len(pieces) - 1):
            pair = ".".join(pieces[at : at + 2])
            files = set(whole.get(pair, ()))
            for path in files:
                scores[path] = scores.get(path, 0.0) + weight / len(files)
                why.setdefault(path, f"defines `{pair}`, named in the issue")
    return Signal(_bent(scores, 0.5), why)


def paths(scene: Scene) -> Signal:
    """Files whose path stands in the issue."""
    scores: dict[str, float] = {}
    why: dict[str, str] = {}
    for path, weight in scene.asked.paths.items():
        files = scene.finder.foreign(path)
        for file in files:
            if file not in scene.entries:
                continue
            value = min(1.0, weight / 2) / len(files)
            if value > scores.get(file, 0.0):
                scores[file], why[file] = value, "its path is in the issue"
    return Signal(scores, why)


def frames(scene: Scene) -> Signal:
    """Files of tracebacks, the one nearest to where the error was raised first.

    A frame of this package whose file has moved since counts for the files that define its function now.
    """
    scores: dict[str, float] = {}
    why: dict[str, str] = {}
    seen = 0
    for frame in scene.asked.frames:
        seen = 0 if frame.depth == 0 else seen
        files = [file for file in scene.finder.foreign(frame.path) if file in scene.entries]
        if not files and scene.finder.is_own(frame.path):
            files = list(scene.defined.get(frame.function.rpartition(".")[2], {}))
        if not files:
            continue
        seen += 1
        value = max(0.15, 0.6 ** (seen - 1)) / len(files)
        for file in files:
            if value > scores.get(file, 0.0):
                scores[file] = value
                place = "the deepest frame" if seen == 1 else f"frame {seen} from the end"
                why[file] = f"{place} of the traceback"
    return Signal(scores, why)


def file_words(scene: Scene, weights: Mapping[str, float]) -> Signal:
    """Files whose name holds words of the issue that few names hold."""
    return _path_words(scene, weights, slice(-1, None))


def folder_words(scene: Scene, weights: Mapping[str, float]) -> Signal:
    """Files below a folder that the issue speaks of."""
    return _path_words(scene, weights, slice(0, -1))


def _path_words(scene: Scene, weights: Mapping[str, float], where: slice) -> Signal:
    held: dict[str, set[str]] = {}
    found: dict[str, int] = defaultdict(int)
    for hits in scene.candidates:
        mine = {part for name in stripped(hits.path).split("/")[where] for part in parts(name)}
        held[hits.path] = mine
        for word in mine:
            found[word] += 1
    scores: dict[str, float] = {}
    why: dict[str, str] = {}
    for path, mine in held.items():
        values = {word: weights[word] * rarity(found[word], len(held)) for word in mine if word in weights}
        if values:
            scores[path] = sum(values.values())
            best = max(values, key=lambda word: values[word])
            why[path] = f"its path holds “{scene.asked.spelled.get(best, best)}”"
    return Signal(_bent(scores, 3.0 * rarity(1, len(held))), why)


def options(scene: Scene) -> Signal:
    """Files that hold, between quotes, an option or text that the issue shows."""
    found: dict[str, int] = defaultdict(int)
    for hits in scene.candidates:
        for option in hits.options:
            found[option] += 1
    scores: dict[str, float] = {}
    why: dict[str, str] = {}
    many = len(scene.candidates)
    for hits in scene.candidates:
        values = {
            option: scene.asked.options[option] * rarity(found[option], many) / math.sqrt(found[option])
            for option in hits.options
        }
        if values:
            best = max(values, key=lambda option: values[option])
            scores[hits.path] = sum(values.values())
            why[hits.path] = f"holds the text “{best}”"
    return Signal(_bent(scores, rarity(1, many)), why)


def messages(scene: Scene) -> Signal:
    """Files with texts of which three words in a row stand in the issue."""
    found: dict[int, int] = defaultdict(int)
    for hits in scene.candidates:
        for phrase in hits.phrases:
            found[phrase] += 1
    many = len(scene.candidates)
    scores: dict[str, float] = {}
    for hits in scene.candidates:
        if hits.phrases:
            value = sum(rarity(found[phrase], many) / found[phrase] for phrase in hits.phrases)
            scores[hits.path] = value
    return Signal(_bent(scores, 2.0 * rarity(1, many)), dict.fromkeys(scores, "holds a message that the issue shows"))


def _bent(scores: Mapping[str, float], scale: float) -> dict[str, float]:
    """Scores between 0 and 1: even the best file of all gets little where nothing telling was found."""
    return {path: 1 - math.exp(-score / scale) for path, score in scores.items()}
