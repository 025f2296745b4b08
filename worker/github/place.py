"""One repository seen through a connection: builds its paths and keeps every request inside of it."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from worker.github.asking import Request
from worker.github.connection import Connection
from worker.github.errors import Call, Moved, NotUnderstood
from worker.github.views import RepositoryRef, decode

T = TypeVar("T")
Params = Mapping[str, str | int]


class Place:
    """The endpoints below `/repos/{owner}/{name}` of one repository.

    A read of a renamed repository is followed to its new address when that names the same repository id; any other
    redirect raises `Moved` (an issue transferred elsewhere is not read there).
    """

    def __init__(self, connection: Connection, repository: RepositoryRef) -> None:
        owner, slash, name = repository.full_name.partition("/")
        if not slash:
            raise ValueError(f"not a repository's full name: {repository.full_name!r}")
        self.connection = connection
        self.repository = repository
        self.root = f"/repos/{segment(owner)}/{segment(name)}"

    def one(self, kind: type[T], path: str, params: Params | None = None) -> T:
        """One thing of that kind."""
        return decode(kind, self.get(path, params), Call("GET", self.root + path))

    def get(self, path: str, params: Params | None = None) -> Any:
        """The parsed JSON of one answer."""
        try:
            return self.connection.get(self.root + path, params)
        except Moved as moved:
            return self.connection.get(self._same_repository(moved), params)

    def every(self, kind: type[T], path: str, params: Params | None = None, below: str = "") -> Iterator[T]:
        """All things of that kind, from all pages; `below` names the key that holds the list in each page."""
        call = Call("GET", self.root + path)
        for page in self._pages(path, params):
            entries = page.get(below) if below and isinstance(page, dict) else page
            if not isinstance(entries, list):
                raise NotUnderstood("GitHub's answer is not a list.", call)
            for entry in entries:
                yield decode(kind, entry, call)

    def create(self, kind: type[T], path: str, body: object, expected: tuple[int, ...] = (201,)) -> T:
        """Creates content that people see, once; a status other than expected raises `NotUnderstood`."""
        return self._written(kind, self.connection.create, Request("POST", self.root + path, {}, body, expected))

    def add(self, kind: type[T], path: str, body: object) -> T:
        """Creates something nobody is told of (a git object, a reference), once; 201 is required."""
        return self._written(kind, self.connection.write, Request("POST", self.root + path, {}, body, (201,)))

    def change(self, kind: type[T], path: str, body: object) -> T:
        """Changes what is there, once; 200 is required."""
        return self._written(kind, self.connection.create, Request("PATCH", self.root + path, {}, body, (200,)))

    def _pages(self, path: str, params: Params | None) -> Iterator[Any]:
        try:
            yield from self.connection.pages(self.root + path, params)
        except Moved as moved:
            yield from self.connection.pages(self._same_repository(moved), params)

    def _written(self, kind: type[T], send: Any, request: Request) -> T:
        return decode(kind, send(request), Call(request.method, request.path))

    def _same_repository(self, moved: Moved) -> str:
        """The new address, when it is this very repository's by id; else raises `moved` again."""
        if not self.connection.leads_to(moved.location, f"/repositories/{self.repository.id}"):
            raise moved
        return moved.location


def segment(text: str) -> str:
    """One quoted path segment. Raises ValueError for what would leave its place in the path."""
    if text in ("", ".", ".."):
        raise ValueError(f"not a path segment: {text!r}")
    return quote(text, safe="")


def segments(path: str) -> str:
    """A quoted path of several segments; empty and dotted segments raise ValueError."""
    return "/".join(segment(part) for part in path.split("/"))
