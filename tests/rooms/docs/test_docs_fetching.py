"""Pages over real https on loopback: which are read, and at which door the others are refused."""

import socket
import threading
from pathlib import Path

import pytest

from app.core.documentation import DocsReach
from app.core.verdict import Refused
from tests.rooms.docs.conftest import Host
from worker.docs.fetching import MOST_BYTES, MOST_REDIRECTS, Documentation
from worker.docs.page import Page, address_of
from worker.docs.text import MOST_TAGS

HELLO = "<title>Retrying</title><h1>Retry</h1><p>Use <code>retries=3</code>.</p>"


def refusal(answer: Page | Refused) -> str:
    assert isinstance(answer, Refused), answer
    return str(answer)


def test_a_page_is_read_under_its_own_name_at_the_address_that_was_looked_up_once(host: Host) -> None:
    host.serve("/retry?v=2", HELLO)
    page = host.documentation("docs.test").read(host.url("/retry?v=2#x"))
    assert isinstance(page, Page)
    assert (page.title, page.text) == ("Retrying", "# Retry\n\nUse `retries=3`.")
    assert str(page.address) == host.url("/retry?v=2")
    assert host.asked == [("/retry?v=2", "docs.test", f"docs.test:{host.port}")]
    assert host.looked_up == ["docs.test"]


def test_nothing_is_sent_that_says_who_asks(host: Host) -> None:
    host.serve("/", HELLO)
    host.documentation("docs.test").read(host.url("/"))
    assert host.headers[0].keys() == {"host", "user-agent", "accept", "accept-encoding"}
    assert host.headers[0]["accept-encoding"] == "identity"


def test_the_machines_own_resolver_is_asked_where_no_other_is_given(host: Host) -> None:
    host.serve("/", HELLO)
    assert host.papers is not None
    reach, url = host.reach("localhost", networks="127.0.0.0/8"), host.url("/", "localhost")
    assert isinstance(Documentation(reach, host.papers.authority).read(url), Page)
    unlisted = DocsReach(reach.hosts)
    assert "is not a public address" in refusal(Documentation(unlisted, host.papers.authority).read(url))


@pytest.mark.parametrize(("url", "words"), [
    ("https://other.test/", "The host other.test is not on the list. The hosts are: docs.test:"),
    ("https://docs.test/", "The host docs.test is not on the list"),
    ("http://docs.test:{port}/", "over https only"),
    ("ftp://docs.test:{port}/", "over https only"),
    ("file:///etc/passwd", "over https only"),
    ("docs.test:{port}/", "over https only"),
    ("//docs.test:{port}/", "over https only"),
    ("https://mira@docs.test:{port}/", "user name"),
    ("https://docs.test:{port}@other.test/", "user name"),
    ("https://docs.test.:{port}/", "not on the list"),
    ("https://a.docs.test:{port}/", "not on the list"),
    ("https://docs.test:{port}.other.test/", "no address of a page"),
    ("https://docs.test\\@other.test/", "no address of a page"),
    ("https://docs.test:{port}/a b", "no address of a page"),
    ("https://docs.test:{port}/\r\nX: y", "no address of a page"),
    ("https://[::1", "no address of a page"),
    ("https://", "not on the list"),
    ("https://docs.test:{port}/" + "x" * 2_000, "no address of a page"),
])  # fmt: skip
def test_an_address_that_is_not_listed_to_the_letter_is_not_even_looked_up(host: Host, url: str, words: str) -> None:
    assert words in refusal(host.documentation("docs.test").read(url.replace("{port}", str(host.port))))
    assert (host.looked_up, host.asked) == ([], [])


PRIVATE = ["10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1%lo", "::1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_name_that_means_an_address_which_is_not_public_is_not_connected_to(host: Host, address: str) -> None:
    host.names["docs.test"] = [address]
    words = refusal(host.documentation("docs.test").read(host.url("/")))
    assert words.startswith("docs.test is not connected to: ") and host.asked == []


def test_a_name_that_means_something_else_the_second_time_leads_nowhere(host: Host) -> None:
    host.names["docs.test"] = ["127.0.0.1", "10.0.0.1"]
    host.serve("/", HELLO)
    host.redirect("/again", "/")
    documentation = host.documentation("docs.test")
    assert "10.0.0.1 is not a public address" in refusal(documentation.read(host.url("/again")))
    assert [path for path, _, _ in host.asked] == ["/again"]
    assert host.looked_up == ["docs.test", "docs.test"], "each connection asks once, and goes where the answer said"


def test_of_several_addresses_only_those_that_may_be_are_tried(host: Host) -> None:
    host.serve("/", HELLO)
    documentation = host.documentation("docs.test")
    several = Documentation(documentation.reach, documentation.authorities, lambda *_: ["10.0.0.1", "127.0.0.1"])
    assert isinstance(several.read(host.url("/")), Page)


def test_redirects_within_the_list_are_followed_and_keep_the_part_that_was_asked_for(host: Host) -> None:
    host.redirect("/old", "/new/", 301)
    host.redirect("/new/", host.url("/final#there", "wiki.test"), 308)
    host.serve("/final", "<p>a</p><h2 id=there>There</h2>")
    page = host.documentation("docs.test", "wiki.test").read(host.url("/old#here"))
    assert isinstance(page, Page) and page.address.part == "there" and page.start == 3
    assert [name for _, name, _ in host.asked] == ["docs.test", "docs.test", "wiki.test"]
    host.redirect("/old", "/final", 301)
    kept = host.documentation("docs.test").read(host.url("/old#there"))
    assert isinstance(kept, Page) and kept.address.part == "there"


@pytest.mark.parametrize(("to", "words"), [
    ("http://docs.test/", "over https only"),
    ("https://wiki.test/", "The host wiki.test is not on the list"),
    ("//wiki.test/", "The host wiki.test is not on the list"),
    ("https://169.254.169.254/latest/meta-data/", "The host 169.254.169.254 is not on the list"),
    ("https://127.0.0.1:{port}/", "is not on the list"),
    ("file:///etc/passwd", "over https only"),
    ("", "more than 4 times"),
])  # fmt: skip
def test_a_redirect_out_of_the_list_is_refused_by_where_it_leads(host: Host, to: str, words: str) -> None:
    host.redirect("/", to.replace("{port}", str(host.port)))
    told = refusal(host.documentation("docs.test").read(host.url("/")))
    assert words in told
    assert {path for path, _, _ in host.asked} == {"/"}


def test_a_redirect_to_a_listed_name_with_a_private_address_is_refused(host: Host) -> None:
    host.names["wiki.test"] = ["192.168.0.7"]
    host.redirect("/", host.url("/", "wiki.test"))
    told = refusal(host.documentation("docs.test", "wiki.test").read(host.url("/")))
    assert told == "wiki.test is not connected to: 192.168.0.7 is not a public address."


def test_redirects_are_followed_a_bounded_number_of_times(host: Host) -> None:
    for number in range(10):
        host.redirect(f"/{number}", f"/{number + 1}")
    assert "more than 4 times" in refusal(host.documentation("docs.test").read(host.url("/0")))
    assert len(host.asked) == MOST_REDIRECTS + 1


def test_a_certificate_for_another_name_or_of_a_stranger_is_refused(host: Host, tmp_path: Path) -> None:
    host.serve("/", HELLO)
    host.names["other.test"] = ["127.0.0.1"]
    told = refusal(host.documentation("other.test").read(host.url("/", "other.test")))
    assert "other.test could not be read: " in told and "certificate" in told
    documentation = host.documentation("docs.test")
    stranger = Documentation(documentation.reach, None, documentation.look_up)
    assert "certificate" in refusal(stranger.read(host.url("/")))
    assert host.asked == []


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "application/octet-stream", "application/json", ""])
def test_what_is_neither_page_nor_text_is_not_read(host: Host, kind: str) -> None:
    host.serve("/", b"\0\1", kind)
    assert "only pages and plain texts are read" in refusal(host.documentation("docs.test").read(host.url("/")))


def test_a_compressed_answer_that_nobody_asked_for_is_not_unpacked(host: Host) -> None:
    host.serve("/", b"\x1f\x8b", **{"Content-Encoding": "gzip"})
    assert "compressed" in refusal(host.documentation("docs.test").read(host.url("/")))


def test_a_page_that_is_too_large_or_too_intricate_is_refused(host: Host) -> None:
    host.serve("/large", b"x" * (MOST_BYTES + 1), "text/plain")
    host.serve("/intricate", b"<b>" * (MOST_TAGS + 1))
    host.serve("/right", b"x" * 1_000_000, "text/plain")
    documentation = host.documentation("docs.test")
    assert f"more than {MOST_BYTES:,} bytes" in refusal(documentation.read(host.url("/large")))
    assert f"more than {MOST_TAGS:,} tags" in refusal(documentation.read(host.url("/intricate")))
    assert isinstance(documentation.read(host.url("/right")), Page)


def test_an_answer_without_end_is_left_where_it_is_too_large(host: Host) -> None:
    host.serve("/", b"", "text/plain")
    host.endless.add("/")
    told = refusal(host.documentation("docs.test", seconds=60.0).read(host.url("/")))
    assert told.endswith(f"has more than {MOST_BYTES:,} bytes.")


def test_a_host_that_drips_its_answer_is_left_at_the_time_limit(host: Host) -> None:
    host.serve("/", b"x" * 10_000, "text/plain")
    host.drips.add("/")
    told = refusal(host.documentation("docs.test", seconds=1.0).read(host.url("/")))
    assert told == "docs.test did not answer within 1 seconds."


def test_what_is_not_there_or_does_not_answer_is_told_in_words(host: Host) -> None:
    documentation = host.documentation("docs.test")
    assert refusal(documentation.read(host.url("/nothing"))).endswith("/nothing was answered with status 404.")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    away = Documentation(host.reach(f"docs.test:{port}"), None, host.look_up)
    assert "docs.test could not be read: " in refusal(away.read(f"https://docs.test:{port}/"))

    def unknown(name: str, port: int) -> list[str]:
        raise socket.gaierror("no such name")

    nameless = Documentation(documentation.reach, None, unknown)
    assert refusal(nameless.read(host.url("/"))) == "docs.test could not be read: the name has no address."


def test_a_server_that_speaks_no_tls_is_told_in_words(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer() -> None:
            line, _ = server.accept()
            line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            line.close()

        threading.Thread(target=answer, daemon=True).start()
        port = server.getsockname()[1]
        plain = Documentation(host.reach(f"docs.test:{port}"), None, host.look_up)
        assert "docs.test could not be read: " in refusal(plain.read(f"https://docs.test:{port}/"))


def test_a_path_is_sent_as_it_was_written_and_odd_signs_are_quoted(host: Host) -> None:
    reach = host.reach("docs.test")
    address = address_of(host.url("/a%20b/ü/;x=1?q=a|b#%C3%BC"), reach)
    assert not isinstance(address, Refused)
    assert (address.target, address.part) == ("/a%20b/%C3%BC/;x=1?q=a%7Cb", "ü")
