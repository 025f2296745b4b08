"""What clients are configured with enters the box as hosts, addresses and certificates: no password, and no key."""

from pathlib import Path

import pytest

from tests.fakes.tls_registry import certificate
from worker.box.authorities import AUTHORITIES, authorities_of
from worker.box.clients import registries_of
from worker.box.egress.rules import Host
from worker.box.environment import Workshop
from worker.box.other_clients import cargos_settings, mavens_settings

SETTINGS = """
<settings>
  <servers><server><id>ours</id><password>word</password></server></servers>
  <mirrors>
    <!-- <mirror><id>old</id><url>https://old.example.test/</url><mirrorOf>*</mirrorOf></mirror> -->
    <mirror><id>ours</id><name>n</name><url>https://a.example.test/m2</url><mirrorOf>{of}</mirrorOf></mirror>
  </mirrors>
</settings>
"""


def test_of_a_file_of_authorities_the_certificates_alone_enter(tmp_path: Path) -> None:
    bundle = tmp_path / "registry.pem"
    bundle.write_bytes(certificate())
    assert b"PRIVATE KEY" in bundle.read_bytes()
    own = certificate().decode().partition("-----BEGIN CERT")
    (tmp_path / "other.pem").write_text(own[1] + own[2])
    known = registries_of(
        [("npm", "ci")], Workshop(tmp_path, {"HOME": str(tmp_path), "NODE_EXTRA_CA_CERTS": str(bundle)})
    )
    inside = known.beside[AUTHORITIES]
    assert known.variables["NODE_EXTRA_CA_CERTS"] == known.variables["PIP_CERT"] == f"/made/{AUTHORITIES}"
    assert "PRIVATE KEY" not in inside and bundle.read_text().partition("-----BEGIN CERT")[2][:200] in inside
    _, both = authorities_of({"PIP_CERT": str(bundle)}, [str(tmp_path / "other.pem"), str(tmp_path / "nowhere.pem")])
    assert both.count("BEGIN CERTIFICATE") == inside.count("BEGIN CERTIFICATE") + 1
    assert authorities_of({}, [])[1] == "", "the system's own are there without a file of ours"


@pytest.mark.parametrize(("of", "all_there"), [("*", True), ("central", True), ("ours-only", False)])
def test_mavens_mirrors_are_read_from_its_settings_and_its_passwords_stay(
    tmp_path: Path, of: str, all_there: bool
) -> None:
    (tmp_path / ".m2").mkdir()
    (tmp_path / ".m2" / "settings.xml").write_text(SETTINGS.format(of=of))
    addresses, text = mavens_settings({"HOME": str(tmp_path)})
    assert addresses[0] == "https://a.example.test/m2" and "https://old.example.test/" not in addresses
    assert f"<url>https://a.example.test/m2</url><mirrorOf>{of}</mirrorOf>" in text and "word" not in text
    if all_there:
        assert len(addresses) == 1
    known = registries_of([("mvn", "dependency:go-offline")], Workshop(tmp_path, {"HOME": str(tmp_path)}))
    assert Host("a.example.test") in known.hosts and known.beside["home/.m2/settings.xml"] == text


@pytest.mark.skipif(not Path("/usr/share/maven/lib").is_dir(), reason="no Maven of the distribution here")
def test_where_no_mirror_is_named_mavens_own_library_says_where_it_looks(tmp_path: Path) -> None:
    addresses, text = mavens_settings({"HOME": str(tmp_path)})
    assert addresses and all(one.startswith("https://") for one in addresses) and text == ""


def test_cargos_mirror_is_read_from_its_configuration_and_nothing_else_of_it_enters(tmp_path: Path) -> None:
    configuration = tmp_path / "config.toml"
    configuration.write_text(
        '[source.crates-io]\nreplace-with = "a"\n[source.a]\nreplace-with = "b"\n'
        '[source.b]\nregistry = "sparse+https://b.example.test/index/"\n[registry]\ntoken = "word"\n'
    )
    env = {"CARGO_HOME": str(tmp_path)}
    addresses, text = cargos_settings(env)
    assert addresses == ("https://b.example.test/index/",) and "sparse+https://b.example.test/index/" in text
    assert "word" not in text
    known = registries_of([("cargo", "fetch")], Workshop(tmp_path, env))
    assert known.hosts == {Host("b.example.test")} and known.beside["home/.cargo/config.toml"] == text
    for wrong in (
        '[source.crates-io]\nreplace-with = "crates-io"\n',
        "source = 1\n",
        "[",
        '[source.crates-io]\nregistry = "file:///x"\n',
        "",
    ):
        configuration.write_text(wrong)
        assert cargos_settings(env) == ((), "")
    assert "No registry is known in which cargo looks" in registries_of([("cargo",)], Workshop(tmp_path, env)).lacking(
        "cargo"
    )
