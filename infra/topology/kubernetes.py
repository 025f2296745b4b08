"""The manifests for Kubernetes: plain objects for Kustomize, with a policy for each connection that there is to be.

Three namespaces: a belt whose runs are pods may make jobs where it lives, and a job may mount whatever secrets lie
there, so planner and executor each live in one of their own.
"""

from collections.abc import Iterable
from typing import Any

from app.core.belts import Belt
from infra.topology.parts import (
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
    egress_of,
    lines,
    told,
)

Json = dict[str, Any]
HOME = "countersign"
CLAIM = "countersign-trees"
_NAME, _PART = "app.kubernetes.io/name", "countersign/part"
_SPACE = "kubernetes.io/metadata.name"
_LISTENS = {"web": WEB_PORT, "mint": MINT_PORT, **{part.name: EGRESS_PORT for part in WAYS_OUT}}
_PRIVATE = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
)  # fmt: skip
ELSEWHERE = {"postgres": "ledger", "redis": "bells", "front": "front"}
"""What this does not run itself is met in namespaces that carry the label `countersign/part` with these values."""


def space_of(name: str) -> str:
    """The namespace in which a part lives."""
    return f"{HOME}-{name}" if name in BOX_BELTS else HOME


def files() -> dict[str, list[Json]]:
    """The objects by the file in which they stand."""
    found = {"namespaces": [_namespace(space) for space in (HOME, *map(space_of, BOX_BELTS))]}
    for part in PROCESSES:
        found[part.name] = [*_accounts(part), _deployment(part), *_reached(part), _budget(part)]
    found["egress"] = [each for part in WAYS_OUT for each in (*_accounts(part), _deployment(part), *_reached(part))]
    found["egress"] += [_budget(part) for part in WAYS_OUT]
    found["migrate"] = [*_accounts(MIGRATE), _migration()]
    found["box"] = [each for belt in BOX_BELTS for each in _grounds(belt)]
    found["network"] = list(_policies())
    return found


def scaling() -> list[Json]:
    """KEDA's objects: more workers of a belt while bells wait in its queue, which Redis keeps as a list of its name."""
    return [each for belt in Belt for each in _scaled(belt.value)]


def _meta(name: str, space: str, **more: Any) -> Json:
    return {"name": name, "namespace": space, "labels": {_NAME: name}, **more}


def _namespace(space: str) -> Json:
    levels = {f"pod-security.kubernetes.io/{kind}": "restricted" for kind in ("enforce", "audit", "warn")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space, "labels": levels}}


def _accounts(part: Part) -> list[Json]:
    meta = _meta(part.name, space_of(part.name))
    return [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta, "automountServiceAccountToken": False}]


def _target(part: Part) -> str:
    return "egress" if part in WAYS_OUT else "web" if part is MIGRATE else part.name


def _environment(part: Part) -> list[Json]:
    fixed = told(part)
    if part.name in BOX_BELTS:
        # They ask from another namespace; runs are pods, which reach nothing, so the box needs no way out.
        way = f"{egress_of(part.name)}.{HOME}:{EGRESS_PORT}"
        fixed |= {"COUNTERSIGN_MINT": f"mint.{HOME}:{MINT_PORT}", "HTTPS_PROXY": f"http://{way}"}
        fixed |= {"COUNTERSIGN_EGRESS": way, "COUNTERSIGN_BOX": "pods", "COUNTERSIGN_PODS_VOLUME": "/trees"}
        fixed |= {"COUNTERSIGN_PODS_NAMESPACE": space_of(part.name), "COUNTERSIGN_PODS_CLAIM": CLAIM}
    said = [*asked(part), *part.needed]
    said += ["COUNTERSIGN_PODS_IMAGE", "COUNTERSIGN_PODS_RUNTIME_CLASS"] if part.name in BOX_BELTS else []
    needed = {*part.needed, "COUNTERSIGN_PODS_IMAGE", "COUNTERSIGN_PODS_RUNTIME_CLASS"}
    given = [
        {
            "name": name,
            "valueFrom": {
                "configMapKeyRef": {"name": "countersign", "key": name} | ({} if name in needed else {"optional": True})
            },
        }
        for name in said
    ]
    return [*({"name": name, "value": value} for name, value in fixed.items()), *given]


def _probes(part: Part) -> Json:
    port = _LISTENS.get(part.name)
    if part.name == "web":
        ready = {"httpGet": {"path": "/readyz", "port": port}}
        alive = {"httpGet": {"path": "/healthz", "port": port}, "periodSeconds": 30, "timeoutSeconds": 5}
        return {"readinessProbe": ready | {"periodSeconds": 10, "timeoutSeconds": 5}, "livenessProbe": alive}
    if port:
        listening = {"tcpSocket": {"port": port}, "periodSeconds": 20}
        return {"readinessProbe": listening, "livenessProbe": {**listening, "failureThreshold": 6}}
    if part.name == "beat":
        # It opens no port and holds no ledger; where it cannot ring it tries on, and a belt's sweep shows it.
        words = ["python3", "-c", "import os; os.kill(1, 0)"]
    else:
        words = ["countersign", "runs", "--limit", "1"]
    return {"readinessProbe": {"exec": {"command": words}, "periodSeconds": 60, "timeoutSeconds": 20}}


def _pod(part: Part) -> Json:
    boxed = part.name in BOX_BELTS
    volumes: list[Json] = [
        {"name": "tmp", "emptyDir": {"sizeLimit": "2Gi" if boxed else "256Mi"}},
        {"name": "data", "emptyDir": {"sizeLimit": "40Gi" if boxed else "256Mi"}},
    ]
    mounts: list[Json] = [
        {"name": "tmp", "mountPath": "/tmp", "subPath": "tmp"},
        {"name": "tmp", "mountPath": "/var/tmp", "subPath": "var"},
        {"name": "data", "mountPath": "/data"},
    ]
    if part.secrets:
        items = [{"key": name, "path": name} for name in part.secrets]
        secret = {"secretName": f"countersign-{part.name}", "defaultMode": 0o440, "items": items}
        volumes.append({"name": "secrets", "secret": secret})
        mounts.append({"name": "secrets", "mountPath": SECRETS, "readOnly": True})
    if boxed:
        volumes.append({"name": "trees", "persistentVolumeClaim": {"claimName": CLAIM}})
        mounts.append({"name": "trees", "mountPath": "/trees"})
    memory, storage = f"{part.memory_mib}Mi", "44Gi" if boxed else "600Mi"
    limits = {"cpu": part.cpus, "memory": memory, "ephemeral-storage": storage}
    requests = {"cpu": "100m", "memory": memory, "ephemeral-storage": "4Gi" if boxed else "64Mi"}
    container: Json = {
        "name": part.name,
        "image": f"countersign-{_target(part)}",
        "args": list(part.words),
        "env": _environment(part),
        "resources": {"requests": requests, "limits": limits},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": mounts,
    }
    if port := _LISTENS.get(part.name):
        container["ports"] = [{"name": "asked", "containerPort": port}]
    if part is not MIGRATE:
        container |= _probes(part)
    return {
        "serviceAccountName": part.name,
        "automountServiceAccountToken": boxed,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 30,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": UID,
            "runAsGroup": UID,
            "fsGroup": UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": volumes,
    }


def _deployment(part: Part) -> Json:
    # Two mints would each end the tokens that the other's belts hold, and two beats ring twice.
    alone = {"strategy": {"type": "Recreate"}} if part.name in ("mint", "beat") else {}
    labels = {_NAME: part.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _meta(part.name, space_of(part.name)),
        "spec": {
            "replicas": 2 if part.name == "web" or part in WAYS_OUT else 1,
            **alone,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod(part)},
        },
    }


def _migration() -> Json:
    pod = _pod(MIGRATE) | {"restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _meta("migrate", HOME),
        "spec": {
            "backoffLimit": 3,
            "activeDeadlineSeconds": 1800,
            "ttlSecondsAfterFinished": 86400,
            "template": {"metadata": {"labels": {_NAME: "migrate"}}, "spec": pod},
        },
    }


def _reached(part: Part) -> list[Json]:
    port = _LISTENS.get(part.name)
    if port is None:
        return []
    spec = {"selector": {_NAME: part.name}, "ports": [{"name": "asked", "port": port, "targetPort": "asked"}]}
    return [{"apiVersion": "v1", "kind": "Service", "metadata": _meta(part.name, HOME), "spec": spec}]


def _budget(part: Part) -> Json:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {_NAME: part.name}}}
    meta = _meta(part.name, space_of(part.name))
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}


def _grounds(belt: str) -> Iterable[Json]:
    """What a belt needs for runs that are pods: the right to make them, a volume to hand trees in, and a bound."""
    space = space_of(belt)
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "delete"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    ]
    role = "rbac.authorization.k8s.io"
    yield {"apiVersion": f"{role}/v1", "kind": "Role", "metadata": _meta("makes-runs", space), "rules": rules}
    yield {
        "apiVersion": f"{role}/v1",
        "kind": "RoleBinding",
        "metadata": _meta("makes-runs", space),
        "roleRef": {"apiGroup": role, "kind": "Role", "name": "makes-runs"},
        "subjects": [{"kind": "ServiceAccount", "name": belt, "namespace": space}],
    }
    # Runs have accounts of their own (`hostUsers: false`), so the file system has to support id-mapped mounts.
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "20Gi"}}}
    yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": _meta(CLAIM, space), "spec": claim}
    hard = {"pods": "10", "requests.cpu": "18", "requests.memory": "60Gi"}
    yield {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": _meta("at-most", space), "spec": {"hard": hard}}


def _policies() -> Iterable[Json]:
    for space in (HOME, *map(space_of, BOX_BELTS)):
        yield _policy("nothing-in-nothing-out", space, {}, {"policyTypes": ["Ingress", "Egress"]})
    for part in (*PROCESSES, *WAYS_OUT, MIGRATE):
        to = [(target, port) for source, target, port in lines() if source == part.name]
        egress = [{"to": [_peer(target)], "ports": _ports(port)} for target, port in to]
        egress += [_names()] if to or part in WAYS_OUT else []
        if part in WAYS_OUT:
            anywhere = {"ipBlock": {"cidr": "0.0.0.0/0", "except": list(_PRIVATE)}}
            egress.append({"to": [anywhere], "ports": _ports(443)})
        asking = [(source, port) for source, target, port in lines() if target == part.name]
        ingress = [{"from": [_peer(source)], "ports": _ports(port)} for source, port in asking]
        spec = {"policyTypes": ["Ingress", "Egress"], "ingress": ingress, "egress": egress}
        yield _policy(part.name, space_of(part.name), {"matchLabels": {_NAME: part.name}}, spec)


def _policy(name: str, space: str, selected: Json, spec: Json) -> Json:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": space},
        "spec": {"podSelector": selected, **{key: value for key, value in spec.items() if value}},
    }


def _peer(name: str) -> Json:
    if name in ELSEWHERE:
        return {"namespaceSelector": {"matchLabels": {_PART: ELSEWHERE[name]}}}
    return {
        "namespaceSelector": {"matchLabels": {_SPACE: space_of(name)}},
        "podSelector": {"matchLabels": {_NAME: name}},
    }


def _ports(port: int) -> list[Json]:
    return [{"protocol": "TCP", "port": port}]


def _names() -> Json:
    """Names are asked of the cluster's own resolver."""
    resolver = {"namespaceSelector": {"matchLabels": {_SPACE: "kube-system"}}}
    resolver["podSelector"] = {"matchLabels": {"k8s-app": "kube-dns"}}
    return {"to": [resolver], "ports": [{"protocol": kind, "port": 53} for kind in ("UDP", "TCP")]}


def _scaled(belt: str) -> Iterable[Json]:
    space = space_of(belt)
    refs = [{"parameter": key, "name": "countersign-scaling", "key": key} for key in ("address", "password")]
    yield {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "TriggerAuthentication",
        "metadata": _meta(f"{belt}-bells", space),
        "spec": {"secretTargetRef": refs},
    }
    waiting = {"listName": belt, "listLength": "5", "activationListLength": "0", "databaseIndex": "0"}
    yield {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": _meta(belt, space),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": belt},
            # A belt that nobody rings still sweeps, so one of each stays.
            "minReplicaCount": 1,
            "maxReplicaCount": 4 if belt in BOX_BELTS else 2,
            "pollingInterval": 15,
            "cooldownPeriod": 600,
            "triggers": [{"type": "redis", "metadata": waiting, "authenticationRef": {"name": f"{belt}-bells"}}],
        },
    }
