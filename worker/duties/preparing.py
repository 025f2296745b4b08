"""Preparing what commands of a repository need, by trusted code and outside the box, before any of them runs there."""

from pathlib import Path

from app.core.span import SpanKind
from worker.belts.proving import Prepare
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable, Workshop, registry_variables
from worker.box.limits import GIB
from worker.box.preparing import prepare
from worker.evidence.trace import Trace
from worker.shop import Shop


def preparing(shop: Shop, trace: Trace) -> Prepare:
    """Makes environments with what this process may know of registries; each making is a span."""
    settings = shop.settings
    workshop = Workshop(
        settings.data_dir / "environments",
        registry_variables(settings.registry),
        most_bytes=settings.environments_gb * GIB,
    )

    def prepared(kinds: set[str], tree: Path) -> tuple[CheckEnvironment, ...] | EnvironmentUnavailable:
        with trace.noting(SpanKind.CHECK, "prepare the environment") as noted:
            environments = prepare(kinds, tree, workshop)
            if isinstance(environments, EnvironmentUnavailable):
                noted.outcome = "unavailable"
        return environments

    return prepared
