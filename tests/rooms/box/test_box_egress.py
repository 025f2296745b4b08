"""The way out of an install run: one protocol, exact hosts, checked addresses, the same name inside as outside."""

import functools
import ipaddress
import json
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.tls_registry import NAME, Registry
from worker.box.account import account_for_the_box
from worker.box.box import Box, BoxSettings, BoxUnavailable, Command, Ended, Profile, Ran, open_box
from worker.box.egress.addresses import NoAddress, checked_addresses, why_not
from worker.box.egress.client_hello import NeedMore, NotTls, wanted_name
from worker.box.egress.proxy import Proxy
from worker.box.egress.rules import (
    NOT_LISTED,
    NOT_REACHED,
    Caps,
    Host,
    NotAHost,
    Reached,
    Rules,
    read_host,
    read_networks,
)
from worker.box.orphans import end_orphans

LOOPBACK = read_networks(["127.0.0.1/32"])


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    server = Registry(tmp_path_factory.mktemp("registry"))
    yield server
    server.close()


class Door:
    """A proxy on this machine's loopback, without a box around it."""

    def __init__(self, registry: Registry, **more: object) -> None:
        self.registry = registry
        caps = more.pop("caps", Caps())
        resolves = more.pop("resolves", {NAME: ["127.0.0.1"]})
        hosts = more.pop("hosts", frozenset({Host(NAME, registry.port)}))
        networks = more.pop("networks", LOOPBACK)
        through = more.pop("through", None)
        rules = Rules(hosts, frozenset({registry.port, 443}), networks, {}, caps, through)  # type: ignore[arg-type]
        self.told: dict[int, Reached] = {}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)

        def resolve(name: str, port: int) -> list[str]:
            if name not in resolves:  # type: ignore[operator]
                raise OSError("unknown")
            return resolves[name]  # type: ignore[index, no-any-return]

        proxy = Proxy(rules, self.told.__setitem__, resolve)
        threading.Thread(target=proxy.serve, args=(self.listener,), daemon=True).start()

    def knock(self) -> socket.socket:
        return socket.create_connection(self.listener.getsockname(), 10)

    def asks(self, said: bytes) -> bytes:
        """What comes back for these bytes until the end."""
        with self.knock() as client:
            client.sendall(said)
            return rest_of(client)

    def connects(self, target: str = "") -> socket.socket:
        client = self.knock()
        client.sendall(f"CONNECT {target or f'{NAME}:{self.registry.port}'} HTTP/1.1\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200"), self.told
        return client

    def last(self) -> Reached:
        """What was told last, once it was told."""
        until = time.monotonic() + 10
        while not self.told and time.monotonic() < until:
            time.sleep(0.01)
        return self.told[max(self.told)]


def rest_of(client: socket.socket) -> bytes:
    said = b""
    with suppress(OSError):
        while chunk := client.recv(65536):
            said += chunk
    return said


@pytest.fixture
def door(registry: Registry) -> Iterator[Callable[..., Door]]:
    doors: list[Door] = []

    def make(**more: object) -> Door:
        doors.append(Door(registry, **more))
        return doors[-1]

    yield make
    for one in doors:
        one.listener.close()


@functools.cache
def greeting(name: str | None) -> bytes:
    """What a real TLS client says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(into, out, server_hostname=name).do_handshake()
    return out.read()


def with_extension(hello: bytes, kind: int, content: bytes) -> bytes:
    """The greeting with one more extension at its end, all lengths put right."""
    extra = struct.pack("!HH", kind, len(content)) + content
    body = bytearray(hello[9:])
    at = 34
    at += 1 + body[at]
    at += 2 + int.from_bytes(body[at : at + 2], "big")
    at += 1 + body[at]
    length = int.from_bytes(body[at : at + 2], "big") + len(extra)
    body[at : at + 2] = length.to_bytes(2, "big")
    message = b"\x01" + (len(body) + len(extra)).to_bytes(3, "big") + bytes(body) + extra
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


# -- what is let through ---------------------------------------------------------------------------------------------


def test_the_listed_host_is_reached_and_both_directions_are_counted(door: Callable[..., Door]) -> None:
    way = door()
    context = ssl.create_default_context(cafile=str(way.registry.certificate))
    with context.wrap_socket(way.connects(), server_hostname=NAME) as talk:
        talk.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert rest_of(talk).endswith(b"the package")  # type: ignore[arg-type]
    until = time.monotonic() + 10
    while not way.last().down_bytes and time.monotonic() < until:
        time.sleep(0.01)
    one = way.last()
    assert (one.target, one.refused) == (f"{NAME}:{way.registry.port}", "")
    assert 200 < one.up_bytes < 5_000 and one.down_bytes > len("the package")


def test_where_there_is_another_way_out_it_is_taken_and_has_its_own_word(door: Callable[..., Door]) -> None:
    further = door()
    way = door(through=further.listener.getsockname(), resolves={}, networks=())
    context = ssl.create_default_context(cafile=str(way.registry.certificate))
    with context.wrap_socket(way.connects(), server_hostname=NAME) as talk:
        talk.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert rest_of(talk).endswith(b"the package")  # type: ignore[arg-type]
    assert further.last().refused == ""
    strict = door(hosts=frozenset({Host("evil.test")}))
    way = door(through=strict.listener.getsockname(), resolves={}, networks=())
    with suppress(OSError), context.wrap_socket(way.connects(), server_hostname=NAME):
        raise AssertionError("the next one does not list it")
    assert (way.last().refused, strict.last().refused) == (NOT_REACHED, NOT_LISTED)


# -- the forms of sandbox 5.7, each refused and told -----------------------------------------------------------------

P = "{port}"
FORMS = {
    "another host": f"CONNECT evil.test:{P} HTTP/1.1", "a host below it": f"CONNECT x.{NAME}:{P} HTTP/1.1",
    "a host with it in front": f"CONNECT {NAME}.evil.test:{P} HTTP/1.1", "another port": f"CONNECT {NAME}:80 HTTP/1.1",
    "an address": f"CONNECT 127.0.0.1:{P} HTTP/1.1", "an address as a number": f"CONNECT 2130706433:{P} HTTP/1.1",
    "an address in hexadecimal": f"CONNECT 0x7f.1:{P} HTTP/1.1", "an IPv6 address": f"CONNECT [::1]:{P} HTTP/1.1",
    "a zone": f"CONNECT [fe80::1%25lo]:{P} HTTP/1.1", "a null byte": f"CONNECT {NAME}\0.evil.test:{P} HTTP/1.1",
    "a dot at the end": f"CONNECT {NAME}.:{P} HTTP/1.1", "a user": f"CONNECT {NAME}@evil.test:{P} HTTP/1.1",
    "percent signs": f"CONNECT registry%2Eexample.test:{P} HTTP/1.1", "a plain GET": f"GET http://{NAME}:{P}/ HTTP/1.1",
    "another version": f"CONNECT {NAME}:{P} HTTP/2.0", "no version": f"CONNECT {NAME}:{P}",
    "a tab": f"CONNECT\t{NAME}:{P} HTTP/1.1", "one label": f"CONNECT localhost:{P} HTTP/1.1",
    "a port with a zero before it": f"CONNECT {NAME}:0{P} HTTP/1.1", "no port": f"CONNECT {NAME} HTTP/1.1",
    "a letter that looks alike": f"CONNECT rеgistry.example.test:{P} HTTP/1.1",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_26_every_other_form_of_asking_is_refused(door: Callable[..., Door], form: str) -> None:
    way = door()
    came = way.registry.came
    answer = way.asks((FORMS[form].format(port=way.registry.port) + "\r\n\r\n").encode())
    assert answer == b"" or answer.startswith(b"HTTP/1.1 403")
    assert way.last().refused and way.registry.came == came
    assert way.last().target.isprintable()


def test_26_socks_and_ssh_and_noise_are_refused(door: Callable[..., Door]) -> None:
    for said in (b"\x05\x01\x00\r\n\r\n", b"\x04\x01\x01\xbb\x7f\0\0\x01x\0\r\n\r\n", b"\xff" * 300 + b"\r\n\r\n"):
        way = door()
        assert way.asks(said).startswith(b"HTTP/1.1 403") and "no plain request" in way.last().refused
    way = door()
    with way.connects() as client:
        client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
        rest_of(client)
    assert way.last().refused == "it is not TLS"


def test_the_upper_case_of_a_listed_host_is_that_host(door: Callable[..., Door]) -> None:
    way = door()
    way.connects(f"{NAME.upper()}:{way.registry.port}").close()


@pytest.mark.parametrize(("name", "reason"), [
    ("other.example.test", "inside it asks for another host"), (None, "it names no host"),
    (f"x.{NAME}", "inside it asks for another host"),
])  # fmt: skip
def test_26_the_name_inside_is_the_name_outside_or_nothing_is_dialled(
    door: Callable[..., Door], name: str | None, reason: str
) -> None:
    way = door()
    came = way.registry.came
    with way.connects() as client:
        client.sendall(greeting(name))
        rest_of(client)
    assert reason in way.last().refused and way.registry.came == came


def test_26_a_hidden_name_is_refused(door: Callable[..., Door]) -> None:
    way = door()
    with way.connects() as client:
        client.sendall(with_extension(greeting(NAME), 0xFE0D, b"\0" * 20))
        rest_of(client)
    assert way.last().refused == "it hides the name of its host"


def test_what_is_said_before_the_answer_is_refused(door: Callable[..., Door]) -> None:
    way = door()
    target = f"CONNECT {NAME}:{way.registry.port} HTTP/1.1\r\n\r\n".encode()
    assert way.asks(target + greeting(NAME)).startswith(b"HTTP/1.1 403")
    assert "before it was answered" in way.last().refused


# -- addresses ---------------------------------------------------------------------------------------------------------

RESERVED = (
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.0.192", "168.63.129.16", "198.18.0.1",
    "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1", "::7f00:1",
    "2001:0:7f00:1:0:0:80ff:fffe", "64:ff9b:1::a00:1", "2001:db8::1",
)  # fmt: skip


@pytest.mark.parametrize("address", RESERVED)
def test_26_an_address_that_is_not_public_is_not_dialled(door: Callable[..., Door], address: str) -> None:
    assert why_not(address, ())
    way = door(networks=(), resolves={NAME: [address]})
    assert way.asks(f"CONNECT {NAME}:{way.registry.port} HTTP/1.1\r\n\r\n".encode()).startswith(b"HTTP/1.1 403")
    assert "is not a public address" in way.last().refused


def test_only_the_operator_makes_an_exception_and_only_for_that_range() -> None:
    assert why_not("10.1.2.3", read_networks(["10.1.0.0/16"])) == ""
    assert why_not("10.2.2.3", read_networks(["10.1.0.0/16"]))
    assert why_not("::ffff:10.1.2.3", read_networks(["10.1.0.0/16"])), "another form is another address"
    with pytest.raises(ValueError, match="host bits"):
        read_networks(["10.1.2.3/16"])


def test_a_public_address_is_dialled_as_it_was_checked_and_a_reserved_one_beside_it_is_dropped() -> None:
    answers = iter([["93.184.216.34", "10.0.0.1", "2606:2800:220:1::1"], ["10.0.0.1"]])
    found = checked_addresses(NAME, 443, lambda *_: next(answers), ())
    assert found == ("93.184.216.34", "2606:2800:220:1::1")
    with pytest.raises(NoAddress, match="not a public address"):
        checked_addresses(NAME, 443, lambda *_: next(answers), ())
    with pytest.raises(NoAddress, match="no address"):
        checked_addresses(NAME, 443, lambda *_: [], ())
    with pytest.raises(NoAddress, match="plain address"):
        checked_addresses(NAME, 443, lambda *_: ["127.1"], ())


@given(st.ip_addresses())
def test_no_address_that_carries_a_reserved_one_is_good(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if why_not(str(address), ()) == "":
        assert address.is_global and not address.is_multicast


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_27_one_who_says_little_by_little_is_cut_off(door: Callable[..., Door]) -> None:
    way = door(caps=Caps(opening_seconds=0.3))
    with way.knock() as client:
        for _ in range(200):
            if way.told:
                break
            with suppress(OSError):
                client.sendall(b"x")
            time.sleep(0.05)
        assert way.told, "each letter was given the whole time anew"
    assert "too long to say" in way.last().refused
    way = door(caps=Caps(opening_seconds=0.3))
    with way.connects() as client:
        client.sendall(greeting(NAME)[:20])
        rest_of(client)
    assert "too long to say" in way.last().refused


def test_an_endless_request_is_cut_off(door: Callable[..., Door]) -> None:
    way = door()
    with way.knock() as client, suppress(OSError):
        client.sendall(f"CONNECT {NAME}:1 HTTP/1.1\r\n".encode() + b"x: y\r\n" * 5_000)
        rest_of(client)
    assert "too long" in way.last().refused


def test_more_connections_than_may_be_are_closed_at_once(door: Callable[..., Door]) -> None:
    way = door(caps=Caps(connections=3, total_connections=200))
    held = [way.connects() for _ in range(3)]
    for _ in range(20):
        with way.knock() as client:
            assert client.recv(10) == b""
    assert [one.refused for one in way.told.values()].count("too many connections at once") == 20
    for one in held:
        one.close()


def test_a_run_makes_no_more_connections_than_one_run_may(door: Callable[..., Door]) -> None:
    way = door(caps=Caps(total_connections=5))
    for _ in range(5):
        way.asks(b"GET / HTTP/1.1\r\n\r\n")
    with suppress(OSError), way.knock() as client:
        client.settimeout(0.3)
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert client.recv(10) == b""
    assert way.told[5].refused == "too many connections in one run"


@pytest.mark.parametrize(("cap", "reason"), [("up_bytes", "bytes were sent"), ("down_bytes", "bytes came")])
def test_27_what_goes_out_and_what_comes_in_is_bounded_for_the_whole_run(
    door: Callable[..., Door], cap: str, reason: str
) -> None:
    way = door(caps=Caps(**{cap: 10_000}))
    way.registry.body = b"x" * 6_000
    context = ssl.create_default_context(cafile=str(way.registry.certificate))
    for _ in range(2):
        with suppress(OSError), context.wrap_socket(way.connects(), server_hostname=NAME) as talk:
            talk.sendall(b"GET / HTTP/1.1\r\nx: " + b"y" * 6_000 + b"\r\n\r\n")
            rest_of(talk)  # type: ignore[arg-type]
    until = time.monotonic() + 10
    while reason not in str(way.told) and time.monotonic() < until:
        time.sleep(0.01)
    assert reason in way.told[1].refused and not way.told[0].refused
    way.registry.body = b"the package"


# -- the greeting and the list ----------------------------------------------------------------------------------------


def test_the_greeting_of_a_real_client_is_read_whole_in_pieces_and_in_several_records() -> None:
    hello = greeting(NAME)
    assert wanted_name(hello) == NAME
    for end in range(len(hello)):
        with pytest.raises(NeedMore):
            wanted_name(hello[:end])
    body = hello[5:]
    split = b"".join(
        b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in (body[:3], body[3:50], body[50:])
    )
    assert wanted_name(split) == NAME


@given(st.binary(max_size=200), st.integers(0, 600), st.integers(0, 255))
def test_any_bytes_are_a_name_or_more_or_refused(noise: bytes, at: int, byte: int) -> None:
    hello = bytearray(greeting(NAME))
    hello[at % len(hello)] = byte
    for said in (noise, bytes(hello), b"\x16\x03\x01" + noise):
        with suppress(NeedMore, NotTls):
            assert isinstance(wanted_name(said), str)


def test_two_names_and_odd_names_are_refused() -> None:
    named = greeting(NAME)
    entry = b"\0" + len(NAME).to_bytes(2, "big") + NAME.encode()
    for content in (
        (2 * len(entry)).to_bytes(2, "big") + 2 * entry, len(entry).to_bytes(2, "big") + entry + b"x",
        b"\0\4\0\0\1\xff", b"\0\4\1\0\1a", b"\0\\9",
    ):  # fmt: skip
        with pytest.raises(NotTls):
            wanted_name(with_extension(greeting(None), 0, content))
    with pytest.raises(NotTls, match="several"):
        wanted_name(with_extension(named, 0, len(entry).to_bytes(2, "big") + entry))


@pytest.mark.parametrize("text", [
    "a.test:x", "a.test:0", "a.test:99999", "a.test:443:1", "*.a.test", "a", "127.0.0.1", "[::1]", "a..test", "-a.test",
    "a.test.", "a_b.test", "é.test", "a.1", "", ":443", "a.test/x", "u@a.test", "a.test\n", "a" * 250 + ".test",
])  # fmt: skip
def test_what_is_not_the_full_name_of_a_host_cannot_be_listed(text: str) -> None:
    if text == "a.test\n":
        assert read_host(text) == Host("a.test")
        return
    with pytest.raises(NotAHost):
        read_host(text)


def test_rules_reach_the_process_as_they_are() -> None:
    rules = Rules(
        frozenset({Host("a.test"), Host("b.test", 8443)}), frozenset({443, 8443}), LOOPBACK, {"a.test": ("1",)},
        through=("way.test", 3128),
    )  # fmt: skip
    assert Rules.from_json(rules.to_json()) == rules
    assert rules.allows(Host("b.test", 8443)) and not rules.allows(Host("b.test"))
    assert not Rules(frozenset({Host("a.test", 22)})).allows(Host("a.test", 22)), "a port needs the operator's word"


# -- in the box --------------------------------------------------------------------------------------------------------

FETCH = """
import json, os, socket, ssl, sys, urllib.request
found = {}
context = ssl.create_default_context(cafile="/work/registry.pem")
def attempt(name, deed):
    try: found[name] = deed()
    except Exception as error: found[name] = type(error).__name__
def fetch(url):
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
    return opener.open(url, timeout=10).read().decode()
"""


@pytest.fixture
def way_out(registry: Registry) -> Box:
    """A box whose operator lets install runs reach the registry of the tests."""
    settings = BoxSettings(
        ports=frozenset({443, registry.port}),
        networks=LOOPBACK,
        names={NAME: ("127.0.0.1",), "other.test": ("127.0.0.1",)},
    )
    opened = open_box(settings)
    assert isinstance(opened, Box), str(opened)
    return opened


@pytest.mark.needs_userns
class TestInTheBox:
    @pytest.fixture
    def install(self, way_out: Box, registry: Registry, open_tree: Path) -> Callable[..., Ran]:
        (open_tree / "registry.pem").write_bytes(registry.authority())

        def run(text: str, seconds: float = 30, **more: object) -> Ran:
            hosts = more.pop("hosts", frozenset({Host(NAME, registry.port)}))
            words = ("/usr/bin/python3", "-c", f"{FETCH}\n{text}\nprint(json.dumps(found))")
            command = Command(words, seconds, Profile.INSTALL, hosts=hosts, **more)  # type: ignore[arg-type]
            ran = way_out.run(open_tree, command)
            assert isinstance(ran, Ran), ran
            return ran

        return run

    def test_the_listed_host_is_reached_and_nothing_else(self, install: Callable[..., Ran], registry: Registry) -> None:
        came = registry.came
        ran = install(
            f"attempt('listed', lambda: fetch('https://{NAME}:{registry.port}/'))\n"
            f"attempt('not listed', lambda: fetch('https://other.test:{registry.port}/'))\n"
            f"attempt('direct', lambda: socket.create_connection(('127.0.0.1', {registry.port}), 3))\n"
            "attempt('names', lambda: socket.getaddrinfo('example.test', 443))\n"
            "found['interfaces'] = [line.split(':')[0].strip() for line in list(open('/proc/net/dev'))[2:]]\n"
        )
        assert json.loads(ran.output) == {
            "listed": "the package", "not listed": "URLError", "direct": "ConnectionRefusedError", "names": "gaierror",
            "interfaces": ["lo"],
        }  # fmt: skip
        assert registry.came == came + 1
        assert [(one.target, bool(one.refused)) for one in ran.reached] == [
            (f"{NAME}:{registry.port}", False),
            (f"other.test:{registry.port}", True),
        ]
        assert ran.reached[0].down_bytes > 0

    def test_without_a_list_there_is_no_listener(self, install: Callable[..., Ran]) -> None:
        text = "attempt('proxy', lambda: socket.create_connection(('127.0.0.1', 3128), 3))\n"
        text += "found['variables'] = [name for name in os.environ if 'proxy' in name.lower()]"
        ran = install(text, hosts=frozenset())
        assert json.loads(ran.output) == {"proxy": "ConnectionRefusedError", "variables": []} and ran.reached == ()

    def test_a_program_that_does_not_heed_the_variables_reaches_nothing(
        self, install: Callable[..., Ran], registry: Registry
    ) -> None:
        came = registry.came
        ran = install(
            "for name in list(os.environ):\n    if 'proxy' in name.lower(): del os.environ[name]\n"
            f"attempt('listed', lambda: fetch('https://{NAME}:{registry.port}/'))"
        )
        assert json.loads(ran.output) == {"listed": "URLError"} and registry.came == came

    def test_what_an_install_made_stays_and_the_rest_is_gone(
        self, install: Callable[..., Ran], open_tree: Path, registry: Registry
    ) -> None:
        made = open_tree.parent / "made"
        made.mkdir()
        ran = install(
            f"open('/made/package', 'w').write(fetch('https://{NAME}:{registry.port}/'))\nopen('/work/left', 'w')",
            made=made,
        )
        assert ran.exit_status == 0, ran.output
        assert [(path.name, path.read_text()) for path in made.iterdir()] == [("package", "the package")]
        assert not (open_tree / "left").exists()

    def test_what_an_install_makes_is_bounded(self, install: Callable[..., Ran], open_tree: Path) -> None:
        made = open_tree.parent / "made"
        made.mkdir()
        text = """
import time
for n in range(99):
    with open(f"/made/{n}", "wb") as file: os.posix_fallocate(file.fileno(), 0, 400 << 20)
    time.sleep(0.3)
"""
        assert install(text, made=made, hosts=frozenset()).ended is Ended.DISK

    def test_scripts_of_packages_are_off_unless_the_command_says_otherwise(self, install: Callable[..., Ran]) -> None:
        ran = install(
            "found = {name: value for name, value in os.environ.items() if 'SCRIPT' in name or 'ONLY' in name}"
        )
        assert json.loads(ran.output) == {
            "NPM_CONFIG_IGNORE_SCRIPTS": "true", "PIP_ONLY_BINARY": ":all:", "YARN_ENABLE_SCRIPTS": "false",
        }  # fmt: skip

    def test_27_a_thousand_connections_end_nothing_but_themselves(
        self, install: Callable[..., Ran], registry: Registry
    ) -> None:
        ran = install(
            "held = []\nfor _ in range(1000):\n    attempt('last', lambda: held.append("
            "socket.create_connection(('127.0.0.1', 3128), 5)))\n"
            "for one in held: one.close()\nimport time; time.sleep(1)\nfound = {}\n"
            f"attempt('listed', lambda: fetch('https://{NAME}:{registry.port}/'))"
        )
        assert json.loads(ran.output)["listed"] == "the package"
        assert sum(one.refused == "too many connections at once" for one in ran.reached) > 500

    def test_nothing_of_the_proxy_is_left_after_a_run(self, install: Callable[..., Ran]) -> None:
        install("import time; time.sleep(30)", seconds=1)
        assert proxies() == 0
        assert end_orphans(account_for_the_box()) == 0  # type: ignore[arg-type]


def proxies() -> int:
    listed = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    return listed.count("worker.box.egress.process")


@pytest.mark.needs_userns
def test_nothing_of_the_proxy_is_left_where_the_command_could_not_begin(way_out: Box, open_tree: Path) -> None:
    impossible = {"/work/nowhere/at/all": "/tmp"}
    command = Command(("true",), 20, Profile.INSTALL, links=impossible, hosts=frozenset({Host(NAME)}))
    assert isinstance(way_out.run(open_tree, command), BoxUnavailable)
    assert proxies() == 0


@pytest.mark.parametrize("profile", [profile for profile in Profile if profile is not Profile.INSTALL])
def test_no_other_profile_reaches_anything(profile: Profile) -> None:
    for more in ({"hosts": frozenset({Host("a.test")})}, {"environment": {"PIP_INDEX_URL": "x"}}):
        with pytest.raises(ValueError, match=r"only an install run|may not enter"):
            Command(("true",), 5, profile, **more)  # type: ignore[arg-type]


def test_an_address_with_a_password_does_not_enter() -> None:
    with pytest.raises(ValueError, match="a user's name"):
        Command(("true",), 5, Profile.INSTALL, {"PIP_INDEX_URL": "https://me:word@a.test/simple"})
