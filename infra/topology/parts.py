"""The parts of an installation: what each is started by, what it holds, and whom it connects to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.belts import CONNECTIONS, Belt, Inside

UID = 10001
SECRETS = "/secrets"
"""Where a process finds its secrets, each a file of the variable's name."""
WEB_PORT, MINT_PORT, EGRESS_PORT, LEDGER_PORT, BELLS_PORT = 8000, 8010, 3128, 5432, 6379
BOX_BELTS = (Belt.PLANNER.value, Belt.EXECUTOR.value)

_GITHUB = ("GITHUB_API_URL",)
_SIGN_IN = ("GITHUB_CLIENT_ID",)
_MODELS = (
    "ANTHROPIC_BASE_URL",
    "COUNTERSIGN_PLANNER_MODEL",
    "COUNTERSIGN_EXECUTOR_MODEL",
    "COUNTERSIGN_SCOUT_MODEL",
    "COUNTERSIGN_MODELS",
)
_DOCS = ("COUNTERSIGN_DOCS_HOSTS", "COUNTERSIGN_DOCS_NETWORKS")
_LEDGER, _BELLS, _CREDENTIAL = "DATABASE_URL", "CELERY_BROKER_URL", "COUNTERSIGN_MINT_CREDENTIAL"
CREDENTIALS = tuple(f"{_CREDENTIAL}_{belt.upper()}" for belt in Belt)


@dataclass(frozen=True, slots=True)
class Part:
    """One process of ours. `asked` are settings that the operator may give; `fixed` follow from the topology."""

    name: str
    words: tuple[str, ...]
    secrets: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    """Settings that the operator has to give."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    memory_mib: int = 256
    cpus: str = "0.5"


def egress_of(process: str) -> str:
    """The name of a process' way out."""
    return f"egress-{process}"


def _way(process: str) -> dict[str, str]:
    """How a process is told of its way out; empty where it has none."""
    if not CONNECTIONS[process].outside:
        return {}
    at = f"{egress_of(process)}:{EGRESS_PORT}"
    told = {"HTTPS_PROXY": f"http://{at}"}
    return told | ({"COUNTERSIGN_EGRESS": at} if process in BOX_BELTS else {})


def _belt(belt: Belt) -> Part:
    name, boxed = belt.value, belt.value in BOX_BELTS
    asked = [*_GITHUB, "COUNTERSIGN_SWEEP_SECONDS"]
    asked += [*_MODELS, "COUNTERSIGN_TEMPLATE_VERSIONS", "COUNTERSIGN_TEMPLATE_CANDIDATES"] if boxed else []
    asked += _DOCS if belt is Belt.PLANNER else []
    asked += [] if boxed else ["COUNTERSIGN_WATCH_SECONDS", "COUNTERSIGN_LABEL"]
    return Part(
        name,
        ("worker", name),
        secrets=(_LEDGER, _BELLS, _CREDENTIAL, *(["ANTHROPIC_API_KEY"] if boxed else [])),
        asked=tuple(asked),
        fixed={"COUNTERSIGN_MINT": f"mint:{MINT_PORT}", "COUNTERSIGN_DATA_DIR": "/data", **_way(name)},
        memory_mib=4096 if boxed else 512,
        cpus="2" if boxed else "0.5",
    )


def _egress(process: str) -> Part:
    asked = (*_GITHUB, *(("ANTHROPIC_BASE_URL", "COUNTERSIGN_EGRESS_HOSTS") if process in BOX_BELTS else ()))
    asked = (*asked, *(_DOCS if process == Belt.PLANNER else _SIGN_IN if process == "web" else ()))
    asked = (*asked, "COUNTERSIGN_EGRESS_NETWORKS")
    fixed = {"COUNTERSIGN_EGRESS_LISTEN": f"0.0.0.0:{EGRESS_PORT}"}
    return Part(egress_of(process), ("egress", process), asked=asked, fixed=fixed, memory_mib=128)


WEB = Part(
    "web",
    ("web",),
    secrets=(_LEDGER, _BELLS, "GITHUB_WEBHOOK_SECRET", "GITHUB_WEBHOOK_SECRET_OLD", "GITHUB_CLIENT_SECRET"),
    asked=("COUNTERSIGN_LABEL", "COUNTERSIGN_BOT_ID", *_GITHUB, *_SIGN_IN, "COUNTERSIGN_URL"),
    fixed={"HOST": "0.0.0.0", "PORT": str(WEB_PORT), "COUNTERSIGN_DATA_DIR": "/data", **_way("web")},
    memory_mib=384,
    cpus="1",
)
MINT = Part(
    "mint",
    ("mint",),
    secrets=(_LEDGER, "GITHUB_PRIVATE_KEY", *CREDENTIALS),
    asked=_GITHUB,
    needed=("GITHUB_APP_ID",),
    fixed={"COUNTERSIGN_MINT_LISTEN": f"0.0.0.0:{MINT_PORT}", **_way("mint")},
)
BEAT = Part("beat", ("beat",), secrets=(_BELLS,), asked=("COUNTERSIGN_SWEEP_SECONDS",))
MIGRATE = Part("migrate", ("migrate",), secrets=(_LEDGER,), fixed={"COUNTERSIGN_DATA_DIR": "/data"})
PROCESSES = (WEB, MINT, BEAT, *(_belt(belt) for belt in Belt))
WAYS_OUT = tuple(_egress(process) for process, reached in CONNECTIONS.items() if reached.outside)

ANSWERS: Mapping[Inside, tuple[str, int]] = {
    Inside.LEDGER: ("postgres", LEDGER_PORT),
    Inside.BELLS: ("redis", BELLS_PORT),
    Inside.MINT: ("mint", MINT_PORT),
}


def lines() -> tuple[tuple[str, str, int], ...]:
    """Every connection within an installation that there is to be: who makes it, to whom, on which port."""
    inner = [
        (process, *ANSWERS[part])
        for process, reached in CONNECTIONS.items()
        for part in sorted(reached.inside)
    ]
    out = [(process, egress_of(process), EGRESS_PORT) for process, reached in CONNECTIONS.items() if reached.outside]
    ledger = ANSWERS[Inside.LEDGER]
    return (*inner, *out, ("migrate", *ledger), ("accounts", *ledger), ("front", "web", WEB_PORT))


def told(part: Part) -> dict[str, str]:
    """The variables that follow from the topology: what is fixed, and where its secrets lie."""
    files = {f"{name}_FILE": f"{SECRETS}/{name}" for name in part.secrets if name != "GITHUB_PRIVATE_KEY"}
    if "GITHUB_PRIVATE_KEY" in part.secrets:
        files["GITHUB_PRIVATE_KEY_PATH"] = f"{SECRETS}/GITHUB_PRIVATE_KEY"
    return {**part.fixed, **files}


def asked(part: Part) -> tuple[str, ...]:
    """The settings that the operator may give it, and in which form everybody's log is written."""
    return (*part.asked, "COUNTERSIGN_LOGS")
