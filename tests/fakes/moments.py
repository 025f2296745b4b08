"""A moment of a story's world, to come back to as often as one likes, and what of a world counts at its end."""

import copy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from sqlalchemy import delete, insert, select

from app.core.advance import replay
from app.ledger.schema import metadata
from tests.fakes.household import House

_OTHERWISE = {"spent", "commit", "work", "report_ref"}
"""What a second attempt does otherwise although it does the same: a report holds seconds, a commit its time."""

_WORLD = ("people", "repos", "installations", "tokens", "teams", "app", "_ids")


@dataclass(frozen=True)
class Moment:
    """The ledger's rows, GitHub's world with its branches, and the time. Nobody may be at work in it."""

    ahead: timedelta
    world: dict[str, Any]
    branches: dict[int, dict[str, str]]
    rows: dict[str, list[dict[str, Any]]]


def moment(house: House) -> Moment:
    """What is so now."""
    world, git = house.twin.forge.world, house.twin.forge.git
    with world.lock:
        state = copy.deepcopy({name: getattr(world, name) for name in _WORLD})
        branches = {repo: git.refs(repo) for repo in world.repos}
    with house.ledger._database.engine.connect() as connection:
        tables = metadata.sorted_tables
        rows = {one.name: [dict(row._mapping) for row in connection.execute(select(one))] for one in tables}
    return Moment(house.ahead, state, branches, rows)


def come_back(house: House, then: Moment) -> None:
    """All of it is so again. What was never in it, as files of a mirror, stays."""
    world, git = house.twin.forge.world, house.twin.forge.git
    with world.lock:
        for name, value in copy.deepcopy(then.world).items():
            setattr(world, name, value)
        for repo, before in then.branches.items():
            there = git.refs(repo)
            for name in there.keys() - before.keys():
                git.git(repo, ["update-ref", "-d", name])
            for name in [one for one in before if there.get(one) != before[one]]:
                git.move_ref(repo, name, before[name])
            head = f"refs/heads/{world.repos[repo].default_branch}"
            git.git(repo, ["symbolic-ref", "HEAD", head])
    with house.ledger._database.engine.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(delete(table))
        for table in metadata.sorted_tables:
            if then.rows[table.name]:
                connection.execute(insert(table), then.rows[table.name])
    house.pass_time(then.ahead - house.ahead)


def what_counts(house: House) -> dict[str, Any]:
    """What people see and what the ledger tells, without times, costs and the ids of commits.

    Every run's facts must come to its state, and the columns that are cached from them must agree.
    """
    world, git = house.twin.forge.world, house.twin.forge.git
    seen: dict[str, Any] = {}
    with world.lock:
        for repo in world.repos.values():
            for one in repo.issues:
                comments = [
                    (said.id, said.author and said.author.login, said.body, said.minimized, _reactions(said.reactions))
                    for said in one.comments
                ]
                pull = one.pull and (one.pull.head, one.pull.target, one.pull.draft, one.author and one.author.login)
                labels = [label.name for label in one.labels]
                seen[f"{repo.full_name}#{one.number}"] = (one.title, one.body, one.state, labels, comments, pull)
            for branch, sha in git.refs(repo.id).items():
                history = git.text(repo.id, ["log", "--format=%T %an %s", sha])
                seen[f"{repo.full_name} {branch}"] = history
    for summary in house.ledger.runs():
        view = house.ledger.run(summary.id)
        assert view is not None
        facts = [one.fact for one in view.facts]
        assert replay(facts) == view.state and summary.state == view.state.name
        seen[view.id] = (
            [_timeless(fact) for fact in facts],
            {one.effect.key: one.settled_at is not None for one in view.effects},
            _timeless(view.state),
        )
    return seen


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two of those differ, and in what."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [said for name in one for said in differences(one[name], other[name], f"{where}/{name}")]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [said for at, (first, second) in pairs for said in differences(first, second, f"{where}/{at}")]
    return [] if one == other else [f"{where}: {str(one)[:300]} != {str(other)[:300]}"]


def _reactions(given: list[Any]) -> list[tuple[str, str]]:
    return [(one.person.login, one.content) for one in given]


def _timeless(value: BaseModel) -> Any:
    return _cut(value.model_dump(mode="python"))


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(one) for name, one in value.items() if name not in _OTHERWISE}
    if isinstance(value, list | tuple):
        return [_cut(one) for one in value]
    return "a time" if hasattr(value, "isoformat") else value
