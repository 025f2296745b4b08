"""The parts of one twin together: state, git, webhooks, journal and faults."""

from dataclasses import dataclass, field
from pathlib import Path

from infra.twin.faults import Faults
from infra.twin.git_store import GitStore
from infra.twin.journal import Journal
from infra.twin.rates import Rates
from infra.twin.registrations import Made, SignIns
from infra.twin.state import World
from infra.twin.webhooks import Webhooks


@dataclass(frozen=True)
class Forge:
    """Everything a handler may touch."""

    world: World
    git: GitStore
    webhooks: Webhooks
    journal: Journal
    faults: Faults
    rates: Rates
    sign_ins: SignIns = field(default_factory=SignIns)
    manifests: dict[str, Made] = field(default_factory=dict)


def new_forge(folder: Path) -> Forge:
    """An empty forge that keeps its git repositories under `folder`."""
    world = World()
    return Forge(world, GitStore(folder / "git"), Webhooks(world), Journal(), Faults(world.seconds), Rates(world))
