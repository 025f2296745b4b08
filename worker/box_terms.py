"""What the operator says of the box: its reach, its limits, and whether it is bubblewrap's or a cluster's."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from app.settings import SettingsWrong, require

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_API = "https://kubernetes.default.svc"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where pods are made, and of what.

    `volume` is where this process sees the claim `claim`, on which trees are handed to pods. `token` and `authority`
    are files, read anew for each run, since the kubelet changes them.
    """

    api: str
    namespace: str
    image: str
    runtime_class: str
    claim: str
    volume: Path
    token: Path | None = field(default=None, repr=False)
    authority: Path | None = None


@dataclass(frozen=True, slots=True)
class BoxTerms:
    """The operator's word on the box: reserved ranges and addresses of names in which hosts of set-up commands may lie,
    the control group whose subtree is handed to the worker, and whether its limits have to be hard."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cgroup: Path | None = None
    hard_limits: bool = False
    through: tuple[str, int] | None = None
    """The installation's own way out, where this machine has no other."""
    cluster: Cluster | None = None
    """Where runs are pods of a cluster instead of bubblewrap's on this machine."""


def box_terms(env: Mapping[str, str]) -> BoxTerms:
    """From `COUNTERSIGN_BOX_NETWORKS` (`10.1.0.0/16`), `COUNTERSIGN_BOX_NAMES` (`registry.example.com=10.1.2.3`),
    `COUNTERSIGN_BOX_CGROUP` (a folder) and `COUNTERSIGN_BOX_LIMITS` (`hard` or `soft`); `COUNTERSIGN_BOX` says
    whether runs are `bubblewrap`'s or `pods`, which `COUNTERSIGN_PODS_…` describe. `COUNTERSIGN_EGRESS` is the way out
    where this machine has no other."""
    networks = read_reserved(env, "COUNTERSIGN_BOX_NETWORKS")
    names = read_names(env, "COUNTERSIGN_BOX_NAMES")
    name, limits = "COUNTERSIGN_BOX_LIMITS", env.get("COUNTERSIGN_BOX_LIMITS", "").strip() or "soft"
    if limits not in ("hard", "soft"):
        raise SettingsWrong(name, f"{name} is neither `hard` nor `soft`.")
    named = env.get("COUNTERSIGN_BOX_CGROUP", "").strip()
    cgroup = Path(named) if named else None
    return BoxTerms(networks, names, cgroup, limits == "hard", egress_address(env), _cluster(env))


def egress_address(env: Mapping[str, str]) -> tuple[str, int] | None:
    """`COUNTERSIGN_EGRESS`, host:port of `countersign egress` for this process. Raises `SettingsWrong`."""
    name, text = "COUNTERSIGN_EGRESS", env.get("COUNTERSIGN_EGRESS", "").strip()
    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not re.fullmatch(r"[A-Za-z0-9.-]+", host) or not re.fullmatch(r"[1-9][0-9]{0,4}", port) or int(port) > 65_535:
        raise SettingsWrong(name, f"{name} is {text!r}, and must be host:port.")
    return host, int(port)


def read_reserved(env: Mapping[str, str], name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """The networks that a variable lists. Raises `SettingsWrong`."""
    try:
        return tuple(ip_network(word) for word in listed(env, name))
    except ValueError as error:
        raise SettingsWrong(name, f"{name}: {error}.") from error


def read_names(env: Mapping[str, str], name: str) -> dict[str, tuple[str, ...]]:
    """The addresses by name that a variable lists as `NAME=ADDRESS`. Raises `SettingsWrong`."""
    names: dict[str, tuple[str, ...]] = {}
    for word in listed(env, name):
        host, _, address = word.partition("=")
        try:
            names[host.lower()] = (*names.get(host.lower(), ()), str(ip_address(address)))
        except ValueError as error:
            raise SettingsWrong(name, f"{name}: {word!r} is not a name, `=` and an address.") from error
    return names


def listed(env: Mapping[str, str], name: str) -> list[str]:
    """The words of a variable, between commas or blanks."""
    return [word for word in re.split(r"[,\s]+", env.get(name, "")) if word]


def _cluster(env: Mapping[str, str]) -> Cluster | None:
    name, kind = "COUNTERSIGN_BOX", env.get("COUNTERSIGN_BOX", "").strip() or "bubblewrap"
    if kind == "bubblewrap":
        return None
    if kind != "pods":
        raise SettingsWrong(name, f"{name} is neither `bubblewrap` nor `pods`.")
    why = "Without it no run can be a pod."
    name, api = "COUNTERSIGN_PODS_API", env.get("COUNTERSIGN_PODS_API", "").strip()
    parts = urlsplit(api or _API)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise SettingsWrong(name, f"{name} is not an https address.")
    return Cluster(
        api=api or _API,
        namespace=env.get("COUNTERSIGN_PODS_NAMESPACE", "").strip() or "countersign-box",
        image=require(env, "COUNTERSIGN_PODS_IMAGE", why),
        runtime_class=require(env, "COUNTERSIGN_PODS_RUNTIME_CLASS", "Pods have to run under a kernel of their own."),
        claim=env.get("COUNTERSIGN_PODS_CLAIM", "").strip() or "countersign-trees",
        volume=Path(require(env, "COUNTERSIGN_PODS_VOLUME", why)),
        token=None if api else _ACCOUNT / "token",
        authority=None if api else _ACCOUNT / "ca.crt",
    )
