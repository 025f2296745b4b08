"""Pages to look at and to act on: repositories, issues, pull requests with their diff, branches, the journal."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from jinja2 import Environment, FileSystemLoader, select_autoescape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from infra.twin import human, owners, people, pulls
from infra.twin.control_routes import note
from infra.twin.diffs import ChangedFile, changed_files
from infra.twin.fields import Fields
from infra.twin.forge import Forge
from infra.twin.markdown import rendered
from infra.twin.shapes_git import readable
from infra.twin.state import Issue, Person, Repo
from infra.twin.talk import find_issue
from infra.twin.wire import Refused, not_found

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LEADING_AWAY = ("new_app.html", "authorize.html")
"""Pages whose form ends at somebody else's address."""
HERE = Path(__file__).parent
ACTING = "twin_acting"
OFFERED = (
    "label", "unlabel", "comment", "react", "unreact", "set_issue_state", "open_issue", "merge_pull", "mark_ready",
    "delete_comment", "minimize", "unminimize", "install",
)
"""The human acts that a page may ask for."""
FACES = {
    "+1": "👍", "-1": "👎", "laugh": "😄", "confused": "😕", "heart": "❤️", "hooray": "🎉", "rocket": "🚀", "eyes": "👀",
}
SHOWN_REQUESTS = 500
WHOLE = ("number", "comment_id")
View = Callable[[Forge, Request], tuple[str, dict[str, Any]]]

_TEMPLATES = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=select_autoescape(default=True))
_TEMPLATES.filters["markdown"] = rendered
_TEMPLATES.filters["readable"] = readable
_TEMPLATES.filters["day"] = lambda moment: moment.strftime("%d %b %Y, %H:%M:%S") if moment else ""
_TEMPLATES.filters["clock"] = lambda seconds: datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S.%f")[:-3]
_TEMPLATES.globals["faces"] = FACES


def routes(forge: Forge) -> list[Route]:
    """The pages; they come after every other route, so that no repository can shadow the API."""
    return [
        Route("/_twin/style.css", _style, methods=["GET"]),
        Route("/_twin/avatars/{id:int}", _avatar, methods=["GET"]),
        Route("/_twin/journal", _page(forge, _journal), methods=["GET"]),
        Route("/_twin/act", _act(forge), methods=["POST"]),
        Route("/", _page(forge, _repos), methods=["GET"]),
        Route("/{owner}/{repo}", _page(forge, _repo), methods=["GET"]),
        Route("/{owner}/{repo}/issues", _page(forge, _repo), methods=["GET"]),
        Route("/{owner}/{repo}/branches", _page(forge, _branches), methods=["GET"]),
        Route("/{owner}/{repo}/issues/{number:int}", _page(forge, _issue), methods=["GET"]),
        Route("/{owner}/{repo}/pull/{number:int}", _page(forge, _issue), methods=["GET"]),
        Route("/{owner}/{repo}/commit/{sha}", _page(forge, _commit), methods=["GET"]),
        Route("/{owner}/{repo}/tree/{branch:path}", _page(forge, _tree), methods=["GET"]),
    ]


def _page(forge: Forge, view: View) -> Callable[[Request], Any]:
    async def show(request: Request) -> Response:
        request.state.page = True
        return await run_in_threadpool(_render, forge, view, request)

    return show


def _render(forge: Forge, view: View, request: Request) -> Response:
    with forge.world.lock:
        status = 200
        try:
            name, values = view(forge, request)
        except Refused as refusal:
            status, name, values = refusal.status, "lost.html", {"message": refusal.message}
        return html(forge, request, name, values, status)


def html(forge: Forge, request: Request, name: str, values: dict[str, Any], status: int = 200) -> Response:
    """A page; the caller holds the twin's lock."""
    request.state.page = True
    everybody = sorted(
        (one for one in forge.world.people.values() if one.kind == "User"), key=lambda one: one.login.lower()
    )
    shown = {"app": forge.world.app, "people": everybody, "acting": acting(forge, request), "here": request.url.path}
    shown |= {"said": request.query_params.get("said"), **values}
    text = _TEMPLATES.get_template(name).render(shown)
    policy = {} if name not in LEADING_AWAY else {"Content-Security-Policy": POLICY.replace("form-action 'self'; ", "")}
    return Response(text, status, HEADERS | policy, media_type="text/html")


def acting(forge: Forge, request: Request) -> Person | None:
    """Who the visitor acts as: the choice kept in a cookie, else the first who may write somewhere."""
    chosen = forge.world.person(request.cookies.get(ACTING, ""))
    if chosen:
        return chosen
    for repo in forge.world.repos.values():
        for login, role in repo.roles.items():
            if people.at_least(repo, role, "write"):
                return forge.world.person(login)
    return None


def _named(forge: Forge, request: Request) -> Repo:
    repo = forge.world.repo_named(request.path_params["owner"], request.path_params["repo"])
    if repo is None:
        raise not_found()
    return repo


def _repos(forge: Forge, _: Request) -> tuple[str, dict[str, Any]]:
    return "repos.html", {"repos": list(forge.world.repos.values())}


def _repo(forge: Forge, request: Request) -> tuple[str, dict[str, Any]]:
    repo = _named(forge, request)
    shown = [one for one in reversed(repo.issues) if not one.deleted and not one.moved_to]
    roles = {login: role for login, role in repo.roles.items() if role != "none"}
    return "repo.html", {"repo": repo, "issues": shown, "roles": roles}


def _issue(forge: Forge, request: Request) -> tuple[str, dict[str, Any]]:
    repo = _named(forge, request)
    issue = find_issue(forge, repo, request.path_params["number"])
    files = changed_files(forge.git, repo.id, *pulls.span(forge, repo, issue)) if issue.pull else []
    free = [mark for mark in repo.labels if mark not in issue.labels]
    values = {"repo": repo, "issue": issue, "free_labels": free, "files": _painted(files), "entries": _entries(issue)}
    return ("pull.html" if issue.pull else "issue.html"), values


def _entries(issue: Issue) -> list[dict[str, Any]]:
    """Comments and timeline in one order."""
    entries = [{"at": one.created, "id": one.id, "comment": one} for one in issue.comments]
    entries += [{"at": one.created, "id": one.id, "event": one} for one in issue.timeline]
    return sorted(entries, key=lambda entry: entry["at"])


def _painted(files: list[ChangedFile]) -> list[dict[str, Any]]:
    """Files with their patch lines and the class that colours each."""
    kinds = {"+": "added", "-": "removed", "@": "hunk", "\\": "note"}
    return [
        {
            "file": one,
            "lines": [(kinds.get(line[:1], "same"), line) for line in one.patch.split("\n")] if one.patch else [],
        }
        for one in files
    ]


def _branches(forge: Forge, request: Request) -> tuple[str, dict[str, Any]]:
    repo = _named(forge, request)
    shown = [
        {"name": name.removeprefix("refs/heads/"), "commit": forge.git.read_commit(repo.id, sha)}
        for name, sha in forge.git.refs(repo.id).items()
    ]
    return "branches.html", {"repo": repo, "branches": shown}


def _commit(forge: Forge, request: Request) -> tuple[str, dict[str, Any]]:
    repo = _named(forge, request)
    sha = forge.git.resolve(repo.id, request.path_params["sha"])
    if sha is None:
        raise not_found()
    one = forge.git.read_commit(repo.id, sha)
    before = one.parents[0] if one.parents else forge.git.write_tree(repo.id, None, [])
    files = _painted(changed_files(forge.git, repo.id, before, sha))
    return "commit.html", {"repo": repo, "commit": one, "verified": sha in repo.signed, "files": files}


def _tree(forge: Forge, request: Request) -> tuple[str, dict[str, Any]]:
    repo = _named(forge, request)
    branch = request.path_params["branch"]
    sha = forge.git.resolve(repo.id, branch)
    if sha is None:
        raise not_found()
    entries = [one for one in forge.git.list_tree(repo.id, sha, "recursive") if one.kind != "tree"]
    return "tree.html", {"repo": repo, "branch": branch, "entries": entries}


def _journal(forge: Forge, _: Request) -> tuple[str, dict[str, Any]]:
    entries = forge.journal.entries()
    return "journal.html", {"entries": entries[-SHOWN_REQUESTS:][::-1], "total": len(entries)}


def _act(forge: Forge) -> Callable[[Request], Any]:
    async def act(request: Request) -> Response:
        origin = request.headers.get("origin")
        if origin and urlsplit(origin).netloc != request.headers.get("host"):
            return Response("a form of another site may not act here\n", 403, HEADERS, media_type="text/plain")
        form = {name: values[-1] for name, values in parse_qs((await request.body()).decode()).items()}
        return await run_in_threadpool(_acted, forge, form)

    return act


def _acted(forge: Forge, form: dict[str, str]) -> Response:
    back = form.pop("back", "/")
    back = back if back.startswith("/") and not back.startswith("//") and "\\" not in back else "/"
    deed = form.pop("deed", "")
    if deed == "become":
        answer = RedirectResponse(back, 303, HEADERS)
        answer.set_cookie(ACTING, form.get("as_login", ""), httponly=True, samesite="strict")
        return answer
    values: dict[str, Any] = dict(form)
    values |= {name: int(text) for name, text in form.items() if name in WHOLE and text.isdigit()}
    said = ""
    with forge.world.lock:
        try:
            if deed not in OFFERED:
                raise not_found()
            (owners.install if deed == "install" else human.DEEDS[deed])(Fields(forge, values))
            note(forge, deed, values)
        except Refused as refusal:
            said = f"?said={quote(refusal.message)}"
    return RedirectResponse(back + said, 303, HEADERS)


async def _style(_: Request) -> Response:
    return Response((HERE / "templates" / "style.css").read_text(), headers=HEADERS, media_type="text/css")


async def _avatar(request: Request) -> Response:
    hue = request.path_params["id"] * 47 % 360
    picture = (
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'>"
        f"<rect width='8' height='8' fill='hsl({hue} 45% 55%)'/>"
        f"<circle cx='4' cy='3.1' r='1.5' fill='hsl({hue} 60% 92%)'/>"
        f"<path d='M1.2 8a2.8 2.8 0 0 1 5.6 0z' fill='hsl({hue} 60% 92%)'/></svg>"
    )
    return Response(picture, headers=HEADERS, media_type="image/svg+xml")
