"""The files that pages are drawn with: served by ourselves, each under a name that changes with its content."""

import hashlib
from importlib import resources

from fastapi import FastAPI, Response

FILES = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "mark.svg": "image/svg+xml",
}
FOR_GOOD = {"cache-control": "public, max-age=31536000, immutable", "x-content-type-options": "nosniff"}


class Statics:
    """The files in memory, read once."""

    def __init__(self) -> None:
        self._served: dict[str, tuple[bytes, str]] = {}
        self._addresses: dict[str, str] = {}
        for name, media in FILES.items():
            content = resources.files("app.web").joinpath("static", name).read_bytes()
            stem, _, ending = name.rpartition(".")
            hashed = f"{stem}.{hashlib.sha256(content).hexdigest()[:12]}.{ending}"
            self._served[hashed] = (content, media)
            self._addresses[name] = f"/static/{hashed}"

    def address(self, name: str) -> str:
        """Where the file is served now."""
        return self._addresses[name]

    def add_to(self, pages: FastAPI) -> None:
        """The route of these files: they hold nothing that somebody may not see."""

        @pages.get("/static/{name}")
        async def static(name: str) -> Response:
            if name not in self._served:
                return Response("There is no such file.\n", 404, media_type="text/plain")
            content, media = self._served[name]
            return Response(content, media_type=media, headers=FOR_GOOD)
