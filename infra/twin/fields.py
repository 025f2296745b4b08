"""Reading the JSON of a control call: named values of the right kind, or a 422 that names the field."""

from collections.abc import Mapping
from typing import Any

from infra.twin.forge import Forge
from infra.twin.state import Actor, Comment, Issue, Person, Repo
from infra.twin.talk import Place, find_issue
from infra.twin.wire import Refused, not_found


class Fields:
    """One control call's values, and the objects of the forge that they name."""

    def __init__(self, forge: Forge, values: Mapping[str, Any]) -> None:
        self.forge = forge
        self.values = values

    def text(self, name: str) -> str:
        """A string that must be there."""
        value = self.values.get(name)
        if not isinstance(value, str):
            raise Refused(422, f"{name} must be text")
        return value

    def maybe_text(self, name: str) -> str | None:
        """A string or None."""
        return None if self.values.get(name) is None else self.text(name)

    def whole(self, name: str) -> int:
        """A whole number that must be there."""
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise Refused(422, f"{name} must be a whole number")
        return value

    def real(self, name: str) -> float:
        """A number that must be there."""
        value = self.values.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise Refused(422, f"{name} must be a number")
        return float(value)

    def texts(self, name: str) -> list[str]:
        """A list of strings, empty when absent."""
        value = self.values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise Refused(422, f"{name} must be a list of texts")
        return value

    def pairs(self, name: str) -> dict[str, str]:
        """A mapping of strings to strings, empty when absent."""
        value = self.values.get(name) or {}
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise Refused(422, f"{name} must map texts to texts")
        return value

    def flag(self, name: str) -> bool:
        """True or false, false when absent."""
        return self.values.get(name) is True

    def repo(self, name: str = "repo") -> Repo:
        """The repository named `owner/name`; 404."""
        owner, _, short = self.text(name).partition("/")
        found = self.forge.world.repo_named(owner, short)
        if found is None:
            raise Refused(404, f"no repository {self.text(name)}")
        return found

    def place(self) -> Place:
        """The issue or pull request `number` in `repo`; 404."""
        repo = self.repo()
        return Place(repo, find_issue(self.forge, repo, self.whole("number")))

    def comment(self) -> tuple[Place, Comment]:
        """The comment `comment_id`, wherever it is; 404."""
        wanted = self.whole("comment_id")
        for repo in self.forge.world.repos.values():
            found = self.forge.world.find_comment(repo, wanted)
            if found:
                return Place(repo, found[0]), found[1]
        raise not_found()

    def person(self, name: str = "as_login") -> Person:
        """The account of that login; 404."""
        found = self.forge.world.person(self.text(name))
        if found is None:
            raise Refused(404, f"no account {self.text(name)}")
        return found

    def actor(self, name: str = "as_login") -> Actor:
        """That person, acting by hand."""
        return Actor(self.person(name))

    def issue(self) -> Issue:
        """The issue of `place`."""
        return self.place().issue
