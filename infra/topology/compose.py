"""The Compose file: a network for each connection that there is to be, so that a shared network is one and none is not.

A network of one connection has two members and leads nowhere else. Only the ways out and the front stand in networks
that lead on.
"""

import json
from typing import Any

from app.core.belts import Belt, Inside
from infra.topology.parts import (
    ANSWERS,
    BELLS_PORT,
    BOX_BELTS,
    EGRESS_PORT,
    MIGRATE,
    MINT_PORT,
    PROCESSES,
    SECRETS,
    UID,
    WAYS_OUT,
    WEB_PORT,
    Part,
    asked,
    lines,
    told,
)
from worker.box.seccomp import ABSENT, REFUSED

Json = dict[str, Any]
PIN = "run infra/images/pin.sh first"
_BUBBLEWRAP_NEEDS = {"mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "sethostname"}
OUTSIDE, DOOR = "outside", "door"
"""The networks that lead on: for the ways out, and for who comes in from the internet."""
_TMP = "/tmp:mode=1777,size=256m"


def network_of(source: str, target: str) -> str:
    """The name of the network of one connection."""
    return f"{source}--{target}"


def compose() -> Json:
    """The whole file as a value."""
    ours = {part.name: _ours(part) for part in (*PROCESSES, *WAYS_OUT, MIGRATE)}
    services = {**ours, "postgres": _postgres(), "accounts": _accounts(), "redis": _redis(), "front": _front()}
    for source, target, _ in lines():
        for name in (source, target):
            services[name].setdefault("networks", []).append(network_of(source, target))
    for part in WAYS_OUT:
        services[part.name]["networks"].append(OUTSIDE)
    services["front"]["networks"].append(DOOR)
    internal = {network_of(source, target): {"internal": True} for source, target, _ in lines()}
    return {
        "name": "countersign",
        "services": services,
        "networks": {**internal, OUTSIDE: {}, DOOR: {}},
        "volumes": {name: {} for name in ("ledger", "roles", "certificates", *(f"data-{one}" for one in BOX_BELTS))},
        "secrets": _secrets(),
    }


def box_profile() -> Json:
    """The seccomp profile of the two belts that seal a box: they may make namespaces, and nothing else more."""
    refused = sorted(REFUSED.keys() - _BUBBLEWRAP_NEEDS)
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
        "syscalls": [
            {"names": refused, "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
            {"names": sorted(ABSENT), "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
        ],
    }


def box_profile_text() -> str:
    """As it is written."""
    return json.dumps(box_profile(), indent=1) + "\n"


def _sealed(memory_mib: int, cpus: str, user: str) -> Json:
    return {
        "user": user,
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "mem_limit": f"{memory_mib}m",
        "memswap_limit": f"{memory_mib}m",
        "cpus": float(cpus),
        "pids_limit": 1024 if memory_mib > 1024 else 128,
        "tmpfs": [_TMP],
        "restart": "unless-stopped",
        "logging": {"driver": "local", "options": {"max-size": "20m", "max-file": "3"}},
    }


def _ours(part: Part) -> Json:
    target = "egress" if part in WAYS_OUT else "web" if part is MIGRATE else part.name
    boxed = part.name in BOX_BELTS
    arguments = {"DEBIAN_DIGEST": f"${{DEBIAN_DIGEST:?{PIN}}}"}
    if boxed:
        arguments["BOX_PACKAGES"] = "${COUNTERSIGN_BOX_PACKAGES-python3-pip}"
    needed = {name: f"${{{name}:?say it in .env}}" for name in part.needed}
    service: Json = {
        "build": {"context": "../..", "dockerfile": "infra/images/Dockerfile", "target": target, "args": arguments},
        "image": f"countersign-{target}",
        "command": list(part.words),
        **_sealed(part.memory_mib, part.cpus, f"{UID}:{UID}"),
        "environment": {**told(part), **needed, **{name: f"${{{name}:-}}" for name in asked(part)}},
    }
    if part.secrets:
        service["secrets"] = [_given(part.name, name) for name in part.secrets]
    if part.name in ("web", Belt.PUBLISHER):
        service["tmpfs"].append(f"/data:uid={UID},gid={UID},mode=711,size=256m")
    if boxed:
        service["volumes"] = [f"data-{part.name}:/data"]
        service["security_opt"] += ["seccomp=box-seccomp.json", "systempaths=unconfined"]
        service["tmpfs"] = [_TMP.replace("256m", "1g"), "/var/tmp:mode=1777,size=2g"]
    if part is MIGRATE:
        service.update(
            entrypoint=["/bin/sh", "-ec"],
            command=["countersign migrate && countersign roles > /roles/roles.sql"],
            restart="on-failure",
            volumes=["roles:/roles"],
            depends_on=_when(("postgres", "service_healthy")),
        )
        service["tmpfs"].append(f"/data:uid={UID},gid={UID},mode=711,size=16m")
        return service
    service["depends_on"] = _awaited(part)
    if port := {"web": WEB_PORT, "mint": MINT_PORT}.get(part.name) or (part in WAYS_OUT and EGRESS_PORT):
        service["healthcheck"] = _health("python3", "-c", probe(part.name, port))
    elif part.name in set(Belt):
        service["healthcheck"] = _health("countersign", "runs", "--limit", "1") | {"interval": "60s", "timeout": "20s"}
    else:
        service["healthcheck"] = _health("python3", "-c", probe(ANSWERS[Inside.BELLS][0], BELLS_PORT, "redis"))
    return service


def probe(name: str, port: int, host: str = "127.0.0.1") -> str:
    """A program in one line that fails where the process does not answer, or the web process could not work."""
    if name == "web":
        return f"import urllib.request as u; u.urlopen('http://{host}:{port}/readyz', timeout=5)"
    return f"import socket; socket.create_connection(('{host}', {port}), 5)"


def _health(*words: str) -> Json:
    return {"test": ["CMD", *words], "interval": "30s", "timeout": "10s", "retries": 3, "start_period": "60s"}


def _when(*pairs: tuple[str, str]) -> Json:
    return {name: {"condition": condition} for name, condition in pairs}


def _awaited(part: Part) -> Json:
    awaited = []
    if "DATABASE_URL" in part.secrets:
        awaited.append(("accounts", "service_completed_successfully"))
    if "CELERY_BROKER_URL" in part.secrets:
        awaited.append(("redis", "service_healthy"))
    if "COUNTERSIGN_MINT" in part.fixed:
        awaited.append(("mint", "service_healthy"))
    if "HTTPS_PROXY" in part.fixed:
        awaited.append((f"egress-{part.name}", "service_healthy"))
    return _when(*awaited)


def _given(process: str, name: str) -> Json:
    return {"source": f"{process}-{name}", "target": f"{SECRETS}/{name}"}


def _secrets() -> Json:
    names = [(part.name, name) for part in (*PROCESSES, MIGRATE) for name in part.secrets]
    names += [("postgres", "PASSWORD"), ("redis", "PASSWORD")]
    names += [("accounts", process) for process in _with_ledger()]
    return {f"{process}-{name}": {"file": f"secrets/{process}/{name}"} for process, name in names}


def _with_ledger() -> list[str]:
    return [part.name for part in PROCESSES if "DATABASE_URL" in part.secrets]


def _postgres() -> Json:
    health = "pg_isready -q -h 127.0.0.1 -U countersign -d countersign"
    return {
        "image": f"postgres:17@${{POSTGRES_DIGEST:?{PIN}}}",
        **_sealed(1024, "1", "999:999"),
        "shm_size": "256m",
        "tmpfs": [_TMP, "/var/run/postgresql:uid=999,gid=999,mode=775"],
        "environment": {
            "POSTGRES_USER": "countersign",
            "POSTGRES_DB": "countersign",
            "POSTGRES_PASSWORD_FILE": f"{SECRETS}/PASSWORD",
        },
        "secrets": [_given("postgres", "PASSWORD")],
        "volumes": ["ledger:/var/lib/postgresql/data"],
        "healthcheck": _health("sh", "-c", health),
    }


def _accounts() -> Json:
    """After each migration: the roles, and an account in each for the process of its name."""
    return {
        "image": f"postgres:17@${{POSTGRES_DIGEST:?{PIN}}}",
        **_sealed(128, "0.5", "999:999"),
        "restart": "on-failure",
        "command": ["sh", "/accounts.sh"],
        "environment": {"PGHOST": "postgres", "PGUSER": "countersign", "PGDATABASE": "countersign"},
        "secrets": [
            _given("postgres", "PASSWORD"),
            *({"source": f"accounts-{one}", "target": f"{SECRETS}/accounts/{one}"} for one in _with_ledger()),
        ],
        "volumes": ["./accounts.sh:/accounts.sh:ro", "roles:/roles:ro"],
        "depends_on": _when(("migrate", "service_completed_successfully")),
    }


def _redis() -> Json:
    said = "'requirepass %s\\nsave \"\"\\nappendonly no\\n'"
    start = f'printf {said} "$$(cat {SECRETS}/PASSWORD)" | exec redis-server -'
    health = f"REDISCLI_AUTH=$$(cat {SECRETS}/PASSWORD) redis-cli ping | grep -q PONG"
    return {
        "image": f"redis:8@${{REDIS_DIGEST:?{PIN}}}",
        **_sealed(256, "0.5", "999:999"),
        "working_dir": "/tmp",
        "command": ["sh", "-c", start],
        "secrets": [_given("redis", "PASSWORD")],
        "healthcheck": _health("sh", "-c", health),
    }


def _front() -> Json:
    return {
        "image": f"caddy:2@${{CADDY_DIGEST:?{PIN}}}",
        # Its image keeps certificates in a folder of root's, and root here holds no capability but this one.
        **_sealed(128, "0.5", "0:0"),
        "cap_add": ["NET_BIND_SERVICE"],
        "environment": {"COUNTERSIGN_HOST": "${COUNTERSIGN_HOST:?the name that GitHub delivers to, in .env}"},
        "ports": ["80:80", "443:443"],
        "tmpfs": [_TMP, "/config"],
        "volumes": ["./Caddyfile:/etc/caddy/Caddyfile:ro", "certificates:/data"],
        "depends_on": _when(("web", "service_healthy")),
    }
