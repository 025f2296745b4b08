"""What a large change costs on its way to GitHub: 500 files of 20 MB, against the same requests by a bare client.

GitHub is the look-alike on loopback; landing is the publisher's own, once made and once found again.
"""

import base64
import hashlib
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from app.core.fit import patch_fits
from app.core.patch import FileChange, Patch
from app.core.plan import CreateFile, Plan, PlanBudget
from app.core.policy import Policy
from infra.twin.app_key import new_private_key, public_key_of
from infra.twin.twin import AppWish, Twin
from worker.github.app import AppIdentity
from worker.github.connection import ConnectionSettings, InstallationToken, connect
from worker.github.views import RepositoryRef
from worker.github.writer import Publisher, Put, Work

FILES = 500
BYTES = 20_000_000
REPO = "acme/large"
_LINE = 64


def landing() -> dict[str, Any]:
    """Seconds and ratios; the look-alike is one and the same for both."""
    contents = {f"src/part{number:03d}.txt": _content(number) for number in range(FILES)}
    fast = ConnectionSettings(write_gap_seconds=0.0)
    key = new_private_key()
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as folder:
        twin = Twin.start(Path(folder), AppWish(public_key=public_key_of(key)))
        try:
            twin.control.add_user("mira")
            shown = twin.control.add_repo(REPO, {"README.md": "large\n"}, collaborators={"mira": "maintain"})
            twin.control.install("acme")
            with AppIdentity(twin.url, str(twin.app.id), key, settings=fast) as app:
                reach = {"contents": "write", "pull_requests": "write"}
                token = app.mint(app.installation(REPO).id, shown["id"], reach).value
                base = _asked(twin.url, token, "GET", f"/repos/{REPO}/git/ref/heads/main")["object"]["sha"]
                bare = _seconds(lambda: _barely(twin.url, token, base, contents))
                with connect(twin.url, InstallationToken(token), fast) as line:
                    publisher = Publisher(line, RepositoryRef(shown["id"], REPO), 0)
                    changes = tuple(Put(path, content) for path, content in contents.items())
                    work = Work.at_once(base, ("Many files",), changes)
                    made = _seconds(lambda: publisher.land("countersign/large", "main", work))
                    found = _seconds(lambda: publisher.land("countersign/large", "main", work))
        finally:
            twin.stop()
    return {
        "files": FILES,
        "bytes": BYTES,
        "bare_requests_s": round(bare, 2),
        "landing_s": round(made, 2),
        "found_again_s": round(found, 2),
        "landing_over_bare": round(made / bare, 2),
        **comparison(contents),
    }


def comparison(contents: dict[str, bytes]) -> dict[str, Any]:
    """The patch against its plan by code, against hashing the same bytes once."""
    changes = tuple(
        FileChange(
            kind="create",
            path=path,
            mode="100644",
            content_ref=hashlib.sha256(content).hexdigest(),
            size=len(content),
            added_lines=len(content) // _LINE,
        )
        for path, content in contents.items()
    )
    plan, patch = _plan(tuple(contents)), Patch(base_commit="1" * 40, changes=changes)
    fits = statistics.median(_seconds(lambda: patch_fits(plan, patch, Policy())) for _ in range(5))
    hashed = statistics.median(
        _seconds(lambda: [hashlib.sha256(content).digest() for content in contents.values()]) for _ in range(5)
    )
    return {"comparison_ms": round(fits * 1000, 1), "comparison_over_hashing": round(fits / hashed, 2)}


def _plan(paths: tuple[str, ...]) -> Plan:
    """No more of a plan than the comparison reads: a step for each file, and room for all of them."""
    steps = tuple(
        CreateFile(id=number, kind="create", path=path, intent="Make it.", done_when="It is there.")
        for number, path in enumerate(paths, 1)
    )
    part: dict[str, Any] = {
        "base_commit": "1" * 40,
        "steps": steps,
        "budget": PlanBudget.model_construct(usd="1", calls=1, minutes=1, files=FILES, lines=BYTES),
        "rule": None,
        "protected_paths": (),
    }
    return Plan.model_construct(**part)


def _content(number: int) -> bytes:
    words = random.Random(number).randbytes(BYTES // FILES * 3 // 4)
    return base64.encodebytes(words)[: BYTES // FILES]


def _barely(url: str, token: str, base: str, contents: dict[str, bytes]) -> None:
    """The same objects by the same calls, with nothing around them."""
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
        entries = []
        for path, content in contents.items():
            body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
            sha = client.post(f"/repos/{REPO}/git/blobs", json=body).json()["sha"]
            entries.append({"path": path, "mode": "100644", "type": "blob", "sha": sha})
        parent = client.get(f"/repos/{REPO}/git/commits/{base}").json()["tree"]["sha"]
        tree = client.post(f"/repos/{REPO}/git/trees", json={"base_tree": parent, "tree": entries}).json()["sha"]
        commit_ = {"message": "Many files, barely", "tree": tree, "parents": [base]}
        commit = client.post(f"/repos/{REPO}/git/commits", json=commit_).json()["sha"]
        client.post(f"/repos/{REPO}/git/refs", json={"ref": "refs/heads/barely", "sha": commit}).raise_for_status()


def _asked(url: str, token: str, method: str, path: str) -> Any:
    headers = {"authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
        answer = client.request(method, path)
        answer.raise_for_status()
        return answer.json()


def _seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
