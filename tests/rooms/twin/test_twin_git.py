"""The Git database and git over HTTP on the same bare repository."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

REPO = "octo/demo"
WORKFLOW = ".github/workflows/x.yml"
SENTENCE = (
    "refusing to allow a GitHub App to create or update workflow `.github/workflows/x.yml` "
    "without `workflows` permission"
)


def _git(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "kit",
        "GIT_AUTHOR_EMAIL": "kit@localhost",
        "GIT_COMMITTER_NAME": "kit",
        "GIT_COMMITTER_EMAIL": "kit@localhost",
    }
    return subprocess.run(["git", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def _remote(yard: Any, headers: dict[str, str]) -> str:
    token = headers["Authorization"].split()[1]
    return str(yard.twin.url.replace("//", f"//x-access-token:{token}@") + "/octo/demo.git")


def test_a_commit_without_author_fields_is_signed_by_github_and_one_with_them_is_not(yard: Any) -> None:
    headers = yard.token()
    main = yard.control.branches(REPO)["main"]
    tree = yard.call("GET", f"/git/commits/{main}", headers).json()["tree"]["sha"]
    plain = {"message": "m", "tree": tree, "parents": [main]}
    signed = yard.call("POST", "/git/commits", headers, plain).json()
    assert signed["verification"]["verified"] is True
    bot = yard.http.get("/users/countersign[bot]", headers=headers).json()
    assert signed["author"]["name"] == "countersign[bot]"
    assert signed["author"]["email"] == f"{bot['id']}+countersign[bot]@users.noreply.github.com"
    author = {"name": "kit", "email": "kit@localhost"}
    unsigned = yard.call("POST", "/git/commits", headers, {**plain, "author": author}).json()
    assert unsigned["verification"] == {
        "verified": False,
        "reason": "unsigned",
        "signature": None,
        "payload": None,
        "verified_at": None,
    }


def test_without_base_tree_everything_else_is_gone_and_deleting_what_is_not_there_is_refused(yard: Any) -> None:
    headers = yard.token()
    main = yard.control.branches(REPO)["main"]
    entry = {"path": "a", "mode": "100644", "type": "blob", "content": "1"}
    alone = yard.call("POST", "/git/trees", headers, {"tree": [entry]}).json()
    assert [one["path"] for one in alone["tree"]] == ["a"]
    kept = yard.call("POST", "/git/trees", headers, {"base_tree": main, "tree": [entry]}).json()
    assert {one["path"]: one["mode"] for one in kept["tree"]}["run.sh"] == "100755"
    gone = {"path": "nowhere", "mode": "100644", "type": "blob", "sha": None}
    assert yard.call("POST", "/git/trees", headers, {"base_tree": main, "tree": [gone]}).status_code == 422
    both = {**entry, "sha": "0" * 40}
    assert yard.call("POST", "/git/trees", headers, {"base_tree": main, "tree": [both]}).status_code == 422
    outside = {**entry, "path": "../a"}
    assert yard.call("POST", "/git/trees", headers, {"base_tree": main, "tree": [outside]}).status_code == 422


def test_a_branch_is_never_overwritten_by_creation_or_without_force(yard: Any) -> None:
    headers = yard.token()
    first = yard.branch(headers, "fix", {"a": "1"})
    other = yard.branch(headers, "other", {"b": "1"})
    taken = yard.call("POST", "/git/refs", headers, {"ref": "refs/heads/fix", "sha": other})
    assert (taken.status_code, taken.json()["message"]) == (422, "Reference already exists")
    refused = yard.call("PATCH", "/git/refs/heads/fix", headers, {"sha": other})
    assert (refused.status_code, refused.json()["message"]) == (422, "Update is not a fast forward")
    assert yard.control.branches(REPO)["fix"] == first
    assert yard.call("PATCH", "/git/refs/heads/fix", headers, {"sha": other, "force": True}).status_code == 200
    assert yard.call("DELETE", "/git/refs/heads/fix", headers).status_code == 204
    assert yard.call("GET", "/git/ref/heads/fix", headers).status_code == 404


@pytest.mark.parametrize("name", ["refs/heads/a..b", "heads/x", "refs/heads/x.lock", "refs/heads/-x/../y"])
def test_a_bad_ref_name_is_refused(yard: Any, name: str) -> None:
    main = yard.control.branches(REPO)["main"]
    assert yard.call("POST", "/git/refs", yard.token(), {"ref": name, "sha": main}).status_code == 422


def test_a_rule_can_forbid_to_create_a_branch_and_is_shown_before_it_exists(yard: Any) -> None:
    headers = yard.token()
    yard.control.do("add_rule", repo=REPO, pattern="countersign/*", type="creation")
    assert yard.call("GET", "/rules/branches/countersign/1", headers).json()[0]["type"] == "creation"
    main = yard.control.branches(REPO)["main"]
    refused = yard.call("POST", "/git/refs", headers, {"ref": "refs/heads/countersign/1", "sha": main})
    assert (refused.status_code, refused.json()["message"]) == (422, "Reference update failed")


def test_workflow_files_need_the_workflows_permission_in_trees_refs_and_pushes(yard: Any, tmp_path: Path) -> None:
    headers = yard.token()
    main = yard.control.branches(REPO)["main"]
    entry = {"path": WORKFLOW, "mode": "100644", "type": "blob", "content": "on: push\n"}
    refused = yard.call("POST", "/git/trees", headers, {"base_tree": main, "tree": [entry]})
    assert (refused.status_code, refused.json()["message"]) == (403, SENTENCE)
    assert _git("clone", "-q", _remote(yard, headers), str(tmp_path / "work")).returncode == 0
    work = tmp_path / "work"
    (work / ".github/workflows").mkdir(parents=True)
    (work / WORKFLOW).write_text("on: push\n")
    _git("add", "-A", cwd=work), _git("commit", "-qm", "w", cwd=work)
    pushed = _git("push", "-q", "origin", "HEAD:refs/heads/w", cwd=work)
    assert pushed.returncode != 0 and SENTENCE in pushed.stderr
    assert "w" not in yard.control.branches(REPO)
    yard.control.set_installation_permissions("octo", {"contents": "write", "workflows": "write"})
    allowed = yard.token(contents="write", workflows="write")
    made = yard.call("POST", "/git/trees", allowed, {"base_tree": main, "tree": [entry]}).json()["sha"]
    body = {"message": "m", "tree": made, "parents": [main]}
    commit = yard.call("POST", "/git/commits", allowed, body).json()["sha"]
    ref = {"ref": "refs/heads/w", "sha": commit}
    only_contents = yard.token(contents="write")
    assert yard.call("POST", "/git/refs", only_contents, ref).json()["message"] == SENTENCE
    assert yard.call("POST", "/git/refs", allowed, ref).status_code == 201


def test_git_reads_with_contents_read_and_pushes_only_with_contents_write(yard: Any, tmp_path: Path) -> None:
    reader, work = yard.token(contents="read"), tmp_path / "work"
    assert _git("clone", "-q", _remote(yard, reader), str(work)).returncode == 0
    assert (work / "README.md").read_text() == "hello\n" and os.access(work / "run.sh", os.X_OK)
    (work / "README.md").write_text("changed\n")
    _git("commit", "-qam", "c", cwd=work)
    assert _git("push", "-q", "origin", "HEAD:refs/heads/new", cwd=work).returncode != 0
    assert "new" not in yard.control.branches(REPO)
    _git("remote", "set-url", "origin", _remote(yard, yard.token(contents="write")), cwd=work)
    assert _git("push", "-q", "origin", "HEAD:refs/heads/new", cwd=work).returncode == 0
    assert yard.call("GET", "/git/ref/heads/new", reader).status_code == 200
    assert "push" in yard.heard()


def test_git_refuses_strangers_other_repositories_and_dead_tokens(yard: Any, tmp_path: Path) -> None:
    bad = {"Authorization": "token ghs_nobody"}
    assert _git("ls-remote", yard.twin.url + "/octo/demo.git").returncode != 0
    assert _git("ls-remote", _remote(yard, bad)).returncode != 0
    assert _git("ls-remote", _remote(yard, yard.token(issues="read"))).returncode != 0
    dead = yard.token(contents="read")
    yard.http.delete("/installation/token", headers=dead)
    assert _git("ls-remote", _remote(yard, dead)).returncode != 0
    other = yard.control.add_repo("octo/other", {"a": "1"}, private=True)
    foreign = yard.mint(repository_ids=[other["id"]], permissions={"contents": "read"}).json()["token"]
    assert _git("ls-remote", _remote(yard, {"Authorization": f"token {foreign}"})).returncode != 0
    status = {one["status"] for one in yard.control.journal() if one["path"].startswith("/octo/")}
    assert status <= {401, 403, 404}


def test_an_exact_commit_can_be_fetched_shallow_and_without_blobs(yard: Any, tmp_path: Path) -> None:
    headers = yard.token(contents="read")
    old = yard.control.branches(REPO)["main"]
    yard.control.push_commit(REPO, "main", {"README.md": "two\n"}, as_login="mira")
    _git("init", "-q", str(tmp_path / "one"))
    fetched = _git("fetch", "-q", "--depth", "1", _remote(yard, headers), old, cwd=tmp_path / "one")
    assert fetched.returncode == 0, fetched.stderr
    assert _git("show", f"{old}:README.md", cwd=tmp_path / "one").stdout == "hello\n"
    partial = _git("clone", "-q", "--bare", "--filter=blob:none", _remote(yard, headers), str(tmp_path / "two"))
    assert partial.returncode == 0
    missing = _git("rev-list", "--objects", "--missing=print", "HEAD", cwd=tmp_path / "two").stdout
    assert "\n?" in missing


def test_contents_follow_links_to_files_and_blobs_are_base64(yard: Any) -> None:
    headers = yard.token(contents="read")
    files = [{"path": "link", "mode": "120000", "content": "UkVBRE1FLm1k"}]
    yard.control.do("push_commit", repo=REPO, branch="main", files=files, message="m", as_login="octo")
    found = yard.call("GET", "/contents/link", headers).json()
    assert found["content"] == "aGVsbG8K\n" and found["encoding"] == "base64"
    raw = yard.call("GET", "/contents/README.md", {**headers, "Accept": "application/vnd.github.raw+json"})
    assert raw.text == "hello\n"
    assert yard.call("GET", "/contents/nowhere", headers).status_code == 404


def test_compare_tells_ahead_behind_and_diverged(yard: Any) -> None:
    headers = yard.token()
    yard.branch(headers, "fix", {"a": "1"})
    yard.control.push_commit(REPO, "main", {"b": "1"}, as_login="mira")

    def status(pair: str) -> tuple[str, int, int]:
        found = yard.call("GET", f"/compare/{pair}", headers).json()
        return found["status"], found["ahead_by"], found["behind_by"]

    assert status("main...fix") == ("diverged", 1, 1)
    assert status("main...main") == ("identical", 0, 0)
    assert yard.call("GET", "/compare/main...nowhere", headers).status_code == 404


def test_an_empty_repository_is_409(yard: Any) -> None:
    yard.control.add_repo("octo/empty", private=True)
    headers = {"Authorization": "token " + yard.mint().json()["token"]}
    assert yard.http.get("/repos/octo/empty/git/ref/heads/main", headers=headers).status_code == 409
