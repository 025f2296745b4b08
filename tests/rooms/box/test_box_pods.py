"""Runs as pods of a cluster: the same promise, the cluster's own ways to fail, and a probe that believes nothing."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import SettingsWrong
from tests.fakes.kubernetes import Kubernetes, Weakness, expanded, serving, status
from worker.box.command import BoxUnavailable, Command, Ended, Profile, Ran
from worker.box.environment import EnvironmentUnavailable, Workshop
from worker.box.pods.cluster import Talk
from worker.box.pods.job import LABEL, Placed, job_of
from worker.box.pods.keeper import PodBox
from worker.box.pods.probe import open_pods, prove_pods
from worker.box.profiles import limits_of
from worker.box.setting_up import SetUp, set_up
from worker.box_terms import Cluster, box_terms
from worker.up import HOLDS

EVERYBODYS = ("COUNTERSIGN_DATA_DIR", "COUNTERSIGN_LOGS", "COUNTERSIGN_MINT", "COUNTERSIGN_MINT_CREDENTIAL")
MANIFESTS = Path(__file__).parents[3] / "infra" / "kubernetes" / "base"
CLUSTER = Cluster("https://api.test", "countersign-box", "box:1", "kata", "countersign-trees", Path("/trees"))


@pytest.fixture
def kubernetes(tmp_path: Path) -> Iterator[Kubernetes]:
    # What is handed over is reached by another account where the tests run as root.
    with serving(tmp_path) as made:
        yield made


@pytest.fixture
def pods(kubernetes: Kubernetes) -> PodBox:
    return PodBox(kubernetes.cluster(), "hard", look_every=0.02)


def job(command: Command) -> dict[str, Any]:
    return job_of("run-1", command, "mark", Placed("runs/run-1/tree", ("lasting/a",)), CLUSTER)


# -- the job ----


def test_the_job_keeps_its_pod_apart_in_every_way_that_a_cluster_has() -> None:
    made = job(Command(("pytest", "-q"), 60, Profile.TEST))
    pod = made["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (pod["runtimeClassName"], pod["hostUsers"], pod["automountServiceAccountToken"]) == ("kata", False, False)
    assert (pod["enableServiceLinks"], pod["restartPolicy"], pod["dnsPolicy"]) == (False, "Never", "None")
    assert pod["securityContext"]["runAsNonRoot"] is True and pod["securityContext"]["runAsUser"] == 1000
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    limits = container["resources"]["limits"]
    assert int(limits["memory"]) > limits_of(Profile.TEST).memory_bytes and limits.keys() == {
        "memory",
        "cpu",
        "ephemeral-storage",
    }
    assert made["spec"]["backoffLimit"] == 0 and made["spec"]["activeDeadlineSeconds"] == 180
    assert all(mount["readOnly"] for mount in container["volumeMounts"] if mount["name"] == "handed")
    assert all("sizeLimit" in one["emptyDir"] for one in pod["volumes"] if "emptyDir" in one)
    assert not {"hostNetwork", "hostPID", "hostIPC", "serviceAccountName"} & pod.keys()


def test_words_of_a_command_are_arguments_and_its_variables_cannot_change_the_fixed_ones() -> None:
    words = ("sh", "-c", "echo $(id); `id`", "$(HOME)")
    (container,) = job(Command(words, 60, Profile.READ, {"TZ": "UTC"}))["spec"]["template"]["spec"]["containers"]
    assert tuple(map(expanded, container["command"]))[-4:] == words
    assert expanded("a $(HOME) and $$(HOME)") == "a the value of HOME and $(HOME)"
    assert {"name": "HOME", "value": "/tmp/home"} in container["env"] and {"name": "TZ", "value": "UTC"} in container[
        "env"
    ]


@pytest.mark.parametrize("belt", ["planner", "executor"])
def test_the_manifests_of_the_installation_fit_what_runs_ask_for(belt: str) -> None:
    listed = yaml.safe_load_all((MANIFESTS / "box.yaml").read_text())
    kinds = {one["kind"]: one for one in listed if one["metadata"]["namespace"] == f"countersign-{belt}"}
    policies = list(yaml.safe_load_all((MANIFESTS / "network.yaml").read_text()))
    labels = job(Command(("true",), 1, Profile.READ))["metadata"]["labels"]
    about = [
        one["spec"] for one in policies if one["metadata"]["namespace"] == f"countersign-{belt}"
        and one["spec"]["podSelector"].get("matchLabels", {}).items() <= labels.items()
    ]  # fmt: skip
    assert about == [{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}]
    allowed = {(one["resources"][0], verb) for one in kinds["Role"]["rules"] for verb in one["verbs"]}
    assert allowed == {("jobs", "create"), ("jobs", "delete"), ("pods", "list"), ("pods/log", "get")}
    assert {name for name in vars(Talk) if not name.startswith("_")} == {"make", "remove", "pod", "output"}
    assert kinds["PersistentVolumeClaim"]["metadata"]["name"] == CLUSTER.claim


@pytest.mark.parametrize("belt", ["planner", "executor"])
def test_the_belt_of_the_installation_is_told_what_it_may_hold_and_mounts_the_volume(belt: str) -> None:
    kinds = {one["kind"]: one for one in yaml.safe_load_all((MANIFESTS / f"{belt}.yaml").read_text())}
    pod = kinds["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    told = {one["name"].removesuffix("_FILE"): one.get("value", "") for one in container["env"]}
    assert told.keys() <= {*HOLDS[belt], *EVERYBODYS}
    assert told["COUNTERSIGN_PODS_NAMESPACE"] == kinds["Deployment"]["metadata"]["namespace"]
    assert told["COUNTERSIGN_BOX"] == "pods" and set(SAID) <= told.keys()
    assert told["COUNTERSIGN_PODS_VOLUME"] in {one["mountPath"] for one in container["volumeMounts"]}
    assert LABEL not in pod["metadata"]["labels"], "the policy for runs would cut the belt off"


# -- runs ----


@pytest.mark.needs_userns
class TestRuns:
    @pytest.fixture
    def ran(self, pods: PodBox, tree: Path) -> Callable[..., Ran]:
        def run(*words: str, profile: Profile = Profile.TEST, seconds: float = 20, **more: Any) -> Ran:
            result = pods.run(tree, Command(words, seconds, profile, **more))
            assert isinstance(result, Ran), result
            return result

        return run

    def test_status_and_output_come_back_and_nothing_is_left(
        self, ran: Callable[..., Ran], kubernetes: Kubernetes, tree: Path
    ) -> None:
        result = ran("sh", "-c", 'pwd; cat notes.md; echo "$0"; echo new > notes.md; exit 3', "$(HOME) it's")
        assert (result.ended, result.exit_status, result.limits) == (Ended.EXITED, 3, "hard")
        assert result.output.decode().splitlines() == ["/work", "first", "$(HOME) it's"]
        assert (tree / "notes.md").read_text() == "first\n"
        assert kubernetes.jobs == {} and len(kubernetes.removed) == 1
        assert list((kubernetes.folder / "volume" / "runs").iterdir()) == []

    def test_reading_cannot_write_and_tools_and_links_are_where_they_are_looked_for(
        self, ran: Callable[..., Ran], tmp_path: Path, kubernetes: Kubernetes
    ) -> None:
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "tool").write_text("a tool\n")
        assert ran("sh", "-c", "echo x > notes.md", profile=Profile.READ).exit_status != 0
        for _ in range(2):
            links = {"/work/made/tool": "/tools/0/tool", "/work/other": "/tools/0"}
            result = ran("sh", "-c", "cat other/tool; (: > other/x) 2>&1 | grep -c Read-only", tools=(tools,), links={
                place: target for place, target in links.items() if place == "/work/other"
            })  # fmt: skip
            assert result.output == b"a tool\n1\n"
        assert len(list((kubernetes.folder / "volume" / "lasting").iterdir())) == 1

    def test_limits_of_time_processes_and_output_hold(self, ran: Callable[..., Ran]) -> None:
        late = ran("sleep", "60", seconds=1)
        assert (late.ended, late.exit_status) == (Ended.TIMEOUT, None)
        assert ran("bash", "-c", "ulimit -u; ulimit -c", profile=Profile.READ).output == b"32\n0\n"
        much = ran("sh", "-c", "yes | head -c 1200000", profile=Profile.READ)
        assert much.ended is Ended.OUTPUT and len(much.output) < limits_of(Profile.READ).output_kept_bytes + 200

    def test_a_run_that_nobody_wants_any_more_is_removed(
        self, pods: PodBox, tree: Path, kubernetes: Kubernetes
    ) -> None:
        wanted = iter([True, False])
        result = pods.run(tree, Command(("sleep", "60"), 60, Profile.TEST), lambda: next(wanted))
        assert isinstance(result, Ran) and result.ended is Ended.CALLED_OFF
        assert kubernetes.jobs == {}

    def test_a_program_that_is_not_there_is_a_failed_command_and_no_missing_box(self, ran: Callable[..., Ran]) -> None:
        assert ran("nowhere-at-all").exit_status == 127

    @pytest.mark.parametrize(("weakness", "words"), [
        (Weakness(network=True), "network is 'yes'"), (Weakness(token=True), "token is 'yes'"),
        (Weakness(writable=True), "write_root is 'yes'"), (Weakness(kernel=True), "shares this machine's kernel"),
    ])  # fmt: skip
    def test_a_cluster_whose_pods_do_not_hold_gives_no_box(
        self, kubernetes: Kubernetes, weakness: Weakness, words: str
    ) -> None:
        kubernetes.weakness = weakness
        refused = prove_pods(kubernetes.cluster())
        assert isinstance(refused, BoxUnavailable) and words in refused.reason
        assert "infra/kubernetes" in refused.remedy and kubernetes.jobs == {}

    def test_a_cluster_whose_pods_hold_is_proved_once(self, kubernetes: Kubernetes) -> None:
        opened = open_pods(kubernetes.cluster())
        assert isinstance(opened, PodBox) and opened.limits == "hard"
        assert open_pods(kubernetes.cluster()) is opened and len(kubernetes.removed) == 1

    def test_what_was_left_on_the_volume_long_ago_is_gone_when_the_cluster_is_proved(
        self, kubernetes: Kubernetes
    ) -> None:
        volume = kubernetes.cluster().volume
        old, new = volume / "runs" / "old", volume / "lasting" / "new"
        for place in (old, new):
            place.mkdir(parents=True)
        os.utime(old, (1, 1))
        assert isinstance(prove_pods(kubernetes.cluster()), PodBox)
        assert not old.exists() and new.exists()


# -- a cluster that fails ----

END = {"exitCode": 137, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:02Z"}
MARKED = {"terminated": END}


@pytest.mark.parametrize(("said", "words"), [
    (status({"waiting": {"reason": "ErrImagePull", "message": "no such image"}}, "Pending"), "ErrImagePull no such"),
    (status({"waiting": {"reason": "CreateContainerError", "message": "x"}}, "Pending"), "CreateContainerError"),
    (status(MARKED, "Failed"), "first step ended with status 137"),
    ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
])  # fmt: skip
def test_a_pod_that_does_not_come_up_is_no_failed_command(
    pods: PodBox, kubernetes: Kubernetes, tree: Path, said: dict[str, Any], words: str
) -> None:
    kubernetes.says = lambda: said
    refused = pods.run(tree, Command(("true",), 5, Profile.TEST))
    assert isinstance(refused, BoxUnavailable) and words in refused.reason and refused.remedy
    assert kubernetes.jobs == {}


@pytest.mark.parametrize(("more", "ended"), [
    ({"reason": "OOMKilled"}, Ended.MEMORY), ({"reason": "Error"}, Ended.EXITED), ({}, Ended.EXITED),
])  # fmt: skip
def test_how_the_kubelet_says_that_it_ended_is_understood(
    pods: PodBox, kubernetes: Kubernetes, tree: Path, more: dict[str, str], ended: Ended
) -> None:
    def said() -> dict[str, Any]:
        (name, made), *_ = kubernetes.jobs.items()
        command = made["spec"]["template"]["spec"]["containers"][0]["command"]
        kubernetes.logs = Logs({name: f"{command[command.index('box') + 1]}\nsaid\n".encode()})
        return status({"terminated": END | more}, "Failed")

    kubernetes.says = said
    ran = pods.run(tree, Command(("true",), 5, Profile.TEST))
    assert isinstance(ran, Ran) and ran.ended is ended and ran.output == b"said\n"
    assert ran.seconds == 2 and ran.exit_status == (137 if ended is Ended.EXITED else None)


class Logs(dict[str, bytes]):
    """What was said stays said, whatever the cluster writes later."""

    def __setitem__(self, name: str, said: bytes) -> None:
        self.setdefault(name, said)


def test_what_the_api_refuses_is_told_in_its_words_and_a_cluster_that_is_away_as_that(
    pods: PodBox, kubernetes: Kubernetes, tree: Path
) -> None:
    kubernetes.refuses = (403, "jobs.batch is forbidden: exceeded quota")
    refused = pods.run(tree, Command(("true",), 5, Profile.TEST))
    assert isinstance(refused, BoxUnavailable) and "answers 403: jobs.batch is forbidden" in refused.reason
    (kubernetes.folder / "token").write_text("another")
    refused = pods.run(tree, Command(("true",), 5, Profile.TEST))
    assert isinstance(refused, BoxUnavailable) and "answers 401" in refused.reason
    away = PodBox(Cluster("http://127.0.0.1:9", "x", "i", "kata", "c", kubernetes.folder / "volume"))
    refused = away.run(tree, Command(("true",), 5, Profile.TEST))
    assert isinstance(refused, BoxUnavailable) and "does not answer" in refused.reason


def test_what_a_pod_cannot_do_is_refused_before_anything_is_made(
    pods: PodBox, kubernetes: Kubernetes, tree: Path
) -> None:
    for profile in (Profile.INSTALL, Profile.WRITE):
        assert isinstance(pods.run(tree, Command(("true",), 5, profile)), BoxUnavailable)
    how = SetUp((("npm", "ci"),), frozenset(), pods, "a repository")
    never = set_up(tree, how, Workshop(tree.parent / "cache"))
    assert isinstance(never, EnvironmentUnavailable) and "in pods" in never.reason and not never.passing
    with pytest.raises(ValueError, match="not a directory"):
        pods.run(tree / "nowhere", Command(("true",), 5, Profile.READ))
    assert kubernetes.removed == []


def test_without_a_runtime_class_there_are_no_pods(kubernetes: Kubernetes) -> None:
    cluster = kubernetes.cluster()
    refused = open_pods(Cluster(cluster.api, "x", "i", "", "c", cluster.volume))
    assert isinstance(refused, BoxUnavailable) and "share the nodes' kernel" in refused.reason


# -- settings ----

SAID = {
    "COUNTERSIGN_BOX": "pods",
    "COUNTERSIGN_PODS_IMAGE": "box:1",
    "COUNTERSIGN_PODS_RUNTIME_CLASS": "kata",
    "COUNTERSIGN_PODS_VOLUME": "/trees",
}


def test_a_cluster_is_described_whole_or_not_at_all() -> None:
    assert box_terms({}).cluster is None
    cluster = box_terms(SAID).cluster
    assert cluster is not None and cluster.api.startswith("https://") and cluster.token is not None
    for name in SAID:
        with pytest.raises(SettingsWrong, match=name):
            box_terms(SAID | {name: "docker"} if name == "COUNTERSIGN_BOX" else {**SAID, name: ""})
    with pytest.raises(SettingsWrong, match="https"):
        box_terms(SAID | {"COUNTERSIGN_PODS_API": "http://api.example.com"})


def test_the_manifest_is_json_as_it_stands() -> None:
    assert json.loads(json.dumps(job(Command(("true",), 1, Profile.READ))))["kind"] == "Job"
