"""The HTTP side: POST /v1/messages as the real API speaks it, and the script's own doors under /_script/."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from infra.scripted_model.play import Answer, Play, error
from infra.scripted_model.script import Script, parse_script

_LARGEST_BODY = 32 * 1024 * 1024


class ScriptedModel:
    """A running scripted API on a free port of this machine.

    `url` is the base URL for a client; `requests` are the recorded request bodies, each with its role, the turn that
    answered it and the status. Where `key` is given, any other key is answered with 401.
    """

    def __init__(self, script: Script, port: int = 0, key: str | None = None) -> None:
        self._play = Play(script)
        self._server = _Server(("127.0.0.1", port), self._play, key)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"

    @classmethod
    def start(cls, script: Script | Mapping[str, Any], key: str | None = None) -> "ScriptedModel":
        """Serves from a thread until `stop`. Also a context manager."""
        model = cls(script if isinstance(script, Script) else parse_script(script), key=key)
        threading.Thread(target=model.serve, name="scripted-model", daemon=True).start()
        return model

    def serve(self) -> None:
        """Serves until `stop` is called from another thread."""
        self._server.serve_forever(poll_interval=0.05)

    def stop(self) -> None:
        """The port is free afterwards."""
        self._server.shutdown()
        self._server.server_close()

    def retire(self, *names: str) -> None:
        """From now on these models, and no others, are not known any more."""
        self._server.retired = frozenset(names)

    @property
    def requests(self) -> list[dict[str, Any]]:
        return list(self._play.requests)

    def __enter__(self) -> "ScriptedModel":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A client that closes its connection must not keep the next start from the port.
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], play: Play, key: str | None) -> None:
        super().__init__(address, _Handler)
        self.play = play
        self.key = key
        self.retired: frozenset[str] = frozenset()
        self.count = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        # Without this, the second packet of an answer waits for the client's delayed acknowledgement.
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the requests are recorded by the play."""

    def do_GET(self) -> None:
        if self.path == "/_script/requests":
            self._reply(_json(self.server.play.requests))
        elif self.path == "/healthz":
            self._reply(_json({"status": "ok"}))
        elif self.path.startswith("/v1/models/"):
            self._reply(self._of_model(unquote(self.path.removeprefix("/v1/models/"))))
        else:
            self._reply(error(404, "Not found"))

    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("content-length") or 0), _LARGEST_BODY))
        self._reply(self._answer(body))

    def _of_model(self, name: str) -> Answer:
        """`GET /v1/models/{name}`: it costs nothing, and is not among the recorded requests."""
        if (refused := self._stranger()) is not None:
            return refused
        if name in self.server.retired:
            return error(404, f"model: {name}")
        shown = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
        return _json(shown)

    def _stranger(self) -> Answer | None:
        key = self._key()
        if not key:
            return error(401, "x-api-key header is required")
        if self.server.key is not None and key != self.server.key:
            return error(401, "invalid x-api-key")
        return None

    def _answer(self, body: bytes) -> Answer:
        if self.path.partition("?")[0] != "/v1/messages":
            return error(404, "Not found")
        if (refused := self._stranger()) is not None:
            return refused
        if not self.headers.get("anthropic-version"):
            return error(400, "anthropic-version: header is required")
        try:
            return self.server.play.answer(json.loads(body))
        except ValueError:
            return error(400, "The request body is not valid JSON")

    def _key(self) -> str:
        """Older clients send `x-api-key`, newer ones a bearer token; the API takes both."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ").strip()
        return self.headers.get("x-api-key", "").strip() or bearer

    def _reply(self, answer: Answer) -> None:
        if answer.delay:
            time.sleep(answer.delay)
        self.server.count += 1
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("request-id", f"req_{self.server.count:08d}")
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body[: answer.torn])
            self.close_connection = answer.torn is not None


def _json(value: object) -> Answer:
    return Answer(200, json.dumps(value).encode(), {"content-type": "application/json"})
