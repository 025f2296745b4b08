"""Payloads of deliveries as they are read: our own shapes, lenient, naming only the fields that are used."""

from typing import Annotated

import msgspec

Id = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
"""Ids pass 2^31 (LG-01); beyond 2^53 canonical JSON could not carry them."""


class User(msgspec.Struct, frozen=True, gc=False):
    id: Id | None = None
    login: str | None = None
    type: str | None = None


class Label(msgspec.Struct, frozen=True, gc=False):
    id: Id | None = None
    name: str | None = None


class Changed(msgspec.Struct, frozen=True, gc=False):
    """One of `changes`: what stood there before."""

    before: str | None = msgspec.field(default=None, name="from")


class There(msgspec.Struct, frozen=True, gc=False):
    """An object of which only its being there counts."""


class Issue(msgspec.Struct, frozen=True, gc=False):
    number: Id
    title: str = ""
    body: str | None = None
    user: User | None = None
    state: str | None = None
    labels: list[Label] | None = None
    pull_request: There | None = None
    updated_at: str | None = None


class Comment(msgspec.Struct, frozen=True, gc=False):
    id: Id
    node_id: str | None = None
    body: str | None = None
    user: User | None = None
    created_at: str | None = None
    updated_at: str | None = None


class Pull(msgspec.Struct, frozen=True, gc=False):
    number: Id
    merged: bool | None = None
    merged_at: str | None = None


class Repository(msgspec.Struct, frozen=True, gc=False):
    id: Id
    full_name: str


class Installation(msgspec.Struct, frozen=True, gc=False):
    id: Id


class Routing(msgspec.Struct, frozen=True, gc=False):
    action: str | None = None


class Payload(msgspec.Struct, frozen=True, gc=False):
    """The one lenient shape of every event that is read; unknown fields are skipped unread."""

    action: str | None = None
    issue: Issue | None = None
    comment: Comment | None = None
    pull_request: Pull | None = None
    label: Label | None = None
    changes: dict[str, msgspec.Raw] | None = None
    repository: Repository | None = None
    repositories_added: list[Repository] | None = None
    repositories_removed: list[Repository] | None = None
    installation: Installation | None = None
    sender: User | None = None


ROUTING = msgspec.json.Decoder(Routing)
PAYLOAD = msgspec.json.Decoder(Payload)
CHANGED = msgspec.json.Decoder(Changed)
