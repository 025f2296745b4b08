"""Cut GitHub's published OpenAPI descriptions down to what the twin answers and sends.

Usage: `python -m infra.twin.cut_openapi API.json WEBHOOKS.json OUT_DIR`, where the inputs are
`generated/api.github.com.json` of the npm packages `@octokit/openapi` and `@octokit/openapi-webhooks`.
Afterwards OUT_DIR holds `openapi.cut.json.gz` and `webhooks.cut.json.gz`, each with every schema it refers to,
without examples and descriptions. The output is the same for the same input, byte for byte.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from infra.twin.permissions import OPERATIONS

EVENTS = (
    "installation",
    "installation-repositories",
    "issue-comment",
    "issues",
    "label",
    "ping",
    "pull-request",
    "push",
    "repository",
)
"""Event families (the first words of GitHub's own names) whose payload schemas are kept."""

OTHER_FAMILIES = ("pull-request-review", "repository-advisory", "repository-ruleset", "repository-vulnerability")
DROPPED = frozenset({"example", "examples", "description", "externalDocs", "x-github", "title"})
REFERENCE = "#/components/"


def without_prose(node: Any, parent: str = "") -> Any:
    """The same JSON without examples and descriptions; keys that *name* properties are all kept."""
    if isinstance(node, list):
        return [without_prose(item) for item in node]
    if not isinstance(node, dict):
        return node
    keep_all = parent in {"properties", "schemas", "paths", "parameters", "responses"}
    return {key: without_prose(value, key) for key, value in node.items() if keep_all or key not in DROPPED}


def references(node: Any) -> set[str]:
    """Every `$ref` below `node`."""
    if isinstance(node, list):
        return set().union(*map(references, node)) if node else set()
    if not isinstance(node, dict):
        return set()
    found = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
    return found.union(*(references(value) for value in node.values())) if node else found


def closure(document: dict[str, Any], roots: Any) -> dict[str, dict[str, Any]]:
    """The components that `roots` refer to, directly or not, by section and name."""
    kept: dict[str, dict[str, Any]] = {}
    waiting = sorted(references(roots))
    seen = set(waiting)
    while waiting:
        reference = waiting.pop()
        section, name = reference.removeprefix(REFERENCE).split("/", 1)
        if section == "examples":
            continue
        component = without_prose(document["components"][section][name], name)
        kept.setdefault(section, {})[name] = component
        fresh = references(component) - seen
        seen |= fresh
        waiting.extend(sorted(fresh))
    return {section: dict(sorted(kept[section].items())) for section in sorted(kept)}


def cut_api(document: dict[str, Any]) -> dict[str, Any]:
    """The description with only the twin's operations; a missing operation raises KeyError."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        method = operation.method.lower()
        paths.setdefault(operation.described_path, {})[method] = without_prose(
            document["paths"][operation.described_path][method]
        )
    return {"openapi": document["openapi"], "info": _origin(document), "paths": paths,
            "components": closure(document, paths)}


def cut_webhooks(document: dict[str, Any]) -> dict[str, Any]:
    """The webhook description with only the twin's event families."""
    webhooks = {
        name: without_prose(entry)
        for name, entry in sorted(document["webhooks"].items())
        if name.startswith(EVENTS) and not name.startswith(OTHER_FAMILIES)
    }
    return {"openapi": document["openapi"], "info": _origin(document), "webhooks": webhooks,
            "components": closure(document, webhooks)}


def _origin(document: dict[str, Any]) -> dict[str, Any]:
    return {"title": "GitHub REST API, cut", "version": document["info"]["version"], "license": {"name": "MIT"}}


def write_cut(document: dict[str, Any], target: Path) -> None:
    """Write canonical, compressed JSON (no time stamp inside, so that the bytes are stable)."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def main(arguments: list[str]) -> int:
    """Cut both descriptions; the exit status for the shell."""
    if len(arguments) != 3:
        print(__doc__)
        return 2
    api, webhooks, out = (Path(argument) for argument in arguments)
    out.mkdir(parents=True, exist_ok=True)
    write_cut(cut_api(json.loads(api.read_text())), out / "openapi.cut.json.gz")
    write_cut(cut_webhooks(json.loads(webhooks.read_text())), out / "webhooks.cut.json.gz")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
