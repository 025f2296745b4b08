"""What the files for Compose and Kubernetes let each process reach, read from the files alone."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from app.core.belts import CONNECTIONS, Inside

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "infra/compose/compose.yaml"
KUBERNETES = ROOT / "infra/kubernetes"
ANSWERS = {Inside.LEDGER: ("postgres", 5432), Inside.BELLS: ("redis", 6379), Inside.MINT: ("mint", 8010)}


def wanted() -> set[tuple[str, str, int]]:
    """Every connection that the belt table calls for, and the few that an installation needs beside it."""
    found = {("migrate", "postgres", 5432), ("accounts", "postgres", 5432), ("front", "web", 8000)}
    for process, reached in CONNECTIONS.items():
        found |= {(process, *ANSWERS[part]) for part in reached.inside}
        found |= {(process, f"egress-{process}", 3128)} if reached.outside else set()
    return found


def compose() -> Json:
    loaded: Json = yaml.safe_load(COMPOSE.read_text())
    return loaded


def interpolated(text: str, given: Mapping[str, str]) -> str:
    """As Compose puts variables in: `${NAME}`, `${NAME:-else}`, `${NAME-else}`; what is required has to be given."""

    def put(match: re.Match[str]) -> str:
        name, how, more = match["name"], match["how"] or "", match["more"] or ""
        if how.endswith("?") and not given.get(name):
            raise KeyError(name)
        return given.get(name) or (more if "-" in how else "")

    pattern = r"\$\{(?P<name>[A-Z_]+)(?:(?P<how>:?[-?])(?P<more>[^}]*))?\}"
    return re.sub(pattern, put, text)


def compose_faults(file: Json) -> list[str]:
    """How what the networks join differs from the belt table; nothing where it does not."""
    services, networks = file["services"], file["networks"]
    members: dict[str, set[str]] = {name: set() for name in networks}
    faults: list[str] = []
    for name, service in services.items():
        if forbidden := {"network_mode", "links", "external_links", "extra_hosts", "privileged"} & service.keys():
            faults.append(f"{name} has {sorted(forbidden)}")
        if "ports" in service and name != "front":
            faults.append(f"{name} publishes a port")
        for network in service.get("networks", ["default"]):
            members.setdefault(network, set()).add(name)
    joined = {
        frozenset(pair)
        for network, inside in members.items()
        if networks.get(network, {}).get("internal") is True
        for pair in ((one, other) for one in inside for other in inside if one != other)
    }
    asked = {frozenset((source, target)) for source, target, _ in wanted()}
    faults += [f"{' and '.join(sorted(pair))} can meet" for pair in joined - asked]
    faults += [f"{' and '.join(sorted(pair))} cannot meet" for pair in asked - joined]
    open_ones = [who for network, who in members.items() if not networks.get(network, {}).get("internal")]
    leads_on = {name for who in open_ones for name in who}
    ways = {f"egress-{process}" for process, reached in CONNECTIONS.items() if reached.outside}
    faults += [f"{name} reaches the internet by itself" for name in leads_on - ways - {"front"}]
    faults += [f"{name} leads nowhere" for name in ways - leads_on]
    for way in ways:
        if (words := services.get(way, {}).get("command")) != ["egress", way.removeprefix("egress-")]:
            faults.append(f"{way} is {words}")
    for process, reached in CONNECTIONS.items():
        told = services[process]["environment"].get("HTTPS_PROXY")
        if told != (f"http://egress-{process}:3128" if reached.outside else None):
            faults.append(f"{process} is told of {told}")
    return sorted(faults)


# -- Kubernetes ----


def manifests(*folders: str) -> list[Json]:
    """Every object of the files that the folders' own lists name, as Kustomize would read them."""
    found: list[Json] = []
    for folder in folders:
        listed = yaml.safe_load((KUBERNETES / folder / "kustomization.yaml").read_text())
        assert listed.keys() == {"apiVersion", "kind", "resources"}, "nothing that would need Kustomize to be read"
        for name in listed["resources"]:
            place = (KUBERNETES / folder / name).resolve()
            if place.is_dir():
                found += manifests(str(place.relative_to(KUBERNETES)))
            else:
                found += [one for one in yaml.safe_load_all(place.read_text()) if one]
    return found


@dataclass(frozen=True)
class Pod:
    """Somebody in a cluster: a pod by its labels and those of its namespace."""

    name: str
    space: str
    labels: tuple[tuple[str, str], ...] = ()
    space_labels: tuple[tuple[str, str], ...] = ()

    @property
    def all_space_labels(self) -> dict[str, str]:
        return {"kubernetes.io/metadata.name": self.space, **dict(self.space_labels)}


def pods_of(objects: Iterable[Json]) -> dict[str, Pod]:
    """Each kind of pod that the objects make, by the name of what makes it."""
    found = {}
    for one in objects:
        if one["kind"] in ("Deployment", "Job"):
            labels = one["spec"]["template"]["metadata"]["labels"]
            name = one["metadata"]["name"]
            found[name] = Pod(name, one["metadata"]["namespace"], tuple(labels.items()))
    return found


def may(objects: Iterable[Json], source: Pod, target: Pod | str, port: int) -> bool:
    """Whether the policies let a connection over TCP through, at both ends."""
    policies = [one for one in objects if one["kind"] == "NetworkPolicy"]
    out = _lets(policies, source, "Egress", target, port)
    return out and (isinstance(target, str) or _lets(policies, target, "Ingress", source, port))


def _lets(policies: list[Json], pod: Pod, way: str, other: Pod | str, port: int) -> bool:
    if not pod.space.startswith("countersign"):
        return True
    about = [
        one["spec"]
        for one in policies
        if one["metadata"]["namespace"] == pod.space
        and way in one["spec"]["policyTypes"]
        and _selects(one["spec"]["podSelector"], dict(pod.labels))
    ]
    key, peers = ("egress", "to") if way == "Egress" else ("ingress", "from")
    rules = [rule for spec in about for rule in spec.get(key, [])]
    return not about or any(
        ("ports" not in rule or any(one["port"] == port and one["protocol"] == "TCP" for one in rule["ports"]))
        and (peers not in rule or any(_is(peer, other, pod.space) for peer in rule[peers]))
        for rule in rules
    )


def _selects(selector: Json, labels: Mapping[str, str]) -> bool:
    assert selector.keys() <= {"matchLabels"}, "only labels are understood here"
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def _is(peer: Json, other: Pod | str, space: str) -> bool:
    if "ipBlock" in peer:
        block = peer["ipBlock"]
        if isinstance(other, Pod):
            return False
        address = ipaddress.ip_address(other)
        inside = address in ipaddress.ip_network(block["cidr"])
        return inside and not any(address in ipaddress.ip_network(one) for one in block.get("except", []))
    if isinstance(other, str):
        return False
    here = _selects(peer["namespaceSelector"], other.all_space_labels) if "namespaceSelector" in peer else (
        other.space == space
    )
    return here and _selects(peer.get("podSelector", {}), dict(other.labels))


ELSEWHERE = {
    "postgres": Pod("postgres", "data", (), (("countersign/part", "ledger"),)),
    "redis": Pod("redis", "data", (), (("countersign/part", "bells"),)),
    "front": Pod("front", "ingress", (), (("countersign/part", "front"),)),
    "dns": Pod("dns", "kube-system", (("k8s-app", "kube-dns"),)),
    "stranger": Pod("stranger", "default"),
}
PUBLIC, INNER, METADATA = "93.184.215.14", "10.1.2.3", "169.254.169.254"
PORTS = (53, 80, 443, 3128, 5432, 6379, 6443, 8000, 8010)


def kubernetes_faults(objects: list[Json]) -> list[str]:
    """How what the policies let through differs from the belt table; nothing where it does not."""
    ours = pods_of(objects)
    runs = {
        f"a run of the {belt}": Pod("run", f"countersign-{belt}", (("countersign-run", "yes"),))
        for belt in ("planner", "executor")
    }
    everybody = {**ours, **runs, **ELSEWHERE}
    found = {
        (source, target, port)
        for source in (*ours, *runs, "front", "stranger")
        for target in everybody
        for port in PORTS
        if source != target and (source in ours or source in runs or target in ours or target in runs)
        if may(objects, everybody[source], everybody[target], port)
    }
    asked = {one for one in wanted() if one[0] != "accounts"}
    silent = {process for process, _, _ in asked} & ours.keys() | {name for name in ours if name.startswith("egress-")}
    asked |= {(name, "dns", 53) for name in silent}
    faults = [f"{source} reaches {target} on {port}" for source, target, port in found - asked]
    faults += [f"{source} does not reach {target} on {port}" for source, target, port in asked - found]
    for name, pod in {**ours, **runs}.items():
        for address in (PUBLIC, INNER, METADATA):
            reached = {port for port in PORTS if may(objects, pod, address, port)}
            if reached != ({443} if name.startswith("egress-") and address == PUBLIC else set()):
                faults.append(f"{name} reaches {address} on {sorted(reached)}")
    return sorted(faults)
