"""Preparing: what the checks of a tree need beside the tree, by kind; made by trusted code outside the box."""

from collections.abc import Callable, Mapping
from pathlib import Path

from worker.box.environment import KIND as PYTHON_KIND
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable, Workshop, build_environment
from worker.box.keeping import keep_within
from worker.box.node import KIND as NODE_KIND
from worker.box.node import build_node_environment

_MAKERS: Mapping[str, Callable[[Path, Workshop], CheckEnvironment | EnvironmentUnavailable]] = {
    PYTHON_KIND: build_environment,
    NODE_KIND: build_node_environment,
}


def prepare(
    kinds: set[str], snapshot: Path, workshop: Workshop
) -> tuple[CheckEnvironment, ...] | EnvironmentUnavailable:
    """An environment of each kind for the tree, in the order of their names; the first that cannot be had ends it.

    Afterwards the cache is within its size again, as far as what is in use lets it.
    """
    made = []
    for kind in sorted(kinds):
        environment = _MAKERS[kind](snapshot, workshop)
        if isinstance(environment, EnvironmentUnavailable):
            return environment
        made.append(environment)
    keep_within(workshop.cache, tuple(_MAKERS), workshop.most_bytes)
    return tuple(made)
