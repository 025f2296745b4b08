"""The job of one run: everything that keeps its pod apart, in one value (sandbox 4, Kubernetes shape)."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from worker.box.command import Command, Profile
from worker.box.limits import CORE_BYTES, SHARED_MEMORY_BYTES
from worker.box.mounts import FIXED_ENVIRONMENT, MADE_INSIDE, UID_INSIDE, unheld_step
from worker.box.profiles import TERMS, Work, limits_of
from worker.box_terms import Cluster

LABEL = "countersign-run"
_KEPT_SECONDS = 120
_CPUS = "2"
_STARTING_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Placed:
    """Where on the shared volume the parts of a run lie, relative to it."""

    tree: str
    tools: tuple[str, ...] = ()
    made: str | None = None


def seconds_of(command: Command) -> int:
    """How long the command may run, whole seconds."""
    return max(1, round(min(command.timeout_seconds, limits_of(command.profile).wall_seconds)))


def job_of(name: str, command: Command, mark: str, placed: Placed, cluster: Cluster) -> dict[str, Any]:
    """The job as the API takes it. No word of a repository is in it but the command's own arguments."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": cluster.namespace, "labels": {LABEL: "yes"}},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": seconds_of(command) + _STARTING_SECONDS,
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
            "template": {"metadata": {"labels": {LABEL: "yes"}}, "spec": _pod(command, mark, placed, cluster)},
        },
    }


def _pod(command: Command, mark: str, placed: Placed, cluster: Cluster) -> dict[str, Any]:
    limits = limits_of(command.profile)
    scratch = [
        _empty("tmp", limits.scratch_bytes),
        _empty("shm", SHARED_MEMORY_BYTES),
        *([_empty("work", limits.work_bytes)] if TERMS[command.profile].work is Work.COPY else []),
    ]
    return {
        "runtimeClassName": cluster.runtime_class,
        "restartPolicy": "Never",
        "hostUsers": False,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 0,
        "hostname": "sandbox",
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["127.0.0.1"]},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": UID_INSIDE,
            "runAsGroup": UID_INSIDE,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(command, mark, placed, cluster)],
        "volumes": [
            {"name": "handed", "persistentVolumeClaim": {"claimName": cluster.claim, "readOnly": True}},
            *scratch,
        ],
    }


def _container(command: Command, mark: str, placed: Placed, cluster: Cluster) -> dict[str, Any]:
    limits = limits_of(command.profile)
    memory = limits.memory_bytes + limits.scratch_bytes
    if TERMS[command.profile].work is Work.COPY:
        memory += limits.work_bytes
    links = [word for pair in command.links.items() for word in pair] if command.profile is not Profile.READ else []
    bounds = [f"--nproc={limits.processes}", f"--fsize={limits.file_bytes}", f"--core={CORE_BYTES}"]
    shell = f"mkdir -p {FIXED_ENVIRONMENT['HOME']}; " + unheld_step(command.profile)
    variables = {**command.environment, **FIXED_ENVIRONMENT}
    resources = {"memory": str(memory), "cpu": _CPUS, "ephemeral-storage": "64Mi"}
    words = ["timeout", "--signal=KILL", str(seconds_of(command)), *command.argv]
    return {
        "name": "box",
        "image": cluster.image,
        "command": _literal(["prlimit", *bounds, "--", "/bin/sh", "-c", shell, "box", mark, *links, "--", *words]),
        "workingDir": "/work",
        "env": [
            {"name": key, "value": value} for key, value in zip(variables, _literal(variables.values()), strict=True)
        ],
        "resources": {"limits": resources, "requests": resources},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": _mounts(command, placed),
    }


def _literal(texts: Iterable[str]) -> list[str]:
    """As they come out of the kubelet again, which puts variables in place of `$(NAME)` and one `$` for two."""
    return [text.replace("$", "$$") for text in texts]


def _mounts(command: Command, placed: Placed) -> list[dict[str, Any]]:
    copied = TERMS[command.profile].work is Work.COPY
    mounts = [_handed("/src" if copied else "/work", placed.tree)]
    mounts += [{"name": "work", "mountPath": "/work"}] if copied else []
    mounts += [_handed(f"/tools/{number}", path) for number, path in enumerate(placed.tools)]
    mounts += [_handed(MADE_INSIDE, placed.made)] if placed.made else []
    return [*mounts, {"name": "tmp", "mountPath": "/tmp"}, {"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108


def _handed(place: str, path: str) -> dict[str, Any]:
    return {"name": "handed", "mountPath": place, "subPath": PurePosixPath(path).as_posix(), "readOnly": True}


def _empty(name: str, size: int) -> dict[str, Any]:
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": str(size)}}
