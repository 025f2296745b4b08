"""Browser traces (HAR) laid out one value a line: failed requests with their address, and how much went well."""

import re
from collections.abc import Iterable

from worker.evidence.distillers.marks import Kind, Mark, Role

_FIELD = re.compile(
    r'\s*"(url|method|status|statusText|_error|text|name|value|pageref|startedDateTime|_failureText)": ?(.*?),?$'
)


class Browser:
    """An address is only a place until its request is seen to have failed."""

    def __init__(self) -> None:
        self._failed = False

    def role(self, line: str) -> Role | None:
        found = _FIELD.match(line)
        if found is None:
            return Role.NEVER if len(line) > 2_000 or not line.strip(" []{},") else Role.AMBIENT
        name, value = found.groups()
        if name == "url":
            self._failed = False
            return Role.OPEN
        if name == "status":
            self._failed = not value.startswith(("1", "2", "3"))
            return Role.MESSAGE if self._failed else Role.NEVER
        if name in ("_error", "_failureText") or (name in ("statusText", "text") and self._failed):
            return Role.MESSAGE if value not in ('""', "null") else Role.NEVER
        return Role.NOTE if name == "method" else Role.NEVER

    def settle(self, marks: Iterable[Mark]) -> None:
        """The address and the method of a failed request are its heading."""
        address: Mark | None = None
        for mark in marks:
            if '"url":' in mark.line:
                address = mark
            elif mark.role is Role.MESSAGE and address is not None:
                address.role = Role.HEAD
                mark.head, mark.block = address, address.block


KIND = Kind(
    "har",
    ('"log"', '"entries"', '"_initiator"', '"_resourceType"', '"startedDateTime"'),
    re.compile(r'"(?:entries|_initiator|_resourceType|startedDateTime)": '),
    Browser,
)
