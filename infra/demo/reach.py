"""The operator's word for this one machine: reserved addresses at which its package clients' own registries stand.

In the box only public addresses are connected to, unless the operator names others. Who plays the demo, tests or
measures on a machine whose registries are reached through a network of its own is that operator.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from worker.box.box import Box, BoxSettings, open_box
from worker.box.clients import registries_of
from worker.box.command import BoxUnavailable
from worker.box.egress.addresses import system_resolve, why_not
from worker.box.egress.rules import Host, read_networks
from worker.box.environment import CannotPrepare, Workshop, registry_variables

NETWORKS = "COUNTERSIGN_BOX_NETWORKS"
_CLIENTS = (("pip",), ("npm",))


def reserved_networks(env: Mapping[str, str]) -> str:
    """As the setting is written: what is named already, and each reserved address of a registry alone."""
    found = dict.fromkeys(one for client in _CLIENTS for host in _hosts(client, env) for one in _reserved(host))
    return ",".join(filter(None, (env.get(NETWORKS, ""), *found)))


def box_of_this_machine(env: Mapping[str, str]) -> Box | BoxUnavailable:
    """A box whose install runs reach those registries."""
    return open_box(BoxSettings(networks=read_networks(filter(None, reserved_networks(env).split(",")))))


def _hosts(client: tuple[str, ...], env: Mapping[str, str]) -> list[Host]:
    try:
        return sorted(registries_of([client], Workshop(Path("/"), registry_variables(env))).hosts)
    except CannotPrepare:
        return []


def _reserved(host: Host) -> Iterator[str]:
    with suppress(OSError, socket.gaierror):
        for address in system_resolve(host.name, host.port):
            if why_not(address, ()):
                yield f"{address}/{128 if ':' in address else 32}"
