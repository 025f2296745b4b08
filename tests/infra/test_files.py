"""The files for images, Compose and Kubernetes: written from the table, valid by others' schemas, and sealed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dockerfile
import jsonschema_rs
import kubernetes_validate
import pytest
import yaml

from app.core.belts import Belt
from app.handed import FROM_FILES
from app.queue import Doorbell, make_celery
from app.settings import queue_settings
from infra.topology.__main__ import written
from infra.topology.packages import SETS, imported, needed
from infra.topology.parts import MIGRATE, PROCESSES, SECRETS, WAYS_OUT
from tests.infra.reading import KUBERNETES, ROOT, Json, compose, manifests
from worker.up import HOLDS

SCHEMAS = Path(__file__).with_name("schemas")
IMAGES = ROOT / "infra/images"
OURS = {part.name for part in (*PROCESSES, *WAYS_OUT, MIGRATE)}
NEWEST, OLDEST = "1.37", "1.33"
"""Releases of Kubernetes whose schemas the manifests fit: user namespaces, which runs as pods need, are since 1.33."""


def test_every_file_is_what_the_belt_table_calls_for() -> None:
    texts = written()
    stale = [name for name, text in texts.items() if (ROOT / name).read_text() != text]
    assert stale == [], "write them anew: python -m infra.topology"
    lying = {path.relative_to(ROOT).as_posix() for path in (KUBERNETES / "base").iterdir()}
    assert lying == {name for name in texts if name.startswith("infra/kubernetes/base/")}


# -- Compose ----


def test_the_compose_file_fits_the_compose_specification() -> None:
    validator = jsonschema_rs.validator_for(json.loads((SCHEMAS / "compose-spec.json").read_text()))
    assert [str(error) for error in validator.iter_errors(compose())] == []
    wrong = compose()
    wrong["services"]["web"]["read_onyl"] = True
    assert not validator.is_valid(wrong)


def test_everything_that_the_compose_file_names_is_there() -> None:
    file = compose()
    services = file["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= services.keys(), name
        assert set(service["networks"]) <= file["networks"].keys(), name
        assert {one["source"] for one in service.get("secrets", [])} <= file["secrets"].keys(), name
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in file["volumes"] or (ROOT / "infra/compose" / source).exists(), (name, volume)
    assert (ROOT / "infra/compose/box-seccomp.json").exists()
    used = {one["source"] for service in services.values() for one in service.get("secrets", [])}
    assert used == file["secrets"].keys()


def test_every_service_is_sealed_and_bounded() -> None:
    for name, service in compose()["services"].items():
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["mem_limit"] == service["memswap_limit"] and service["pids_limit"] and service["cpus"], name
        assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "front" else []), name
        assert (service["user"] == "0:0") == (name == "front"), name
        assert "healthcheck" in service or name in ("migrate", "accounts", "front"), name
        assert "privileged" not in service and "/var/run/docker.sock" not in str(service.get("volumes")), name
        loosened = {one for one in service["security_opt"] if one != "no-new-privileges:true"}
        assert bool(loosened) == (name in ("planner", "executor")) and "seccomp=unconfined" not in loosened, name
        assert re.search(r"@\$\{[A-Z]+_DIGEST:\?", service["image"]) or "DEBIAN_DIGEST" in str(service["build"]), name


def test_the_seccomp_profile_of_the_box_s_belts_lets_bubblewrap_work_and_little_more() -> None:
    profile = json.loads((ROOT / "infra/compose/box-seccomp.json").read_text())
    refused = {name for rule in profile["syscalls"] for name in rule["names"]}
    assert {"ptrace", "bpf", "keyctl", "kexec_load", "init_module", "open_by_handle_at", "io_uring_setup"} <= refused
    assert not {"clone", "unshare", "mount", "pivot_root", "setns", "sethostname"} & refused


# -- who holds what ----


def test_each_process_is_given_what_it_may_hold_and_its_secrets_by_reference_alone() -> None:
    secret = {*FROM_FILES, "GITHUB_PRIVATE_KEY"}
    for name, service in compose()["services"].items():
        if name not in HOLDS:
            continue
        told = {key.removesuffix("_FILE") for key in service["environment"]}
        more = {one for one in told if one.startswith("COUNTERSIGN_MINT")}
        more |= {"COUNTERSIGN_DATA_DIR", "COUNTERSIGN_LOGS"}
        assert told <= {*HOLDS[name], *more}, name
        assert not secret & service["environment"].keys(), name
        given = {one["target"].removeprefix(f"{SECRETS}/") for one in service["secrets"]}
        files = {key.removesuffix("_FILE").removesuffix("_PATH") for key, value in service["environment"].items()
                 if value.startswith(SECRETS)}  # fmt: skip
        assert given == files and all(one["source"].startswith(f"{name}-") for one in service["secrets"]), name
    assert not [name for name, service in compose()["services"].items() if "egress" in name and "secrets" in service]


# -- Kubernetes ----


def every_manifest() -> list[Json]:
    return manifests("overlays/example")


@pytest.mark.parametrize("release", [OLDEST, NEWEST])
def test_every_manifest_fits_the_schema_of_the_cluster(release: str) -> None:
    kinds = set()
    for one in every_manifest():
        if not one["apiVersion"].startswith("keda.sh/"):
            kubernetes_validate.validate(one, release, strict=True)
            kinds.add(one["kind"])
    assert len(kinds) >= 10
    wrong = next(one for one in every_manifest() if one["kind"] == "Deployment")
    wrong["spec"]["template"]["spec"]["containers"][0]["readOnlyRoot"] = True
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, release, strict=True)


def test_what_keda_is_told_fits_its_own_schema_and_scales_what_is_there() -> None:
    told = [one for one in every_manifest() if one["apiVersion"].startswith("keda.sh/")]
    there = {(one["metadata"]["namespace"], one["metadata"]["name"]) for one in every_manifest()
             if one["kind"] == "Deployment"}  # fmt: skip
    for one in told:
        schema = json.loads((SCHEMAS / f"keda-{one['kind'].lower()}.json").read_text())
        assert [str(error) for error in jsonschema_rs.validator_for(schema).iter_errors(one)] == []
        if one["kind"] == "ScaledObject":
            assert (one["metadata"]["namespace"], one["spec"]["scaleTargetRef"]["name"]) in there
    assert len(told) == 2 * len(Belt)


def test_keda_looks_at_the_lists_in_which_bells_really_wait(redis_url: str) -> None:
    import redis

    celery = make_celery(queue_settings({"CELERY_BROKER_URL": redis_url}))
    for belt in Belt:
        Doorbell(celery).sweep(belt)
    lists = {one["spec"]["triggers"][0]["metadata"]["listName"] for one in every_manifest()
             if one["kind"] == "ScaledObject"}  # fmt: skip
    with redis.Redis.from_url(redis_url) as server:
        assert {name: server.llen(name) for name in lists} == {belt.value: 1 for belt in Belt}
    celery.close()


def pods() -> Iterator[tuple[str, Json]]:
    for one in every_manifest():
        if one["kind"] in ("Deployment", "Job"):
            yield one["metadata"]["name"], one["spec"]["template"]["spec"]


def test_every_pod_is_as_restricted_as_pod_security_asks_and_more() -> None:
    found = dict(pods())
    assert found.keys() == OURS
    for name, pod in found.items():
        (container,) = pod["containers"]
        security = container["securityContext"]
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"], name
        assert security["capabilities"] == {"drop": ["ALL"]}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys(), name
        assert all(volume.keys() & {"emptyDir", "secret", "persistentVolumeClaim"} for volume in pod["volumes"]), name
        assert {"cpu", "memory", "ephemeral-storage"} == container["resources"]["limits"].keys(), name
        assert "readinessProbe" in container or name == "migrate", name
        # Only who makes pods has a token, and it is of an account of its own.
        assert pod["automountServiceAccountToken"] == (name in ("planner", "executor")), name
        assert pod["serviceAccountName"] == name and pod["enableServiceLinks"] is False, name
        assert not [one for one in container["env"] if "secretKeyRef" in str(one)], name
    spaces = [one for one in every_manifest() if one["kind"] == "Namespace"]
    for space in spaces:
        assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert len(spaces) == 3


def test_what_makes_pods_lives_with_nobody_else_s_secrets() -> None:
    """Who may make a pod may mount any secret of the namespace into it."""
    rights = {one["metadata"]["namespace"] for one in every_manifest() if one["kind"] == "Role"}
    mounted: dict[str, set[str]] = {}
    for one in every_manifest():
        if one["kind"] in ("Deployment", "Job"):
            for volume in one["spec"]["template"]["spec"]["volumes"]:
                if "secret" in volume:
                    mounted.setdefault(one["metadata"]["namespace"], set()).add(volume["secret"]["secretName"])
    assert {space: mounted[space] for space in rights} == {
        "countersign-planner": {"countersign-planner"}, "countersign-executor": {"countersign-executor"},
    }  # fmt: skip


def test_what_a_process_needs_the_example_says() -> None:
    said = {one["metadata"]["namespace"]: one["data"] for one in every_manifest() if one["kind"] == "ConfigMap"}
    for one in every_manifest():
        if one["kind"] in ("Deployment", "Job"):
            for variable in one["spec"]["template"]["spec"]["containers"][0]["env"]:
                reference = variable.get("valueFrom", {}).get("configMapKeyRef")
                if reference and not reference.get("optional"):
                    assert variable["name"] in said[one["metadata"]["namespace"]]


# -- images ----


def targets() -> dict[str, list[dockerfile.Command]]:
    """The commands of each stage of the Dockerfile, as Docker's own parser reads them."""
    found: dict[str, list[dockerfile.Command]] = {}
    name = ""
    for command in dockerfile.parse_file(str(IMAGES / "Dockerfile")):
        if command.cmd.upper() == "FROM":
            name = command.value[2]
        found.setdefault(name, []).append(command)
    return found


def whole(name: str) -> list[dockerfile.Command]:
    """The commands of a stage, and before them those of the stages that it is made from."""
    stages = targets()
    above = stages[name][0].value[0]
    return [*(whole(above) if above in stages else []), *stages[name]]


def test_there_is_an_image_for_each_process_and_each_is_of_a_pinned_base() -> None:
    stages = targets()
    used = {service["build"]["target"] for service in compose()["services"].values() if "build" in service}
    assert used <= stages.keys()
    assert {f"countersign-{name}" for name in used} == {pod["containers"][0]["image"] for _, pod in pods()}
    for name, commands in stages.items():
        base = commands[0].value[0] if name else ""
        assert not name or base in stages or re.fullmatch(r"[a-z]+:[a-z-]+@\$\{[A-Z]+_DIGEST\}", base), base
    arguments = [command.value[0] for command in stages[""]]
    assert arguments == ["DEBIAN_DIGEST"], "without a default, so that nothing is built from a base that nobody named"


def test_no_image_runs_as_root_or_holds_what_builds() -> None:
    used = {service["build"]["target"] for service in compose()["services"].values() if "build" in service}
    for name in used:
        commands = whole(name)
        users = [command.value[0] for command in commands if command.cmd.upper() == "USER"]
        assert users and set(users) == {"10001:10001"}, name
        ran = " ".join(command.original for command in commands if command.cmd.upper() == "RUN")
        assert not re.search(r"python3-venv|python3-dev|gcc|build-essential|\bpip\b", ran), name
        copied = [command.value[0] for command in commands if command.cmd.upper() == "COPY"]
        assert ("worker" in copied) == (name != "web") and "infra" not in copied and "tests" not in copied, name
        assert any(command.cmd.upper() == "HEALTHCHECK" for command in commands), name
    built = " ".join(command.original for command in targets()["build"])
    assert "--require-hashes" in built and "--only-binary :all:" in built


def test_the_linter_of_dockerfiles_has_nothing_to_say() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, IMAGES / "Dockerfile"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


def test_no_image_gets_a_package_that_its_process_does_not_load() -> None:
    held = {name: needed(imported(entries)) for name, entries in SETS.items() if name != "belt"}
    assert not {"anthropic", "githubkit", "tree-sitter"} & held["web"]
    assert not {"anthropic", "celery", "fastapi"} & held["mint"]
    assert not {"anthropic", "celery", "githubkit", "fastapi"} & held["egress"]
    assert not {"anthropic", "githubkit", "fastapi"} & held["beat"]


PIN = """#!/bin/sh
case "$4" in %s) echo %s ;; *) echo sha256:%s ;; esac
"""


@pytest.mark.parametrize("answer", ["", "latest", "sha256:12", "sha256:" + "g" * 64])
def test_digests_are_written_all_or_none(tmp_path: Path, answer: str) -> None:
    shutil.copy(IMAGES / "pin.sh", tmp_path)
    program = tmp_path / "bin/docker"
    program.parent.mkdir()
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}"}

    def pinned(image: str) -> int:
        program.write_text(PIN % (image, answer, "a" * 64))
        program.chmod(0o755)
        return subprocess.run([tmp_path / "pin.sh"], env=env, capture_output=True, check=False, timeout=30).returncode

    assert pinned("redis:8") != 0 and not (tmp_path / "digests.env").exists()
    assert pinned("nobody") == 0
    lines = [line for line in (tmp_path / "digests.env").read_text().splitlines() if not line.startswith("#")]
    asked = set(re.findall(r"\$\{([A-Z]+_DIGEST):\?", yaml.safe_dump(compose())))
    assert {line.partition("=")[0] for line in lines} == asked
    assert {line.partition("=")[2] for line in lines} == {"sha256:" + "a" * 64}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "digests.env", "pin.sh"]
