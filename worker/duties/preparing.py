"""Preparing what commands of a repository need: by set-up commands in the box, for a plan or to try something out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from app.core.plan import Plan
from app.core.policy import Policy
from app.core.span import SpanKind
from app.core.verdict import Refused
from worker.belts.proving import Prepare
from worker.box.box import BoxSettings, open_box
from worker.box.checks import NamedCheck
from worker.box.command import BoxUnavailable, Runs
from worker.box.egress.rules import TLS_PORT
from worker.box.environment import CheckEnvironment, EnvironmentUnavailable, Workshop, registry_variables
from worker.box.limits import GIB
from worker.box.preparing import Approved, How, Prepared, of_approved, of_this_machine, prepare
from worker.box.provision import ANEW, Provisions, provisions_of
from worker.box.setting_up import SetUp
from worker.evidence.trace import Trace
from worker.shop import Shop


def workshop_of(shop: Shop) -> Workshop:
    """Where environments are kept, and what this process may know of registries."""
    settings = shop.settings
    return Workshop(
        settings.data_dir / "environments",
        registry_variables(settings.registry),
        most_bytes=settings.environments_gb * GIB,
    )


def preparing(shop: Shop, trace: Trace, how: How) -> Prepare:
    """Makes environments, each making is a span."""
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


def provisions(shop: Shop, policy: Policy, tree: Path, checks: Iterable[NamedCheck]) -> Provisions | Refused:
    """What the tree's set-ups are, and what they may reach from this machine."""
    return provisions_of(tree, policy, checks, workshop_of(shop))


def opened(shop: Shop, hosts: Iterable[str] = ()) -> Runs | BoxUnavailable:
    """The box of this installation, proved; else the reason. Its install runs may use the ports of these hosts."""
    cluster = shop.settings.box.cluster
    if cluster is None:
        return open_box(box_settings(shop, hosts))
    # Loaded where it is used: most installations have no cluster.
    from worker.box.pods.probe import open_pods

    return open_pods(cluster)


def box_settings(shop: Shop, hosts: Iterable[str] = ()) -> BoxSettings:
    """The operator's word; hosts bring their ports, which the operator let a policy or a client's settings name."""
    settings = shop.settings
    return BoxSettings(
        bwrap=settings.bwrap,
        ports=frozenset({TLS_PORT, *(int(host.rpartition(":")[2]) for host in hosts)}),
        networks=settings.box.networks,
        names=settings.box.names,
        cgroup=settings.box.cgroup,
        hard_limits=settings.box.hard_limits,
        through=settings.box.through,
    )


def trying_out(shop: Shop, repository: int, trace: Trace, known: Provisions) -> Prepare:
    """For a planner, whom nobody approved: the clients that were found alone, and no host but their own registries."""

    def how(kind: str, tree: Path) -> SetUp | EnvironmentUnavailable | Refused:
        box = opened(shop, known.hosts())
        if isinstance(box, BoxUnavailable):
            return EnvironmentUnavailable(box.reason, box.remedy, passing=True)
        return of_this_machine(box, workshop_of(shop), _scope(shop, repository))(kind, tree)

    return preparing(shop, trace, how)


def _scope(shop: Shop, repository: int) -> str:
    return f"{shop.settings.github.api_url} {repository}"


@dataclass(frozen=True, slots=True)
class Carried:
    """An approved plan, where it is carried out, and what its base takes to prepare on this machine."""

    plan: Plan
    checks: tuple[NamedCheck, ...]
    known: Provisions
    box: Runs
    wanted: Callable[[], bool]


def setting_up(shop: Shop, carried: Carried) -> How | Refused:
    """The approved plan's set-ups, as long as this machine's clients and the base's files still say the same."""
    wrong = differing(carried.plan, carried.checks, carried.known)
    if wrong is not None:
        return wrong
    plan = carried.plan
    scope = _scope(shop, plan.repository_id)
    return of_approved(Approved(plan.setup or (), carried.known, carried.box, scope, carried.wanted))


def differing(plan: Plan, checks: Iterable[NamedCheck], known: Provisions) -> Refused | None:
    """How the plan's set-up is another one than this machine and the base commit call for; None where it is not."""
    planned = {check.name for check in plan.checks}
    needed = known.needed([one for one in checks if one.name in planned], plan.paths())
    strangers = sorted(set(plan.hosts) - set(known.hosts()))
    if strangers:
        return Refused(
            f"The plan names hosts that neither the policy nor this machine's package clients name: "
            f"{', '.join(strangers)}.",
            ANEW,
        )
    missing = sorted(set(needed.hosts) - set(plan.hosts))
    if missing:
        return _looks_elsewhere(missing)
    others = sorted(set(plan.setup or ()) - known.commands()) or sorted(set(needed.setup) - set(plan.setup or ()))
    if others:
        said = " ".join(
            [f"The plan's set-up is not what its checks call for here: `{' '.join(others[0])}`.", *needed.lacking]
        )
        return Refused(said, ANEW)
    return None


def _looks_elsewhere(hosts: list[str]) -> Refused:
    return Refused(
        f"This machine's package clients look at {', '.join(hosts)}, which the approved plan does not name.", ANEW
    )
