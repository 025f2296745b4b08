"""What each process reaches by the files is what the belt table says; and a file that says otherwise is found out."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.infra.reading import COMPOSE, Json, compose, compose_faults, interpolated, kubernetes_faults, manifests
from worker.way_out import way_out

GIVEN = {
    "GITHUB_APP_ID": "1", "COUNTERSIGN_HOST": "countersign.example.com", "GITHUB_API_URL": "https://api.acme.ghe.com",
    "ANTHROPIC_BASE_URL": "https://models.example.com", "COUNTERSIGN_DOCS_HOSTS": "docs.example.com",
    "COUNTERSIGN_EGRESS_HOSTS": "packages.example.com", "GITHUB_CLIENT_ID": "Iv1.1",
}  # fmt: skip
API, CODE, MODEL = "api.acme.ghe.com:443", "acme.ghe.com:443", "models.example.com:443"


def test_the_networks_of_the_compose_file_join_whom_the_table_joins() -> None:
    assert compose_faults(compose()) == []


def test_the_ways_out_of_the_compose_file_lead_where_the_table_leads() -> None:
    led = {}
    for name, service in compose()["services"].items():
        if name.startswith("egress-"):
            env = {key: interpolated(value, GIVEN) for key, value in service["environment"].items()}
            way = way_out(service["command"][1], env)
            led[name] = {str(host) for host in way.rules.hosts}
            assert way.rules.networks == () and way.listen == ("0.0.0.0", 3128)
    assert led == {
        "egress-mint": {API},
        "egress-planner": {API, CODE, MODEL, "docs.example.com:443", "packages.example.com:443"},
        "egress-executor": {API, CODE, MODEL, "packages.example.com:443"},
        "egress-publisher": {API},
        "egress-web": {API, CODE},
    }


def test_the_web_process_is_led_to_nobody_where_people_do_not_sign_in() -> None:
    env = compose()["services"]["egress-web"]["environment"]
    nobody = {key: interpolated(value, GIVEN | {"GITHUB_CLIENT_ID": ""}) for key, value in env.items()}
    assert way_out("web", nobody).rules.hosts == frozenset()


def services(change: Callable[[Json], object]) -> Callable[[Json], object]:
    return lambda file: change(file["services"])


COMPOSE_BREACHES: dict[str, tuple[Callable[[Json], object], str]] = {
    "web is let out": (services(lambda s: s["web"]["networks"].append("outside")), "web reaches the internet"),
    "a belt takes another's way out": (
        services(lambda s: s["publisher"]["networks"].append("planner--egress-planner")),
        "egress-planner and publisher can meet",
    ),
    "beat sees the ledger": (services(lambda s: s["beat"]["networks"].append("web--postgres")), "beat and postgres"),
    "an inner network leads on": (lambda f: f["networks"]["beat--redis"].clear(), "beat reaches the internet"),
    "a belt loses the mint": (
        services(lambda s: s["executor"]["networks"].remove("executor--mint")), "executor and mint cannot meet",
    ),
    "a way out is another's": (
        services(lambda s: s["egress-publisher"].update(command=["egress", "planner"])), "egress-publisher is",
    ),
    "the mint publishes its port": (services(lambda s: s["mint"].update(ports=["8010:8010"])), "mint publishes"),
    "a belt is in the host's network": (services(lambda s: s["planner"].update(network_mode="host")), "network_mode"),
    "a belt is in no network of its own": (services(lambda s: s["planner"].pop("networks")), "planner reaches"),
    "a belt is told of another way": (
        services(lambda s: s["executor"]["environment"].update(HTTPS_PROXY="http://egress-planner:3128")),
        "executor is told of",
    ),
}  # fmt: skip


@pytest.mark.parametrize("breach", COMPOSE_BREACHES)
def test_a_compose_file_with_a_breach_is_found_out(breach: str) -> None:
    change, said = COMPOSE_BREACHES[breach]
    file = deepcopy(compose())
    change(file)
    assert [fault for fault in compose_faults(file) if said in fault]


def test_a_value_that_the_operator_has_to_say_is_not_made_up() -> None:
    text = COMPOSE.read_text()
    for name in ("DEBIAN_DIGEST", "POSTGRES_DIGEST", "REDIS_DIGEST", "CADDY_DIGEST", "GITHUB_APP_ID"):
        assert f"${{{name}:?" in text
    with pytest.raises(KeyError):
        interpolated("${GITHUB_APP_ID:?say it}", {})


# -- Kubernetes ----


def test_the_policies_of_the_cluster_let_through_what_the_table_lets_through() -> None:
    assert kubernetes_faults(manifests("base")) == []


def policy(objects: list[Json], name: str) -> Json:
    (found,) = [one for one in objects if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == name]
    spec: Json = found["spec"]
    return spec


def without(objects: list[Json], name: str) -> None:
    objects[:] = [one for one in objects if one["kind"] != "NetworkPolicy" or one["metadata"]["name"] != name]


POLICY_BREACHES: dict[str, tuple[Callable[[list[Json]], Any], str]] = {
    "web is let out": (
        lambda o: policy(o, "web")["egress"].append({"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}), "web reaches",
    ),
    "nothing is denied by default": (lambda o: without(o, "nothing-in-nothing-out"), "a run of the planner reaches"),
    "a way out asks no longer who comes": (
        lambda o: policy(o, "egress-planner")["ingress"][0].pop("from"), "stranger reaches egress-planner",
    ),
    "a way out leads into the cluster": (
        lambda o: policy(o, "egress-mint")["egress"][-1]["to"][0]["ipBlock"].pop("except"),
        "egress-mint reaches 10.1.2.3",
    ),
    "the mint answers beat": (
        lambda o: (
            policy(o, "mint")["ingress"].append(
                {"from": [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "beat"}}}]}
            ),
            policy(o, "beat")["egress"].append({"ports": [{"protocol": "TCP", "port": 8010}]}),
        ),
        "beat reaches mint on 8010",
    ),
    "a belt has no policy": (lambda o: without(o, "publisher"), "publisher does not reach postgres"),
    "the ledger is anywhere": (
        lambda o: policy(o, "planner")["egress"][0].update(to=[{"namespaceSelector": {}}]), "planner reaches",
    ),
}  # fmt: skip


@pytest.mark.parametrize("breach", POLICY_BREACHES)
def test_policies_with_a_breach_are_found_out(breach: str) -> None:
    change, said = POLICY_BREACHES[breach]
    objects = deepcopy(manifests("base"))
    change(objects)
    assert [fault for fault in kubernetes_faults(objects) if said in fault]
