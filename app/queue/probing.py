"""How a broker stands beyond taking bells: which it is, and whether it throws bells away when it is full."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celery import Celery  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True)
class BrokerStanding:
    """`server`: its name and version. `evicts`: the policy by which a full Redis throws keys away that have no end of
    their own, as bells have none; empty where it throws none of them away."""

    server: str
    evicts: str = ""


def broker_standing(celery: "Celery") -> BrokerStanding:
    """To be asked of a broker that takes bells. What a broker does not tell is left out."""
    with celery.connection_for_write() as connection:
        kind = str(connection.transport.driver_type)
        if kind != "redis":
            return BrokerStanding("file system" if kind == "filesystem" else kind)
        told: dict[str, Any] = connection.default_channel.client.info()
    policy = str(told.get("maxmemory_policy", ""))
    evicts = policy if policy.startswith("allkeys-") and int(told.get("maxmemory") or 0) else ""
    return BrokerStanding(f"Redis {told.get('redis_version', '')}".strip(), evicts)
