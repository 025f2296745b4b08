"""The issue as it was read: people, and the snapshot that an approval is bound to."""

from pydantic import BaseModel, ConfigDict

from app.core.digest import digest

GHOST = "a deleted account"


class Person(BaseModel):
    """Who did something on GitHub. Authority is keyed on `id`: logins can change hands (github-facts 85)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: int
    login: str
    is_bot: bool = False


class IssueSnapshot(BaseModel):
    """What an issue said. A missing description is an empty one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    title: str
    body: str = ""

    def digest(self) -> str:
        """What an approval is bound to; blind to CRLF against LF and to trailing blanks at either end."""
        folded = self.body.replace("\r\n", "\n").replace("\r", "\n").strip()
        return digest(IssueSnapshot(number=self.number, title=self.title.strip(), body=folded))
