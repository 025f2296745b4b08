"""Preparing: what the checks of a tree need beside the tree, by kind; made or judged by trusted code."""

from collections.abc import Callable, Mapping
from pathlib import Path

from app.core.verdict import Refused
from worker.box.environment import KIND as PYTHON_KIND
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable, Workshop, build_environment
from worker.box.keeping import keep_within
from worker.box.node import KIND as NODE_KIND
from worker.box.node import build_node_environment
from worker.box.setting_up import KIND as SETUP_KIND
from worker.box.setting_up import SetUp, set_up

_MAKERS: Mapping[str, Callable[[Path, Workshop], CheckEnvironment | EnvironmentUnavailable]] = {
    PYTHON_KIND: build_environment,
    NODE_KIND: build_node_environment,
}
_KEPT = (*_MAKERS, SETUP_KIND)

Prepared = tuple[CheckEnvironment, ...] | EnvironmentUnavailable | Refused


def prepare(kinds: set[str], snapshot: Path, workshop: Workshop, how: SetUp | None = None) -> Prepared:
    """An environment of each kind for the tree, in the order of their names; the first that cannot be had ends it.

    Without `how` no command of the repository runs. Afterwards the cache is within its size again, as far as what is
    in use lets it.
    """
    made = []
    for kind in sorted(kinds):
        environment = _one(kind, snapshot, workshop, how)
        if not isinstance(environment, CheckEnvironment):
            return environment
        made.append(environment)
    keep_within(workshop.cache, _KEPT, workshop.most_bytes)
    return tuple(made)


def _one(
    kind: str, snapshot: Path, workshop: Workshop, how: SetUp | None
) -> CheckEnvironment | EnvironmentUnavailable | Refused:
    if kind != SETUP_KIND:
        return _MAKERS[kind](snapshot, workshop)
    if how is None:
        return EnvironmentUnavailable("Its set-up commands run for an approved plan only.", "")
    return set_up(snapshot, how, workshop)
