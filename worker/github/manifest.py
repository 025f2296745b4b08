"""The end of the manifest flow: a code, which works once and for an hour, for an App with its key (github-facts 89)."""

from msgspec import Struct

from worker.github.asking import Anonymous, ConnectionSettings, Request
from worker.github.connection import connect
from worker.github.errors import Call
from worker.github.place import segment
from worker.github.views import decode


class NewApp(Struct, frozen=True):
    """An App that was just made. Nothing of it shows in `repr` but its slug."""

    id: int
    slug: str
    name: str
    html_url: str
    client_id: str
    client_secret: str
    pem: str
    webhook_secret: str | None = None

    def __repr__(self) -> str:
        return f"NewApp({self.slug!r})"


def convert(api_url: str, code: str, settings: ConnectionSettings | None = None) -> NewApp:
    """The App behind this code. No credential is sent: the code is one. Raises `GitHubError`; `NotFound` where the code
    is unknown, was used or is older than an hour."""
    path = f"/app-manifests/{segment(code)}/conversions"
    with connect(api_url, Anonymous(), settings or ConnectionSettings()) as connection:
        content = connection.write(Request("POST", path, expected=(201,)))
    return decode(NewApp, content, Call("POST", path))
