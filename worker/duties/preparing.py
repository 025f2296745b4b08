"""Preparing what commands of a repository need: by trusted code outside the box, or by approved commands inside it."""

from dataclasses import dataclass
from pathlib import Path

from app.core.plan import Plan
from app.core.policy import Policy
from app.core.span import SpanKind
from app.core.verdict import Refused
from worker.belts.proving import Prepare
from worker.box.box import BoxSettings, open_box
from worker.box.clients import Registries, registries_of
from worker.box.command import BoxUnavailable, Runs
from worker.box.egress.rules import TLS_PORT, Host, NotAHost, read_host
from worker.box.environment import CannotPrepare, CheckEnvironment, Workshop, registry_variables
from worker.box.limits import GIB
from worker.box.preparing import Prepared, prepare
from worker.box.setting_up import SetUp
from worker.evidence.trace import Trace
from worker.shop import Shop


@dataclass(frozen=True, slots=True)
class Reach:
    """What set-up commands of a policy may reach here: the hosts that it names, and the machine's own registries."""

    hosts: frozenset[Host]
    registries: Registries

    def written(self) -> tuple[str, ...]:
        """As a plan names them."""
        return tuple(sorted(map(str, self.hosts)))


def workshop_of(shop: Shop) -> Workshop:
    """Where environments are kept, and what this process may know of registries."""
    settings = shop.settings
    return Workshop(
        settings.data_dir / "environments",
        registry_variables(settings.registry),
        most_bytes=settings.environments_gb * GIB,
    )


def preparing(shop: Shop, trace: Trace, how: SetUp | None = None) -> Prepare:
    """Makes environments, each making is a span. Without `how` no command of the repository runs for it."""
    workshop = workshop_of(shop)

    def prepared(kinds: set[str], tree: Path) -> Prepared:
        with trace.noting(SpanKind.CHECK, "prepare the environment") as noted:
            environments = prepare(kinds, tree, workshop, how)
            if isinstance(environments, Refused):
                noted.outcome = "failed"
            elif not all(isinstance(one, CheckEnvironment) for one in _each(environments)):
                noted.outcome = "unavailable"
        trace.must_be_wanted()
        return environments

    return prepared


def _each(environments: Prepared) -> tuple[object, ...]:
    return environments if isinstance(environments, tuple) else (environments,)


def reach_of(shop: Shop, policy: Policy) -> Reach | Refused:
    """What the policy's set-up commands may reach from this machine; nothing where it has none."""
    if not policy.setup:
        return Reach(frozenset(), Registries())
    try:
        named = frozenset(read_host(text) for text in policy.hosts)
        registries = registries_of(policy.setup, workshop_of(shop))
    except NotAHost as error:
        return Refused(f"`hosts` in the policy file: {error}.", "A host is its full name and a port.")
    except CannotPrepare as error:
        return Refused(error.reason, error.remedy)
    return Reach(named | registries.hosts, registries)


def opened(shop: Shop, plan: Plan | None = None) -> Runs | BoxUnavailable:
    """The box of this installation, proved; else the reason."""
    cluster = shop.settings.box.cluster
    if cluster is None:
        return open_box(box_settings(shop, plan))
    # Loaded where it is used: most installations have no cluster.
    from worker.box.pods.probe import open_pods

    return open_pods(cluster)


def box_settings(shop: Shop, plan: Plan | None = None) -> BoxSettings:
    """The operator's word; an approved plan's hosts bring their ports, which the operator let its policy name."""
    settings = shop.settings
    ports = {int(host.rpartition(":")[2]) for host in plan.hosts} if plan else set()
    return BoxSettings(
        bwrap=settings.bwrap,
        ports=frozenset({TLS_PORT, *ports}),
        networks=settings.box.networks,
        names=settings.box.names,
        cgroup=settings.box.cgroup,
        hard_limits=settings.box.hard_limits,
    )


def setting_up(shop: Shop, plan: Plan, policy: Policy, trace: Trace, box: Runs) -> SetUp | Refused | None:
    """The approved plan's set-up, as long as all its hosts may still be named here; None where it has none."""
    if plan.setup is None:
        return None
    reach = reach_of(shop, policy)
    if isinstance(reach, Refused):
        return reach
    strangers = sorted(set(plan.hosts) - set(reach.written()))
    if strangers:
        return Refused(
            f"The plan names hosts that neither the policy nor this machine's package clients name: "
            f"{', '.join(strangers)}.",
            "Ask for a plan anew.",
        )
    hosts = frozenset(read_host(text) for text in plan.hosts)
    scope = f"{shop.settings.github.api_url} {plan.repository_id}"
    return SetUp(plan.setup, hosts, box, scope, reach.registries.variables, trace.wanted)
