"""A page of a repository's own site, opened in a real Chromium inside the box."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import leave_out
from worker.box.box import Box, Command, Ended, Ran
from worker.box.page import NotVisited, Visit, chromium_here, visit_of, visiting

PAGE = """<!doctype html><html><head><title>Wares</title><link rel="stylesheet" href="missing.css"></head>
<body><h1>Wares</h1><img src="https://elsewhere.test/x.png"><p id="made"></p>
<script>
console.log('two\\nlines');
console.error('told', 3);
setTimeout(() => { document.getElementById('made').textContent = 'made by script for ' + location.hash; }, 300);
fetch('/api').catch(() => {});
noSuchFunction();
</script></body></html>"""


@pytest.fixture
def site(tree: Path) -> Path:
    """A tree with a site in its folder `docs`."""
    (tree / "docs").mkdir()
    (tree / "docs/index.html").write_text(PAGE)
    (tree / "docs/ok.js").write_text("document.title = 'ran';")
    return tree


def opened(box: Box, tree: Path, target: str = "index.html", seconds: int = 25) -> Visit | NotVisited:
    chromium = chromium_here()
    if chromium is None:
        leave_out("Chromium is not installed (apt-get install chromium-headless-shell).")
        raise AssertionError
    ran = box.run(tree, visiting(chromium, "docs", target, seconds))
    assert isinstance(ran, Ran), ran
    return visit_of(ran)


@pytest.mark.needs_userns
class TestInTheBox:
    def test_console_errors_failed_requests_and_the_page_as_it_stands_at_the_end(self, box: Box, site: Path) -> None:
        visit = opened(box, site, "index.html?a=1#there")
        assert isinstance(visit, Visit), visit
        assert [one.text for one in visit.messages if one.is_uncaught] == [
            "Uncaught ReferenceError: noSuchFunction is not defined"
        ]
        assert [one.text for one in visit.messages if not one.is_uncaught] == ["two\nlines", "told 3"]
        assert visit.messages[0].source == "/index.html?a=1" and visit.messages[0].line == 4
        failed = {one.url: one.failed or one.status for one in visit.requests if one.failed or one.status >= 400}
        assert failed == {"/missing.css": 404, "/api": 404, "https://elsewhere.test/x.png": "ERR_NAME_NOT_RESOLVED"}
        assert "made by script for #there" in visit.html and visit.finished
        assert visit.screenshot.startswith(b"\x89PNG")

    def test_nothing_outside_of_the_site_is_served(self, box: Box, site: Path) -> None:
        (site / "secret.txt").write_text("a file of the tree beside the site")
        (site / "docs/index.html").write_text(
            "<p id=p></p><script>for (const path of ['../secret.txt', '/../secret.txt', '/%2e%2e/secret.txt', "
            "'file:///work/secret.txt', 'file:///etc/passwd'])"
            "fetch(path).then(r => r.ok && r.text()).then(t => { if (t) p.append(t) }).catch(() => {});</script>"
        )
        visit = opened(box, site)
        assert isinstance(visit, Visit), visit
        assert "beside the site" not in visit.html and "root:x" not in visit.html
        assert len([one for one in visit.requests if one.status == 404]) >= 3

    @pytest.mark.slow
    def test_a_page_that_never_rests_is_told_as_it_then_was_or_not_at_all(self, box: Box, site: Path) -> None:
        (site / "docs/index.html").write_text("<h1>Begun</h1><script>while (true) {}</script>")
        visit = opened(box, site, seconds=2)
        assert isinstance(visit, NotVisited) or not visit.finished

    def test_a_page_that_is_not_there_is_told_by_its_request(self, box: Box, site: Path) -> None:
        visit = opened(box, site, "nowhere.html")
        assert isinstance(visit, Visit), visit
        assert [(one.url, one.status) for one in visit.requests] == [("/nowhere.html", 404)]

    def test_nothing_of_a_visit_stays_in_the_tree(self, box: Box, site: Path) -> None:
        before = sorted(path.name for path in site.rglob("*"))
        opened(box, site)
        assert sorted(path.name for path in site.rglob("*")) == before

    def test_a_chromium_that_does_not_start_is_no_visit(self, box: Box, site: Path) -> None:
        for program in ("/usr/bin/true", "/usr/bin/no-such-chromium"):
            command = visiting(program, "docs", "index.html")
            ran = box.run(site, Command(command.argv, 20, command.profile, {}, command.tools))
            assert isinstance(ran, Ran) and isinstance(visit_of(ran), NotVisited)


def a_run(output: bytes, ended: Ended = Ended.EXITED) -> Ran:
    return Ran(ended, 0 if ended is Ended.EXITED else None, output, 0, 1.0, 1.0, None, "soft")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["dom", "messages", "requests", "more", "screenshot", "status", "text", "url", "line"]), inner, max_size=5),
    max_leaves=15))  # fmt: skip
def test_whatever_comes_out_of_the_box_is_read_without_an_error(told: object) -> None:
    visit = visit_of(a_run(json.dumps(told).encode()))
    assert isinstance(visit, Visit | NotVisited)


def test_a_run_that_was_ended_is_no_visit_whatever_it_said() -> None:
    whole = json.dumps({"dom": "<p>", "status": 0}).encode()
    assert isinstance(visit_of(a_run(whole)), Visit)
    assert isinstance(visit_of(a_run(whole, Ended.TIMEOUT)), NotVisited)
    assert isinstance(visit_of(a_run(b"")), NotVisited)


def test_only_a_chromium_that_the_box_can_read_is_offered(tmp_path: Path) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/chrome").touch()
    assert chromium_here(tmp_path / "usr/bin") is None
    (tmp_path / "usr/bin/google-chrome").symlink_to(tmp_path / "opt/chrome")
    assert chromium_here(tmp_path / "usr/bin") is None
    (tmp_path / "usr/bin/chromium").touch()
    assert chromium_here(tmp_path / "usr/bin") == str(tmp_path / "usr/bin/chromium")
