"""Set-up as a person goes through it: a browser between our pages and GitHub's (the twin's)."""

import html
import re
from dataclasses import dataclass, field

import httpx

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


def hidden(page: httpx.Response) -> dict[str, str]:
    """The hidden fields of a page's form."""
    return {name: html.unescape(value) for name, value in HIDDEN.findall(page.text)}


@dataclass
class Registering:
    """A browser that goes step by step. `link` is what was printed."""

    link: str
    handed: str = ""
    """The cookies that it was given when it came in, as they were set."""
    browser: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=60, trust_env=False))

    def __post_init__(self) -> None:
        self.browser.follow_redirects = True

    def comes_in(self) -> httpx.Response:
        """The printed link is opened; our page."""
        self.page = self.browser.get(self.link)
        self.handed += "".join(one.headers.get("set-cookie", "") for one in self.page.history)
        return self.page

    def sends(self, **fields: str) -> httpx.Response:
        """Our form is filled in; the page that leads to GitHub."""
        form = hidden(self.page) | {"name": "Countersign for stories", "organisation": ""} | fields
        self.page = self.browser.post(self.link.partition("?")[0], data=form)
        return self.page

    def goes_to_github(self) -> httpx.Response:
        """The manifest is sent; GitHub's page that asks for the name."""
        action = html.unescape(self.page.text.partition('<form method="post" action="')[2].partition('"')[0])
        self.page = self.browser.post(action, data=hidden(self.page))
        return self.page

    def makes_it(self, github: str, name: str = "Countersign for stories") -> str:
        """GitHub makes the App; the address to which it leads back, not opened yet."""
        form = hidden(self.page) | {"name": name}
        answer = self.browser.post(f"{github}/_twin/create-app", data=form, follow_redirects=False)
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]
