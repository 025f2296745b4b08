"""The client for people and tests: every human act and every control of a twin as a method."""

import base64
import json
import os
import ssl
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

Json = dict[str, Any]
Content = str | bytes
CLIENT_SECONDS = 60.0


class TwinRefused(Exception):
    """The twin said no: the status and GitHub's sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status = status
        self.message = message


def plain_only() -> ssl.SSLContext:
    """A TLS context that trusts nobody: for clients that only ever speak plain HTTP to loopback."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def tree_of(files: Mapping[str, Content]) -> list[Json]:
    """Files given as text or bytes, ready to send; `path` ending in `*` is executable (`run.sh*`)."""
    entries = []
    for path, content in files.items():
        raw = content.encode() if isinstance(content, str) else content
        mode = "100755" if path.endswith("*") else "100644"
        entries.append({"path": path.removesuffix("*"), "mode": mode, "content": base64.b64encode(raw).decode()})
    return entries


def tree_of_folder(folder: Path) -> list[Json]:
    """Every file below a folder except `.git`, with executable bits and links as links."""
    entries = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        links = [name for name in folders if (Path(here) / name).is_symlink()]
        for name in sorted(names) + links:
            path = Path(here) / name
            raw, mode = _read(path)
            entries.append(
                {"path": path.relative_to(folder).as_posix(), "mode": mode, "content": base64.b64encode(raw).decode()}
            )
    return entries


def _read(path: Path) -> tuple[bytes, str]:
    if path.is_symlink():
        return os.fsencode(os.readlink(path)), "120000"
    return path.read_bytes(), "100755" if path.stat().st_mode & 0o100 else "100644"


def tree_of_tar(archive: Path) -> list[Json]:
    """The files of a tar archive without its first folder (as source distributions have one)."""
    entries = []
    with tarfile.open(archive) as opened:
        for member in opened:
            inside = member.name.partition("/")[2]
            stream = opened.extractfile(member) if member.isfile() else None
            if inside and stream:
                mode = "100755" if member.mode & 0o100 else "100644"
                entries.append({"path": inside, "mode": mode, "content": base64.b64encode(stream.read()).decode()})
    return entries


class TwinControl:
    """Calls `/_twin/…` of the twin at `url`. Every refusal raises TwinRefused; answers are GitHub-shaped dicts."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        # The twin speaks plain HTTP on loopback; loading the machine's certificates would only cost time.
        self._http = httpx.Client(timeout=CLIENT_SECONDS, trust_env=False, verify=plain_only())

    def do(self, deed: str, **values: Any) -> Any:
        """Any control call by name; values that are None are left out."""
        body = json.dumps({name: value for name, value in values.items() if value is not None})
        answer = self._http.post(
            f"{self.url}/_twin/do/{deed}", content=body, headers={"content-type": "application/json"}
        )
        if answer.status_code != 200:
            said = answer.json() if answer.headers.get("content-type", "").startswith("application/json") else {}
            raise TwinRefused(answer.status_code, str(said.get("message", answer.text[:200])))
        return answer.json()

    def settle(self) -> bool:
        """Wait (at most 20 s) until every webhook that is not held has been answered or given up."""
        return bool(self._http.post(f"{self.url}/_twin/settle").json()["settled"])

    def add_user(self, login: str, id: int | None = None, kind: str = "User") -> Json:
        """An account; `kind` is User, Bot, Organization or Mannequin."""
        return dict(self.do("add_user", login=login, id=id, kind=kind))

    def add_repo(self, repo: str, files: Mapping[str, Content] | list[Json] | None = None, **more: Any) -> Json:
        """A repository `owner/name`.

        `files` maps paths to content, or comes from `tree_of_folder` or `tree_of_tar`. `more`: private,
        default_branch, collaborators {login: role}, custom_roles {name: built-in role}, labels, description,
        drafts (False: draft pull requests are refused), owner_kind (Organization or User), message.
        """
        entries = tree_of(files) if isinstance(files, Mapping) else files
        return dict(self.do("add_repo", repo=repo, files=entries, **more))

    def open_issue(self, repo: str, author: str, title: str, body: str | None = None, **more: Any) -> Json:
        """An issue; `more`: labels (dropped without triage), through="form" (labels applied for anybody)."""
        return dict(self.do("open_issue", repo=repo, author=author, title=title, body=body, **more))

    def edit_issue(self, repo: str, number: int, as_login: str, **what: str) -> Json:
        """Change `title` or `body`."""
        return dict(self.do("edit_issue", repo=repo, number=number, as_login=as_login, **what))

    def label(self, repo: str, number: int, label: str, as_login: str) -> Json:
        """Put a label on (triage)."""
        return dict(self.do("label", repo=repo, number=number, label=label, as_login=as_login))

    def unlabel(self, repo: str, number: int, label: str, as_login: str) -> Json:
        """Take a label off (triage)."""
        return dict(self.do("unlabel", repo=repo, number=number, label=label, as_login=as_login))

    def comment(self, repo: str, number: int, body: str, as_login: str) -> Json:
        """Speak; the comment."""
        return dict(self.do("comment", repo=repo, number=number, body=body, as_login=as_login))

    def edit_comment(self, comment_id: int, body: str, as_login: str) -> Json:
        """Edit one's own comment, or with write anybody's."""
        return dict(self.do("edit_comment", comment_id=comment_id, body=body, as_login=as_login))

    def delete_comment(self, comment_id: int, as_login: str) -> None:
        """Delete one's own comment, or with write anybody's."""
        self.do("delete_comment", comment_id=comment_id, as_login=as_login)

    def minimize(self, comment_id: int, as_login: str, reason: str = "outdated") -> Json:
        """Hide a comment (triage)."""
        return dict(self.do("minimize", comment_id=comment_id, as_login=as_login, reason=reason))

    def react(self, comment_id: int, content: str, as_login: str) -> Json:
        """React to a comment with `+1`, `-1`, `eyes` …"""
        return dict(self.do("react", comment_id=comment_id, content=content, as_login=as_login))

    def unreact(self, comment_id: int, content: str, as_login: str) -> None:
        """Take a reaction back."""
        self.do("unreact", comment_id=comment_id, content=content, as_login=as_login)

    def close_issue(self, repo: str, number: int, as_login: str, reason: str | None = None) -> Json:
        """Close an issue or pull request (its author, or triage)."""
        values = {"repo": repo, "number": number, "as_login": as_login, "reason": reason}
        return dict(self.do("set_issue_state", state="closed", **values))

    def reopen_issue(self, repo: str, number: int, as_login: str) -> Json:
        """Open it again."""
        return dict(self.do("set_issue_state", state="open", repo=repo, number=number, as_login=as_login))

    def lock_issue(self, repo: str, number: int, as_login: str) -> Json:
        """Lock a conversation (write)."""
        return dict(self.do("set_lock", state="locked", repo=repo, number=number, as_login=as_login))

    def unlock_issue(self, repo: str, number: int, as_login: str) -> Json:
        """Unlock it."""
        return dict(self.do("set_lock", state="unlocked", repo=repo, number=number, as_login=as_login))

    def delete_issue(self, repo: str, number: int, as_login: str) -> None:
        """Delete an issue (admin)."""
        self.do("delete_issue", repo=repo, number=number, as_login=as_login)

    def transfer_issue(self, repo: str, number: int, to: str, as_login: str) -> Json:
        """Move an issue to another repository of the same owner; the new issue."""
        return dict(self.do("transfer_issue", repo=repo, number=number, to=to, as_login=as_login))

    def push_commit(self, repo: str, branch: str, files: Mapping[str, Content | None], **more: str) -> str:
        """One commit on `branch` (content None deletes); `more`: message, as_login (needs write). The commit's name."""
        gone = [{"path": path, "mode": "100644", "content": None} for path, text in files.items() if text is None]
        kept = {path: text for path, text in files.items() if text is not None}
        who = more.get("as_login") or repo.partition("/")[0]
        message = more.get("message", "Change files")
        made = self.do(
            "push_commit", repo=repo, branch=branch, files=tree_of(kept) + gone, message=message, as_login=who
        )
        return str(made["sha"])

    def merge_pull(self, repo: str, number: int, as_login: str) -> str:
        """Merge a pull request (write; never a draft); the merge commit."""
        return str(self.do("merge_pull", repo=repo, number=number, as_login=as_login)["sha"])

    def mark_ready(self, repo: str, number: int, as_login: str) -> Json:
        """Make a draft ready for review."""
        return dict(self.do("mark_ready", repo=repo, number=number, as_login=as_login))

    def close_pull(self, repo: str, number: int, as_login: str) -> Json:
        """Close a pull request without merging."""
        return self.close_issue(repo, number, as_login)

    def open_pull(self, repo: str, title: str, head: str, into: str, as_login: str) -> Json:
        """A pull request opened by hand (write)."""
        return dict(self.do("open_pull", repo=repo, title=title, head=head, into=into, as_login=as_login))

    def unminimize(self, comment_id: int, as_login: str) -> Json:
        """Show a hidden comment again."""
        return dict(self.do("unminimize", comment_id=comment_id, as_login=as_login))

    def forget_author(self, **what: Any) -> None:
        """Delete the author's account of an issue (repo, number) or of a comment (comment_id): null from now on."""
        self.do("forget_author", **what)

    def rename_label(self, repo: str, label: str, name: str, as_login: str) -> Json:
        """Rename a label (write)."""
        return dict(self.do("rename_label", repo=repo, label=label, name=name, as_login=as_login))

    def delete_label(self, repo: str, label: str, as_login: str) -> None:
        """Delete a label from the repository and from every issue (write)."""
        self.do("delete_label", repo=repo, label=label, as_login=as_login)

    def add_rule(self, repo: str, pattern: str, type: str) -> Json:
        """A branch rule: creation, update, deletion … for a pattern, `~ALL` or `~DEFAULT_BRANCH`."""
        return dict(self.do("add_rule", repo=repo, pattern=pattern, type=type))

    def add_check_run(self, repo: str, sha: str, name: str, conclusion: str | None, **more: Any) -> Json:
        """A check run on a commit, still running without a conclusion; `more`: title, summary, text, annotations (a
        list of {path, start_line, message} and, optionally, end_line, title, level, raw_details)."""
        return dict(self.do("add_check_run", repo=repo, sha=sha, name=name, conclusion=conclusion, **more))

    def add_status(self, repo: str, sha: str, context: str, state: str, **more: str) -> Json:
        """A commit status (needs write); `more`: as_login, description, target_url."""
        who = more.pop("as_login", None) or repo.partition("/")[0]
        return dict(self.do("add_status", repo=repo, sha=sha, context=context, state=state, as_login=who, **more))

    def set_team(self, org: str, slug: str, members: list[str]) -> None:
        """The members of an organization's team."""
        self.do("set_team", org=org, slug=slug, members=members)

    def delete_repo(self, repo: str) -> None:
        """Delete a repository."""
        self.do("delete_repo", repo=repo)

    def choose_repos(self, account: str, repos: list[str]) -> Json:
        """Which repositories the installation covers from now on."""
        return dict(self.do("choose_repos", account=account, repos=repos))

    def set_permission(self, repo: str, login: str, role: str) -> None:
        """Give a role: none, read, triage, write, maintain, admin or a custom one of the repository."""
        self.do("set_permission", repo=repo, login=login, role=role)

    def change_repo(self, repo: str, **changes: Any) -> Json:
        """Change name, archived, private, default_branch, drafts, has_issues, web_signing, blocked (by GitHub: 451)."""
        return dict(self.do("change_repo", repo=repo, **changes))

    def install(self, account: str, **more: Any) -> Json:
        """Install the App on an account; `more`: repos (names; default all), permissions, events."""
        return dict(self.do("install", account=account, **more))

    def suspend(self, account: str) -> Json:
        """Suspend the installation."""
        return dict(self.do("suspend", account=account))

    def unsuspend(self, account: str) -> Json:
        """End the suspension."""
        return dict(self.do("unsuspend", account=account))

    def uninstall(self, account: str) -> None:
        """Remove the App from the account."""
        self.do("uninstall", account=account)

    def set_installation_permissions(self, account: str, permissions: Mapping[str, str]) -> Json:
        """What the installation may do from now on."""
        return dict(self.do("set_installation_permissions", account=account, permissions=dict(permissions)))

    def fault(self, pattern: str, **what: Any) -> None:
        """Arm a fault for requests whose `METHOD /path` fits `pattern`.

        `what`: mode (instead, after, drop, drop-after, delay), status, body, headers, seconds_before, seconds_after,
        skip, times (default 1), seconds (for so long, any number of times).
        """
        self.do("add_fault", pattern=pattern, **what)

    def clear_faults(self) -> None:
        """Disarm all faults."""
        self.do("clear_faults")

    def treat_deliveries(self, treatment: str, event: str = "", action: str = "", times: int | None = 1) -> None:
        """`drop`, `duplicate` or `hold` the next deliveries of an event (times None: all)."""
        self.do("treat_deliveries", treatment=treatment, event=event, action=action, times=times)

    def clear_treatments(self) -> None:
        """Deliver normally again; what is held stays held until released."""
        self.do("clear_treatments")

    def release_deliveries(self, order: str = "first-first") -> int:
        """Send what is held, in order or `last-first`; how many."""
        return int(self.do("release_deliveries", order=order)["released"])

    def redeliver(self, delivery_id: int) -> Json:
        """Send a delivery again, same GUID."""
        return dict(self.do("redeliver", delivery_id=delivery_id))

    def set_clock(self, offset: float) -> None:
        """Shift the twin's clock by seconds."""
        self.do("set_clock", offset=offset)

    def set_tokens(self, seconds: int | None = None, format: str | None = None) -> None:
        """Life in seconds and format (`stateless`, `classic`) of new tokens."""
        self.do("set_tokens", seconds=seconds, format=format)

    def set_ids(self, family: str, first: int) -> None:
        """The next id of `issue`, `comment` or `other` objects."""
        self.do("set_ids", family=family, first=first)

    def set_rate_limit(self, limit: int) -> None:
        """Requests per hour for each caller."""
        self.do("set_rate_limit", limit=limit)

    def set_hook(self, url: str | None, secret: str | None = None, seconds_to_answer: float | None = None) -> None:
        """Where webhooks go (None: nowhere)."""
        self.do("set_hook", url=url, secret=secret, seconds_to_answer=seconds_to_answer)

    def issue(self, repo: str, number: int) -> Json:
        """An issue or pull request."""
        return dict(self.do("issue", repo=repo, number=number))

    def issues(self, repo: str) -> list[Json]:
        """All issues and pull requests."""
        return list(self.do("issues", repo=repo))

    def comments(self, repo: str, number: int) -> list[Json]:
        """All comments of an issue, oldest first."""
        return list(self.do("comments", repo=repo, number=number))

    def pulls(self, repo: str) -> list[Json]:
        """All pull requests in full, each with its `diff`."""
        return list(self.do("pulls", repo=repo))

    def branches(self, repo: str) -> dict[str, str]:
        """Branch -> commit."""
        return dict(self.do("branches", repo=repo))

    def branch_files(self, repo: str, branch: str) -> dict[str, bytes]:
        """Path -> content at a branch or commit."""
        found = self.do("branch_files", repo=repo, branch=branch)
        return {path: base64.b64decode(one["content"]) for path, one in found.items()}

    def branch_modes(self, repo: str, branch: str) -> dict[str, str]:
        """Path -> mode at a branch or commit."""
        return {path: one["mode"] for path, one in self.do("branch_files", repo=repo, branch=branch).items()}

    def commit(self, repo: str, name: str) -> Json:
        """A commit (by branch or object name) with its `verification`."""
        return dict(self.do("commit", repo=repo, name=name))

    def repo_path(self, repo: str) -> Path:
        """Where the bare git repository lies on this machine."""
        return Path(self.do("repo_path", repo=repo)["path"])

    def journal(self) -> list[Json]:
        """Every request the twin answered, by arrival."""
        return list(self.do("journal"))

    def acts(self) -> list[Json]:
        """What people did by hand ({at, login, deed, values}), on the journal's clock."""
        return list(self.do("acts"))

    def tokens(self) -> list[Json]:
        """Every token minted: hash, permissions, repository ids, minted, expires, revoked (seconds since 1970)."""
        return list(self.do("tokens"))

    def deliveries(self) -> list[Json]:
        """Every webhook delivery with request and response, oldest first."""
        return list(self.do("deliveries"))
