"""Scouts over real HTTP and real git objects: out side by side, paid for whatever becomes of them, ended by caps."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from app.core.belts import Belt
from app.core.budget import Cap, Meter
from app.core.shelf import Shelf
from app.core.template import Template
from infra.scripted_model.play import Play
from infra.scripted_model.script import parse_script
from worker.belts.scout import CameBack, Errand, Lost, send_out
from worker.evidence.trace import Trace
from worker.model.client import Access, Model, ModelUnavailable
from worker.repo.clone import Clone
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache
from worker.repo.tools import ReadTools

FILES = {"a.py": "def a():\n    return 1\n", "b.py": "def b():\n    return 2\n"}
Parts = list[dict[str, Any]]


def call(name: str, **given: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "input": given}]}


def part(about: str, *turns: dict[str, Any]) -> dict[str, Any]:
    return {"role": "scout", "about": [about], "turns": list(turns)}


def seen(path: str, text: str, **more: Any) -> dict[str, Any]:
    return call("report", observations=[{"path": path, "start": 1, "end": 2, "text": text, **more}])


class Api:
    """A scripted Messages API that answers its first requests only once so many of them are waiting."""

    def __init__(self, parts: Parts, together: int = 1) -> None:
        self.play = Play(parse_script({"parts": parts}))
        gate, left, play = threading.Barrier(together), [together], self.play

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                return

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if left[0] > 0:
                    # Whoever sends one request after the other waits here in vain.
                    gate.wait(20)
                    left[0] -= 1
                answer = play.answer(body)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def model(self, trace: Trace) -> Model:
        access = Access("a key", f"http://127.0.0.1:{self.server.server_port}", attempts=1, timeout_seconds=30)
        return Model(access, "claude-haiku-4-5", trace.replied("scout"))


@pytest.fixture
def api() -> Iterator[Callable[..., Api]]:
    running: list[Api] = []

    def start(parts: Parts, together: int = 1) -> Api:
        running.append(Api(parts, together))
        return running[-1]

    yield start
    for one in running:
        one.server.shutdown()
        one.server.server_close()


@pytest.fixture
def snapshot(tmp_path: Path) -> Iterator[Snapshot]:
    folder = tmp_path / "shop"
    folder.mkdir()
    for path, text in FILES.items():
        (folder / path).write_text(text)
    who = ["-c", "user.name=mira", "-c", "user.email=mira@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "a shop"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    clone = Clone(folder)
    with Snapshot(clone, clone.commit("HEAD")) as opened:
        yield opened


@pytest.fixture
def template() -> Template:
    return Shelf().read("bugfix", "1.0.0")


@pytest.fixture
def trace() -> Trace:
    return Trace("a run", Belt.PLANNER)


@pytest.fixture
def sent(
    snapshot: Snapshot, template: Template, trace: Trace, tmp_path: Path
) -> Callable[..., tuple[list[CameBack | Lost], Meter]]:
    """Sends scouts with these questions; answers with what they came back with and the meter."""
    reading = ReadTools(snapshot, SymbolCache(tmp_path / "symbols.db"))

    def send(served: Api, *questions: str, meter: Meter | None = None, **limits: int):
        bounds = template.model_copy(update={"limits": template.limits.model_copy(update=limits)})
        model = served.model(trace)
        errands = [Errand(question, bounds, model, snapshot, reading) for question in questions]
        meter = meter or Meter(Cap(usd=Decimal(5), calls=40, minutes=10))
        return send_out(errands, meter, trace), meter

    return send


def test_scouts_are_out_at_the_same_time_and_come_back_in_the_order_of_their_questions(api, sent, trace):
    parts = [part("first", call("symbols", path="a.py"), seen("a.py", "It is a.")), part("second", seen("b.py", "B."))]
    back, meter = sent(api(parts, together=2), "first", "second")
    assert [[one.text for one in each.seen] for each in back] == [["It is a."], ["B."]]
    assert meter.spent.calls == 3 and meter.spent.input_tokens > 0
    spans = trace.taken()
    assert sorted(one.name for one in spans if one.kind == "tool") == ["scout", "scout"]
    assert [one.run for one in spans] == ["a run"] * 5


def test_what_all_have_spent_is_charged_when_one_of_them_ends_with_an_error(api, sent):
    parts = [part("first", {"error": 500}), part("second", call("read_file", path="b.py"), seen("b.py", "It is b."))]
    meter = Meter(Cap(usd=Decimal(5), calls=40, minutes=10))
    with pytest.raises(ModelUnavailable):
        sent(api(parts, together=2), "first", "second", meter=meter)
    assert meter.spent.calls == 2


def test_a_scout_hears_that_its_last_reply_is_the_last(api, sent):
    looks = {**call("read_file", path="a.py"), "repeat": 2}
    served = api([part("Where?", looks, {**seen("a.py", "Here."), "when": ["One reply is left to you"]})])
    (back,), _ = sent(served, "Where?", scout_calls=3)
    assert isinstance(back, CameBack) and back.seen[0].text == "Here."
    told = ["One reply is left" in json.dumps(one["body"]["messages"]) for one in served.play.requests]
    assert told == [False, False, True]


def test_a_scout_that_has_read_its_tokens_has_one_more_reply(api, sent):
    served = api([part("Where?", {**call("read_file", path="a.py"), "repeat": 9})])
    (back,), meter = sent(served, "Where?", scout_calls=9, scout_tokens=10)
    assert back == Lost("The scout came back without an answer: The conversation did not end within 10 tokens.")
    assert meter.spent.calls == 2


def test_a_scout_whose_replies_are_cut_comes_back_without_an_answer(api, sent):
    """Case LM-01: what the cut reply held is not taken for a report."""
    report = seen("a.py", "It is a.")["calls"][0]
    (back,), _ = sent(api([part("Where?", {"cut": report, "repeat": 2})]), "Where?")
    assert isinstance(back, Lost) and "cut 2 times in a row" in back.reason


@pytest.mark.parametrize(
    ("quote", "refused"),
    [
        ("def a():\n    return 1", ""),
        ("return 1", ""),
        ("", ""),
        ("return 2", "The quote of a.py:1-2 stands nowhere in the file."),
        ("def a():\nreturn 1", "The quote of a.py:1-2 stands nowhere in the file."),
    ],
)
def test_a_quote_is_held_against_the_cited_lines_letter_by_letter(api, sent, quote: str, refused: str):
    (back,), _ = sent(api([part("Where?", seen("a.py", "Here.", quote=quote))]), "Where?")
    assert isinstance(back, CameBack)
    assert back.seen[0].refused.startswith(refused) if refused else back.seen[0].refused == ""


def test_nobody_goes_where_too_little_is_left_to_be_shared(api, sent):
    served = api([part("Where?", seen("a.py", "Here."))])
    back, meter = sent(served, "Where?", "Where?", meter=Meter(Cap(usd=Decimal(5), calls=3, minutes=10)))
    assert back == [Lost("Too little of the budget is left to share it. Look for yourself.")] * 2
    assert served.play.requests == [] and meter.spent.calls == 0
