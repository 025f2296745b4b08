"""Tasks: an issue, a repository at a commit, and what is known of the right answer, one JSON object a line.

Two forms are read. That of the public sets of issues: `instance_id`, `repo`, `base_commit`, `problem_statement`,
`gold_patch` or `patch`, `test_patch`, `fail_to_pass` or `FAIL_TO_PASS`; the repository is a bare clone
`owner+name.git` in a folder that is named beside. And one that needs nothing beside: `files` (path to content) instead
of `repo` and `base_commit`. Both may say `unclear: true`, `must_stop: true`, and `hidden_check`, the name of the check
that runs the unseen tests.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.core.fit import is_test
from app.core.plan_score import Gold
from worker.repo.rank_command import issue_in

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_FILE = re.compile(r"^diff --git a/(.+) b/(.+)$", re.MULTILINE)


class TasksUnreadable(Exception):
    """The tasks cannot be read; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task. Its repository is a commit of a clone, or these files."""

    name: str
    title: str
    body: str
    gold: Gold
    gold_patch: str = ""
    test_patch: str = ""
    hidden: tuple[str, ...] = ()
    """The unseen tests that must pass on the result, as the runner names them."""
    hidden_check: str = ""
    repository: str = "eval/task"
    clone: Path | None = None
    commit: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    """SHA-256 of the line that it was read from."""


def read_tasks(file: Path, repos: Path | None) -> tuple[Task, ...]:
    """Every task of the file. Raises `TasksUnreadable`."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TasksUnreadable(f"{file} cannot be read: {error}.") from error
    tasks = [_task(line, f"{file.name}, line {number}", repos) for number, line in enumerate(lines, 1) if line.strip()]
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not tasks:
        raise TasksUnreadable(f"{file.name}: the name {twice[0]} stands twice." if twice else f"{file} holds no task.")
    return tuple(tasks)


def _task(line: str, where: str, repos: Path | None) -> Task:
    try:
        told = json.loads(line)
        name, text = str(told["instance_id"]), str(told["problem_statement"])
    except (ValueError, KeyError, TypeError) as error:
        raise TasksUnreadable(f"{where} is no task: it needs instance_id and problem_statement ({error}).") from error
    if not _NAME.fullmatch(name):
        raise TasksUnreadable(f"{where}: {name!r} cannot be the name of a task.")
    gold_patch, test_patch = str(told.get("gold_patch") or told.get("patch") or ""), str(told.get("test_patch") or "")
    files = told.get("files")
    issue = issue_in(text)
    if files:
        place: dict[str, Any] = {"files": {str(path): str(content) for path, content in files.items()}}
    else:
        place = _cloned(told, where, repos)
    return Task(
        name=name,
        title=issue.title,
        body=issue.body.strip("\n"),
        gold=_gold(told, gold_patch, test_patch),
        gold_patch=gold_patch,
        test_patch=test_patch,
        hidden=_listed(told.get("fail_to_pass", told.get("FAIL_TO_PASS"))),
        hidden_check=str(told.get("hidden_check") or ""),
        digest=hashlib.sha256(line.encode()).hexdigest(),
        **place,
    )


def _gold(told: Mapping[str, Any], gold_patch: str, test_patch: str) -> Gold:
    named = told.get("gold_files")
    files = {str(path) for path in named} if named else {one for one in touched(gold_patch) if not is_test(one)}
    tests = touched(test_patch) | {one for one in touched(gold_patch) if is_test(one)}
    return Gold(
        files=frozenset(files),
        tests=frozenset(tests),
        lines=changed_lines(gold_patch),
        unclear=bool(told.get("unclear")),
        must_stop=bool(told.get("must_stop")),
    )


def _cloned(told: Mapping[str, Any], where: str, repos: Path | None) -> dict[str, Any]:
    repository, commit = str(told.get("repo", "")), str(told.get("base_commit", ""))
    if repository.count("/") != 1 or not _COMMIT.fullmatch(commit):
        raise TasksUnreadable(f"{where} names no repository at a commit, and holds no files.")
    if repos is None:
        raise TasksUnreadable(f"{where} is of {repository}: name the folder of bare clones with --repos.")
    return {"repository": repository, "commit": commit, "clone": repos / f"{repository.replace('/', '+')}.git"}


def _listed(value: object) -> tuple[str, ...]:
    """A list, or the text of one, as some sets have it."""
    found = json.loads(value) if isinstance(value, str) and value.startswith("[") else value
    return tuple(str(one) for one in found) if isinstance(found, list) else ()


def touched(patch: str) -> frozenset[str]:
    """The paths of a patch in git's form."""
    return frozenset(path for pair in _FILE.findall(patch) for path in pair)


def changed_lines(patch: str) -> int:
    """Lines added and taken away by a patch in git's form."""
    heads = ("+++ ", "--- ")
    return sum(line[:1] in ("+", "-") and not line.startswith(heads) for line in patch.splitlines())
