"""A scripted Messages API over real HTTP, and models that reach it through the real SDK."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.scripted_model.server import ScriptedModel
from worker.model.client import Access, Model, Tool
from worker.model.words import Reply

KEY = "sk-test"


def tool(name: str, **fields: dict[str, Any]) -> Tool:
    """A tool whose fields are all required."""
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return Tool(name, f"The tool {name}.", schema)


PLAN = tool("submit_plan", steps={"type": "array", "items": {"type": "string"}, "minItems": 1})


@pytest.fixture
def serve() -> Iterator[Callable[..., ScriptedModel]]:
    """Starts a scripted API that plays the given turns for one role, `planner` unless another is named."""
    running: list[ScriptedModel] = []

    def start(*turns: dict[str, Any], role: str = "planner") -> ScriptedModel:
        running.append(ScriptedModel.start({"parts": [{"role": role, "turns": list(turns)}]}, key=KEY))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def model_at() -> Callable[..., Model]:
    """A model at a scripted API, with waits short enough for tests."""

    def make(api: ScriptedModel, on_reply: Callable[[Reply], None] | None = None, **changes: Any) -> Model:
        settings = {"api_key": KEY, "base_url": api.url, "first_wait_seconds": 0.005, "timeout_seconds": 10.0} | changes
        heard = {} if on_reply is None else {"on_reply": on_reply}
        return Model(Access(**settings), "claude-opus-5-5", **heard)

    return make
