"""Which hosts an operator can list, and which addresses are connected to, whatever a name says."""

from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.documentation import DocsReach, read_docs_reach
from app.core.verdict import Allowed, Refused

NOWHERE = DocsReach()
EVERYWHERE = read_docs_reach("", "0.0.0.0/0 ::/0")
assert isinstance(EVERYWHERE, DocsReach)


@pytest.mark.parametrize("address", [
    "0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1",
    "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "255.255.255.255", "168.63.129.16", "100.100.100.200", "::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1",
    "fd00:ec2::254", "ff02::1", "2001:db8::1", "2001::1", "2002:a00:1::", "64:ff9b::808:808", "64:ff9b:1::1",
    "::ffff:8.8.8.8", "::ffff:10.0.0.1", "::8.8.8.8", "100::1", "5f00::1", "3fff::1", "docs.example.com", "", "8.8.8",
    "0x7f000001", "2130706433", "127.1",
])  # fmt: skip
def test_an_address_that_is_not_public_is_never_connected_to(address: str) -> None:
    assert isinstance(NOWHERE.may_connect(address), Refused)


@pytest.mark.parametrize("address", ["8.8.8.8", "151.101.0.223", "172.32.0.1", "2606:4700::6810:84e5", "2a04:4e42::2"])
def test_a_public_address_is(address: str) -> None:
    assert NOWHERE.may_connect(address) == Allowed()


@pytest.mark.parametrize("address", ["10.1.2.3", "127.0.0.1", "192.168.7.7", "fd12::1", "::1", "100.64.0.1"])
def test_an_address_in_a_network_of_the_operators_own_is_and_its_neighbour_is_not(address: str) -> None:
    reach = read_docs_reach("", f"{address}/{ip_address(address).max_prefixlen}")
    assert isinstance(reach, DocsReach)
    assert reach.may_connect(address) == Allowed()
    assert isinstance(reach.may_connect(str(ip_address(address) + 1)), Refused)


@pytest.mark.parametrize("address", [
    "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "fe80::1",
    "224.0.0.1", "ff02::1", "0.0.0.0", "::", "255.255.255.255", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
])  # fmt: skip
def test_no_list_opens_the_way_to_where_clouds_hand_out_secrets_or_to_an_address_in_disguise(address: str) -> None:
    assert isinstance(EVERYWHERE, DocsReach)
    assert isinstance(EVERYWHERE.may_connect(address), Refused)


@given(st.ip_addresses(v=4))
def test_no_private_address_becomes_public_by_being_written_in_six(address: IPv4Address) -> None:
    digits = f"{int(address):08x}"
    translated = (f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{digits[:4]}:{digits[4:]}::1")
    for form in (*translated, *([f"::{address}"] if int(address) != 1 else [])):
        assert isinstance(EVERYWHERE, DocsReach)
        assert isinstance(EVERYWHERE.may_connect(form), Refused), form


def test_hosts_are_listed_by_name_and_port_and_covered_exactly() -> None:
    hosts = " docs.Example.com, wiki.example.com:8443\nplain.example.com:443 localhost:1"
    reach = read_docs_reach(hosts, "10.1.0.0/16")
    assert isinstance(reach, DocsReach)
    assert reach.hosts == ("docs.example.com", "wiki.example.com:8443", "plain.example.com", "localhost:1")
    assert reach.covers("docs.example.com", 443) and reach.covers("wiki.example.com", 8443)
    for host, port in (
        ("docs.example.com", 8443), ("wiki.example.com", 443), ("example.com", 443), ("a.docs.example.com", 443),
        ("docs.example.com.", 443), ("docs.example.comx", 443), ("", 443),
    ):  # fmt: skip
        assert not reach.covers(host, port), (host, port)


@pytest.mark.parametrize(("hosts", "networks", "word"), [
    ("*.example.com", "", "`*.example.com`"), ("https://docs.example.com", "", "no host"), ("a/b", "", "no host"),
    ("docs.example.com:0", "", "no host"), ("docs.example.com:99999", "", "no host"), ("-a.com", "", "no host"),
    ("a..b", "", "no host"), ("münchen.de", "", "no host"), ("a" * 64 + ".com", "", "no host"), ("m@a.com", "", "no"),
    ("", "10.1.0.0/33", "no network"), ("", "10.1.0.1/16", "no network"), ("", "everything", "no network"),
    ("", "169.254.169.254/32", "never"), ("", "fe80::/64", "never"), ("", "ff02::/16", "never"),
])  # fmt: skip
def test_a_list_that_cannot_be_meant_is_refused_with_its_word(hosts: str, networks: str, word: str) -> None:
    refused = read_docs_reach(hosts, networks)
    assert isinstance(refused, Refused) and word in refused.reason


def test_a_repository_chooses_among_the_operators_hosts_and_never_beyond_them() -> None:
    reach = read_docs_reach("a.example.com b.example.com", "10.1.0.0/16")
    assert isinstance(reach, DocsReach)
    assert reach.within(None) == reach
    assert reach.within(()).hosts == ()
    chosen = reach.within(("b.example.com", "evil.example.com"))
    assert (chosen.hosts, chosen.networks) == (("b.example.com",), reach.networks)


def test_without_a_list_no_host_is_covered() -> None:
    assert not NOWHERE.covers("docs.python.org", 443)
    assert read_docs_reach("", "") == NOWHERE
