"""kombu's file-system transport, for several processes at once.

Four things differ from kombu's own. A message gets its name only when it is whole, since a reader does not look
at locks and would stumble over half of one. It is taken by a rename below our own folder and not by way of the
machine's temporary folder, which everybody shares. One that cannot be read is dropped: it was only a bell. And
a message goes to the queue that its routing key names, without a table of bindings, which is kept in a file that
a reader can see half written.
"""

import json
import logging
import os
import re
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem

POLLING_SECONDS = 0.1

log = logging.getLogger(__name__)

_MESSAGE = re.compile(r"[0-9]+_[0-9a-f]{32}\.(?P<queue>[a-z]+)\.msg")


def options(folder: Path) -> dict[str, Any]:
    """Transport options for a queue in `folder`, which is made, for this account only."""
    messages, taken = folder / "messages", folder / "taken"
    for each in (messages, taken):
        _make(each)
    return {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "processed_folder": str(taken),
        "polling_interval": POLLING_SECONDS,
    }


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


class FolderChannel(filesystem.Channel):
    """A channel whose messages appear whole and are taken by exactly one reader."""

    supports_fanout = False

    def _lookup(self, exchange: str, routing_key: str, default: str | None = None) -> list[str]:
        return [routing_key]

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        name = f"{time.time_ns()}_{uuid.uuid4().hex}.{queue}.msg"
        unfinished = Path(self.processed_folder, f"{name}.part")
        self._make_folders()
        try:
            unfinished.write_bytes(json.dumps(payload).encode())
            unfinished.rename(Path(self.data_folder_out, name))
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        for name in self._names(queue):
            taken = Path(self.processed_folder, name)
            try:
                Path(self.data_folder_in, name).rename(taken)
            except FileNotFoundError:
                continue  # another reader was faster
            try:
                return json.loads(taken.read_bytes())
            except ValueError:
                log.warning("A doorbell for %s could not be read and was dropped.", queue)
            finally:
                taken.unlink(missing_ok=True)
        raise Empty

    def _make_folders(self) -> None:
        """Somebody may have emptied the data folder, and everybody who rings or hears goes on."""
        for each in (self.data_folder_in, self.processed_folder):
            if not os.path.isdir(each):
                _make(Path(each))

    def _size(self, queue: str) -> int:
        return len(self._names(queue))

    def _names(self, queue: str) -> list[str]:
        self._make_folders()
        found = (_MESSAGE.fullmatch(name) for name in os.listdir(self.data_folder_in))
        return sorted(match[0] for match in found if match and match["queue"] == queue)


class FolderTransport(filesystem.Transport):
    """kombu's transport with our channel."""

    Channel = FolderChannel
