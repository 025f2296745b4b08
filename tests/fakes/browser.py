"""A real Chromium for tests of pages: as a person sees them, in light and dark, on a desk and on a phone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.fakes.services import Started

DESK = {"width": 1200, "height": 900}
PHONE = {"width": 390, "height": 844}


@dataclass(frozen=True, slots=True)
class Look:
    """How somebody looks at a page."""

    name: str
    scheme: str = "light"
    size: dict[str, int] = field(default_factory=lambda: DESK)
    scripts: bool = True
    strict: bool = False
    """Whether the page's own policy holds; axe, which is injected, would not come past it."""


LOOKS = (Look("light"), Look("dark", "dark"), Look("phone", "light", PHONE), Look("phone, dark", "dark", PHONE))


@dataclass(slots=True)
class Window:
    """One browser window. `complaints` are errors of the page's scripts and what its policy did not let through."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def faults(self) -> list[str]:
        """What axe finds wrong with the page as it stands: the rule and the place."""
        found = Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wide


@contextmanager
def opened(chromium: Started) -> Iterator[Browser]:
    """The session's Chromium, as one holds it; it goes on when this ends."""
    with sync_playwright() as playwright:
        yield playwright.chromium.connect_over_cdp(chromium.url)


@contextmanager
def window(browser: Browser, look: Look = LOOKS[0]) -> Iterator[Window]:
    """A window of its own, with nothing remembered, that looks so."""
    context = browser.new_context(
        viewport={"width": look.size["width"], "height": look.size["height"]},
        color_scheme="dark" if look.scheme == "dark" else "light",
        java_script_enabled=look.scripts,
        bypass_csp=not look.strict,
    )
    page = context.new_page()
    seen = Window(page)
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
    try:
        yield seen
    finally:
        context.close()
