"""What the App asks of GitHub, each thing with the reason for it, and the manifest that asks for it. Pure.

Beside the belt table, which decides what is asked; a test holds these tables and `app.yml` against it. The manifest is
made from here and not from the file, so that an installed package needs no file of the repository.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.core.belts import EVENTS, app_permissions

HOME = "https://example.com/countersign"
DESCRIPTION = "Label an issue, approve the exact plan, review the draft pull request."
NAME = "countersign"
LONGEST_NAME = 34
"""Characters of an App's name (github-facts 95)."""

WHY_PERMISSION: Mapping[str, str] = MappingProxyType(
    {
        "checks": "The planner reads what CI said about the branch, and the failure that an issue is about.",
        "contents": "Code is read for planning. Writing is for the branch of a draft, and no token can write before a "
        "maintainer approved that exact plan; the one that does is for one repository and revoked at once.",
        "issues": "Issues and comments are read; the status, the plan and every refusal are said as comments.",
        "members": "Where a policy names teams, who is in them is asked before an approval counts.",
        "metadata": "GitHub gives this with every other one: names, branches, and what role somebody has.",
        "pull_requests": "The draft pull request is opened, and what becomes of it is told in the run.",
    }
)
"""Each permission of the App, and why."""

WHY_EVENT: Mapping[str, str] = MappingProxyType(
    {
        "issues": "The label that starts a run; an edited, closed or moved issue ends it or voids an approval.",
        "issue_comment": "`/approve` and the other commands; an edited or deleted plan comment voids an approval.",
        "pull_request": "Whether the draft was merged or closed, and the label on a pull request.",
        "label": "The trigger label was renamed or removed.",
        "repository": "A repository was renamed, archived, deleted or moved.",
        "push": "The branch that a plan was made on has moved.",
    }
)
"""Each event that the App hears of, and why. Those of its installation come by themselves."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where this installation answers: home page, deliveries, the end of set-up, the end of signing in."""

    home: str
    hook: str
    after_setup: str
    after_sign_in: str


def manifest(name: str, addresses: Addresses) -> dict[str, object]:
    """What GitHub makes an App from (github-facts 91). Raises ValueError for a name that it would refuse."""
    if not 1 <= len(name) <= LONGEST_NAME:
        raise ValueError(f"an App's name has 1 to {LONGEST_NAME} characters")
    return {
        "name": name,
        "url": addresses.home,
        "description": DESCRIPTION,
        "public": False,
        "hook_attributes": {"url": addresses.hook, "active": True},
        "redirect_url": addresses.after_setup,
        "callback_urls": [addresses.after_sign_in],
        "request_oauth_on_install": False,
        "default_permissions": app_permissions(),
        "default_events": list(EVENTS),
    }


def api_of(host: str) -> str | None:
    """The API's address of a GitHub by its web host: github.com, a ghe.com tenant, else a GHES (github-facts 178, 179);
    None for what is no host name."""
    name = host.strip().lower().removeprefix("https://").rstrip("/")
    if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(:\d{1,5})?", name) or "." not in name:
        return None
    if name in ("github.com", "www.github.com", "api.github.com"):
        return "https://api.github.com"
    if name.endswith(".ghe.com"):
        return f"https://api.{name.removeprefix('api.')}"
    return f"https://{name}/api/v3"


def form_address(web_url: str, organisation: str, state: str) -> str:
    """Where the manifest is sent as a form (github-facts 88). `organisation` is empty for one's own account. Raises
    ValueError for what cannot be an account's name."""
    if organisation and not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9-_]{0,98}[A-Za-z0-9_])?", organisation):
        raise ValueError("that is no name of an organisation")
    where = f"/organizations/{organisation}/settings/apps/new" if organisation else "/settings/apps/new"
    return f"{web_url}{where}?state={state}"
