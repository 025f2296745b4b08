"""Continuous integration as GitHub shows it: check runs with their annotations, and commit statuses."""

from typing import Any

from infra.twin import people, shapes
from infra.twin.dispatch import Handler, paged
from infra.twin.fields import Fields
from infra.twin.forge import Forge
from infra.twin.human import Deed
from infra.twin.rest_repos import commit_sha
from infra.twin.state import Repo, node_id, stamp
from infra.twin.wire import Call, Refused, Reply, not_found

STATES = ("error", "failure", "pending", "success")


def add_check_run(fields: Fields) -> Any:
    """A check run on a commit, as some CI App would report it: completed with a `conclusion`, else `in_progress`.

    `annotations` is a list of objects with path, start_line, message and, optionally, end_line, title, level.
    """
    repo, world = fields.repo(), fields.forge.world
    sha, now, number = fields.text("sha"), stamp(world.now()), world.next_id()
    conclusion = fields.maybe_text("conclusion")
    marks = [_annotation(repo, sha, one) for one in fields.values.get("annotations") or []]
    address = f"{shapes.repo_url(world, repo)}/check-runs/{number}"
    run = {
        "id": number, "head_sha": sha, "node_id": node_id("CR", number), "external_id": "", "url": address,
        "html_url": f"{world.url}/{repo.full_name}/runs/{number}", "details_url": None,
        "status": "completed" if conclusion else "in_progress", "conclusion": conclusion, "started_at": now,
        "completed_at": now if conclusion else None,
        "output": {
            "title": fields.maybe_text("title"), "summary": fields.maybe_text("summary"),
            "text": fields.maybe_text("text"), "annotations_count": len(marks),
            "annotations_url": f"{address}/annotations",
        },
        "name": fields.text("name"), "check_suite": {"id": number + 1}, "app": None, "pull_requests": [],
    }
    repo.check_runs.append(run)
    repo.annotations[number] = marks
    return run


def _annotation(repo: Repo, sha: str, given: dict[str, Any]) -> dict[str, Any]:
    line = given["start_line"]
    return {
        "path": given["path"], "start_line": line, "end_line": given.get("end_line", line), "start_column": None,
        "end_column": None, "annotation_level": given.get("level", "failure"), "title": given.get("title"),
        "message": given["message"], "raw_details": given.get("raw_details"),
        "blob_href": f"/{repo.full_name}/blob/{sha}/{given['path']}",
    }


def add_status(fields: Fields) -> Any:
    """A commit status: write. The newest of each `context` counts."""
    repo, actor, world = fields.repo(), fields.actor(), fields.forge.world
    people.require(repo, actor, "write")
    sha, state = fields.text("sha"), fields.text("state")
    if state not in STATES:
        raise Refused(422, f"no state {state}")
    number, now = world.next_id(), stamp(world.now())
    status: dict[str, Any] = {
        "id": number, "node_id": node_id("SC", number), "state": state, "context": fields.text("context"),
        "description": fields.maybe_text("description"), "target_url": fields.maybe_text("target_url"),
        "avatar_url": None, "url": f"{shapes.repo_url(world, repo)}/statuses/{sha}", "created_at": now,
        "updated_at": now,
    }
    repo.statuses.setdefault(sha, {})[status["context"]] = status
    return status


def check_runs(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET commits/{ref}/check-runs`, of one `check_name` when asked; with `latest` the newest of each name."""
    sha = commit_sha(forge, repo, call.params["ref"])
    name = call.query.get("check_name")
    shown = [one for one in repo.check_runs if one["head_sha"] == sha and name in {None, one["name"]}]
    if call.query.get("filter", "latest") == "latest":
        shown = list({one["name"]: one for one in shown}.values())
    return paged(forge, call, shown, lambda page: {"total_count": len(shown), "check_runs": page})


def annotations(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET check-runs/{id}/annotations`."""
    number = call.number("check_run_id")
    if number not in repo.annotations:
        raise not_found()
    return paged(forge, call, repo.annotations[number])


def combined_status(forge: Forge, call: Call, repo: Repo) -> Reply:
    """`GET commits/{ref}/status`: the worst state of all contexts; `pending` where there is none."""
    sha, world = commit_sha(forge, repo, call.params["ref"]), forge.world
    found = list(repo.statuses.get(sha, {}).values())
    states = {one["state"] for one in found}
    worst = next((state for state in ("error", "failure", "pending", "success") if state in states), "pending")
    path = f"{shapes.repo_url(world, repo)}/commits/{sha}"
    reply = paged(forge, call, found)
    reply.value = {
        "state": "failure" if worst == "error" else worst, "statuses": reply.value, "sha": sha,
        "total_count": len(found), "repository": shapes.repository(world, repo), "commit_url": path,
        "url": f"{path}/status",
    }
    return reply


DEEDS: dict[str, Deed] = {"add_check_run": add_check_run, "add_status": add_status}

HANDLERS: dict[str, Handler] = {
    "checks/list-for-ref": check_runs,
    "checks/list-annotations": annotations,
    "repos/get-combined-status-for-ref": combined_status,
}
