"""Brokers that fail while a storm goes on: what rang at them is lost, or nobody can ring for a while."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis

from tests.fakes import services


class Folders:
    """The file-system transport in this folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fails(self, chance: random.Random) -> str:
        """What rang is lost, and nobody can ring before the belts begin anew; says what happened."""
        shutil.rmtree(self._folder, ignore_errors=True)
        return "the folder is gone"

    def comes_back(self) -> None:
        """Folders are made by those who ring."""


class Redis:
    """A Redis server of its own, in this folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = services.start_redis(folder, os.getpid())
        self.url = self._server.url
        self._gone = False

    def fails(self, chance: random.Random) -> str:
        """It is killed, or emptied, or takes nothing any more, or cuts every connection; says which. Whatever it was
        before is over then."""
        self.comes_back()
        ways: dict[str, Callable[[], object]] = {
            "killed": self.end,
            "emptied": lambda: self._asked("FLUSHALL"),
            "read-only": lambda: self._asked("REPLICAOF", "127.0.0.1", "1"),
            "out of memory": lambda: self._asked("CONFIG", "SET", "maxmemory", "1"),
            "cut off from everybody": lambda: self._asked("CLIENT", "KILL", "TYPE", "normal"),
        }
        how = chance.choice(list(ways))
        ways[how]()
        return how

    def comes_back(self) -> None:
        """It is there and takes everything; what it held before it was killed is lost."""
        if self._gone:
            self._server = services.start_redis(self._folder, os.getpid(), at=urlsplit(self.url).port or 0)
            self._gone = False
        self._asked("REPLICAOF", "NO", "ONE")
        self._asked("CONFIG", "SET", "maxmemory", "0")

    def end(self) -> None:
        """Nobody answers there."""
        if not self._gone:
            services.end(self._server.keeper)
            self._gone = True

    def _asked(self, *words: Any) -> None:
        with redis.Redis.from_url(self.url) as server:
            server.execute_command(*words)


Broker = Folders | Redis
