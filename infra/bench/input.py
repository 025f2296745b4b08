"""`make bench-input`: what an investigation of forty calls gives a model to read, against an ever-growing transcript.

The same calls on the same repository, once by the planner with its case file and once as a conversation that keeps
everything, both against the scripted Messages API. Counted is what that API received: prompt, tools and messages, four
characters to a token. `cacheable` is what was the same, from the first byte on, in the request before.
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from app.core.belts import Belt
from app.core.budget import Cap, Meter
from app.core.plan import ModelPins
from app.core.policy import Policy
from app.core.run import Request
from app.core.shelf import Shelf
from app.core.template import Template
from infra.scripted_model.server import ScriptedModel
from worker.belts import planner
from worker.belts.conversation import Conversation
from worker.belts.looking_up import LookUps, NotNow
from worker.belts.reading_up import ReadUp
from worker.belts.reproducing import Reproducing, Workplace
from worker.box.box import open_box
from worker.box.checks import Ground, discover
from worker.evidence.trace import Trace
from worker.github.reader import Reader
from worker.model.client import Access, Model
from worker.model.conversation import Done, Handler, Limits, Opening, converse
from worker.model.prices import Tokens, cost
from worker.model.words import Tool
from worker.repo.clone import Clone
from worker.repo.ranking.issue import IssueText
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache, language_of
from worker.repo.tools import ReadTools

CALLS = 40
_ENDING: dict[str, Any] = {"name": "give_up", "input": {"reason": "Enough."}}
_MODEL = "claude-opus-5-5"
_MARK = '"cache_control": {"type": "ephemeral"}'


class Artifacts:
    """Kept in memory."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def put_artifact(self, content: bytes, media: str) -> str:
        """Kept under its SHA-256."""
        reference = hashlib.sha256(content).hexdigest()
        self._kept[reference] = content
        return reference

    def artifact(self, sha: str) -> bytes | None:
        """What is kept."""
        return self._kept.get(sha)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the investigation takes place."""

    snapshot: Snapshot
    symbols: SymbolCache
    index: IndexCache
    tree: Path
    template: Template


def looks(snapshot: Snapshot, count: int) -> list[dict[str, Any]]:
    """So many calls as an investigation makes them: a search, a file's definitions, two reads in it, its history."""
    files = sorted((one for one in snapshot.list() if language_of(one.path)), key=lambda one: (-one.size, one.path))
    calls: list[dict[str, Any]] = []
    for entry in files[: count // 5 + 1]:
        stem = entry.path.rpartition("/")[2].partition(".")[0]
        calls += [
            {"name": "search", "input": {"pattern": stem, "mode": "literal"}},
            {"name": "symbols", "input": {"path": entry.path}},
            {"name": "read_file", "input": {"path": entry.path, "start": 1, "end": 200}},
            {"name": "read_file", "input": {"path": entry.path, "start": 201, "end": 400}},
            {"name": "history", "input": {"path": entry.path}},
        ]
    return calls[:count]


def note(number: int) -> dict[str, Any]:
    """What a planner writes down beside every third call: in the transcript it has no use."""
    one = {"id": f"H{number}", "says": f"What call {number} showed bears on the cause, in a sentence of usual length."}
    return {"name": "note", "input": {"hypotheses": [one | {"standing": "open", "for": [], "against": []}]}}


def by_case_file(place: Place, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The requests of the planner itself."""
    turns = [{"calls": [call, *([note(at // 3 + 1)] if at % 3 == 2 else [])]} for at, call in enumerate(calls)]
    with ScriptedModel.start({"parts": [{"role": "planner", "turns": [*turns, {"calls": [_ENDING]}]}]}) as api:
        model = Model(Access("a key", api.url), _MODEL)
        planner.draft(task(place), desk(place, model), wide())
        return [one["body"] for one in api.requests]


def by_transcript(place: Place, calls: Sequence[Mapping[str, Any]], first: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The same calls in a conversation that opens as the planner's does, with the same tools, and keeps everything."""
    turns = [{"calls": [call]} for call in calls]
    reading = dict(ReadTools(place.snapshot, place.symbols).every())
    tools: dict[str, tuple[Tool, Handler[str]]] = {
        one["name"]: reading.get(one["name"], (_as_sent(one), lambda _: Done("ended"))) for one in first["tools"]
    }
    opening = Opening(first["system"][0]["text"], "\n\n".join(one["text"] for one in first["messages"][0]["content"]))
    with ScriptedModel.start({"parts": [{"role": "planner", "turns": [*turns, {"calls": [_ENDING]}]}]}) as api:
        converse(Model(Access("a key", api.url), _MODEL), opening, tools, wide(), Limits(replies=CALLS + 1))
        return [one["body"] for one in api.requests]


def _as_sent(tool: Mapping[str, Any]) -> Tool:
    """A tool that ends the conversation, as large as the one that it stands for."""
    text = {"type": "string", "description": json.dumps(tool["input_schema"])}
    schema = {"type": "object", "properties": {"reason": text}, "additionalProperties": False}
    return Tool(tool["name"], tool["description"], schema)


def wide() -> Meter:
    """A budget that ends nothing."""
    return Meter(Cap(usd=Decimal(1_000), calls=1_000, minutes=600))


def task(place: Place) -> planner.Task:
    """A plan for an issue of usual length."""
    body = "It happens since the last release, and only for some values.\n\n" + "Some words of what was seen. " * 40
    read = ReadUp(
        title="The result is wrong in the last step",
        body=body,
        author="olga",
        conversation=Conversation(),
        hidden=(),
        issue_digest="0" * 64,
        base_branch="main",
        base_commit=place.snapshot.commit,
    )
    request = Request(
        run="a run",
        installation_id=1,
        repository_id=1,
        repository="acme/measured",
        issue_number=1,
        issue_title=read.title,
        issue_digest=read.issue_digest,
        label="countersign",
        author=None,
        labeller=None,
    )
    return planner.Task(request, 1, "", read)


def desk(place: Place, model: Model) -> planner.Desk:
    """What the planner works with here."""
    return planner.Desk(
        template=place.template,
        policy=Policy(),
        pins=ModelPins(planner=_MODEL, executor=_MODEL, reviewer=_MODEL),
        planner=model,
        scout=model,
        snapshot=place.snapshot,
        symbols=place.symbols,
        index=place.index,
        checks=discover(place.tree),
        ground=Ground(place.tree),
        shelf=Artifacts(),
        trace=Trace("a run", Belt.PLANNER),
        groups=(LookUps(_nowhere, place.snapshot.commit), Reproducing(_workplace(place))),
    )


def _workplace(place: Place) -> Workplace:
    """Offered and never used."""
    return Workplace(
        tree=place.tree,
        snapshot=place.snapshot,
        issue=IssueText("", ""),
        checks=(),
        index=place.index,
        trace=Trace("a run", Belt.PLANNER),
        open_box=open_box,
        prepare=lambda _needs, _tree: (),
    )


def _nowhere() -> AbstractContextManager[Reader]:
    raise NotNow("Nothing is looked up here.")


def counted(bodies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Tokens in all and by turn, how much of them was the same as in the request before, and the list price of all.

    What is marked and was not the same is written to the cache, which costs a quarter more than to read it once.
    """
    texts = [_text(one) for one in bodies]
    same = [0, *(_same(*pair) for pair in pairwise(texts))]
    sizes = [len(text) // 4 for text in texts]
    every = sum(sizes)
    usd = Decimal(0)
    for body, text, before in zip(bodies, texts, same, strict=True):
        marked = max(_marked(body, text), before)
        tokens = Tokens(cached=before // 4, written=(marked - before) // 4, fresh=(len(text) - marked) // 4)
        usd += cost(_MODEL, tokens) or Decimal("NaN")
    return {
        "turns": len(sizes),
        "input_tokens": every,
        "first_turn": sizes[0],
        "turn_11": sizes[10],
        "turn_21": sizes[20],
        "last_turn": sizes[-1],
        "largest_turn": max(sizes),
        "cacheable_percent": round(100 * sum(same) / 4 / every, 1),
        "usd_if_cached": str(round(usd, 2)),
    }


def _text(body: Mapping[str, Any]) -> str:
    """What the model reads; where it is marked to be cached is no part of it."""
    whole = json.dumps([body["tools"], body["system"], body["messages"]], ensure_ascii=False)
    return whole.replace(f", {_MARK}", "")


def _marked(body: Mapping[str, Any], text: str) -> int:
    """How much of the text stands before the last mark: all of it where the request as a whole is marked."""
    if "cache_control" in body:
        return len(text)
    whole = json.dumps([body["tools"], body["system"], body["messages"]], ensure_ascii=False)
    return len(whole[: whole.rindex(_MARK)].replace(f", {_MARK}", ""))


def _same(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("repo", type=Path, help="a repository's folder, bare or not")
    parser.add_argument("commit", nargs="?", default="HEAD")
    asked = parser.parse_args()
    clone = Clone(asked.repo)
    shelf = Shelf()
    template = shelf.read("bugfix", shelf.versions()["bugfix"][-1])
    with tempfile.TemporaryDirectory() as folder, Snapshot(clone, clone.commit(asked.commit)) as snapshot:
        tree = Path(folder) / "tree"
        snapshot.export(tree)
        symbols = SymbolCache(Path(folder) / "symbols.db")
        index = IndexCache(Path(folder) / "index.db", symbols)
        place = Place(snapshot, symbols, index, tree, template)
        calls = looks(snapshot, CALLS)
        bodies = by_case_file(place, calls)
        ours = counted(bodies)
        transcript = counted(by_transcript(place, calls, bodies[0]))
        files = len(snapshot.list())
    report = {
        "at": f"{datetime.now(UTC):%Y-%m-%d}",
        "files": files,
        "template": f"{template.name} {template.version}",
        "calls": len(calls),
        "case_file": ours,
        "transcript": transcript,
        "ratio": round(ours["input_tokens"] / transcript["input_tokens"], 3),
    }
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
