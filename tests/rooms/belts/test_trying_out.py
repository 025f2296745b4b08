"""What the planner is told of a run and of a page, and where its bounds are."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.core.belts import Belt
from app.core.verdict import Refused
from worker.belts import browsing, reproducing, trying
from worker.belts.reproduced import MOST_FILES, OUTPUT_CHARACTERS, briefly, told, whole
from worker.box.box import Box, open_box
from worker.box.checks import NamedCheck, PathArguments
from worker.box.command import BoxUnavailable, Ended, Ran
from worker.box.environment import EnvironmentUnavailable
from worker.box.page import Fetched, Message, Visit
from worker.box.trail import Passed, Trail
from worker.evidence.outline import outline
from worker.evidence.trace import Trace
from worker.model.conversation import Answer, Failed
from worker.repo.clone import Clone
from worker.repo.ranking.issue import IssueText
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache

NO_BOX = BoxUnavailable("There is no bubblewrap.", "Install it.")
NOTHING = EnvironmentUnavailable("The index cannot be reached.", "")
FILES = {
    "pyproject.toml": '[project]\nname = "wares"\nversion = "1"\n',
    "wares/__init__.py": "from wares.price import total\n",
    "wares/price.py": "def total(items):\n    return sum(map(rounded, items))\n"
    "def rounded(item):\n    return round(item)\n",
    "wares/plot.py": "def draw(): ...\n",
    "docs/index.html": "<h1>Wares</h1>",
    "docs/guide/first.html": "<h1>First</h1>",
    "alone/page.htm": "<p>Alone</p>",
    "tests/test_price.py": "import unittest\nfrom wares import total\nclass T(unittest.TestCase):\n"
    "    def test_total(self): self.assertEqual(total([1.5, 2.5]), 4)\n",
}


@pytest.fixture
def snapshot(tmp_path: Path) -> Iterator[Snapshot]:
    """The files at a commit."""
    place = tmp_path / "origin"
    for path, text in FILES.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    git = ["git", "-c", "user.name=mira", "-c", "user.email=mira@example.test", "-C", str(place)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *words], check=True, env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"})
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    with Snapshot(Clone(place / ".git"), head) as opened:
        yield opened


@pytest.fixture
def tree(snapshot: Snapshot) -> Iterator[Path]:
    """The snapshot, written where the box's account may reach it."""
    place = Path(tempfile.mkdtemp(prefix="countersign-test-", dir="/var/tmp"))
    place.chmod(0o711)
    snapshot.export(place / "tree")
    yield place / "tree"
    shutil.rmtree(place)


Making = Callable[..., Callable[..., Answer | Failed]]


@pytest.fixture
def tool(snapshot: Snapshot, tree: Path, tmp_path: Path) -> Making:
    """The planner's tool, for an issue with this text and with these ways to a box and to packages."""

    def make(
        body: str = "",
        checks: tuple[NamedCheck, ...] = (),
        box: Callable[[], Box | BoxUnavailable] = open_box,
        prepare: Callable[[set[str], Path], Any] = lambda kinds, place: NOTHING,
    ) -> Callable[..., Answer | Failed]:
        index = IndexCache(tmp_path / "index.db", SymbolCache(tmp_path / "symbols.db"))
        issue = IssueText("The total is wrong", body)
        trace = Trace("a run", Belt.PLANNER)
        place = reproducing.Workplace(tree, snapshot, issue, checks, index, trace, box, prepare)
        handler = reproducing.Reproducing(place).every()["reproduce"][1]

        def ask(**asked: Any) -> Answer | Failed:
            outcome = handler(asked)
            assert isinstance(outcome, Answer | Failed)
            return outcome

        return ask

    return make


@pytest.mark.needs_userns
class TestInTheBox:
    def test_code_is_run_and_its_frames_count_in_the_ranking(self, tool: Making) -> None:
        ask = tool("Nothing to run here, plot.py is not it.")
        before = ask()
        assert isinstance(before, Failed) and "nothing that could be run" in before.text
        answer = ask(code="import wares\nprint(wares.total([1.2, 2.2]))")
        assert isinstance(answer, Answer)
        assert "ended with status 0" in answer.text and "Output:\n3" in answer.text
        assert "\n- wares/price.py: total:1, rounded:3\n" in answer.text
        ranked = answer.text.split("Likeliest files now")[1].splitlines()
        assert ranked[1].startswith("- wares/price.py: ")
        assert "Functions in the order of their first call:" in answer.whole

    def test_the_issues_own_snippet_is_run_with_the_import_that_it_leaves_out(self, tool: Making) -> None:
        ask = tool("```python\ntotal([1.2, 2.2, 'x'])\n```")
        answer = ask()
        assert isinstance(answer, Answer) and "TypeError" in answer.text
        assert "Added, as the repository's own files have it: from wares import total." in answer.text

    def test_a_check_is_run_and_what_it_needs_is_asked_for_once_more(self, tool: Making) -> None:
        check = NamedCheck("unit", ("/usr/bin/python3", "-m", "unittest"), PathArguments.ACCEPTED)
        needy = NamedCheck("pytest", ("/usr/bin/python3", "-m", "pytest"), PathArguments.ACCEPTED, "python")
        ask = tool(checks=(check, needy))
        answer = ask(check="unit", paths=["tests/test_price.py"])
        assert isinstance(answer, Answer) and "Ran unit tests/test_price.py: it ended with status 0" in answer.text
        for asked, reason in (
            ({"check": "make"}, "There is no check 'make'; the checks are: unit, pytest."),
            ({"check": "pytest"}, "What the check pytest needs cannot be prepared: The index cannot be reached."),
            ({"check": "unit", "paths": ["../x"]}, "is not a path inside the repository"),
        ):
            failed = ask(**asked)
            assert isinstance(failed, Failed) and reason in failed.text

    def test_after_the_last_run_there_is_none(self, tool: Making) -> None:
        ask = tool()
        for _ in range(trying.MOST_RUNS):
            assert isinstance(ask(code="1"), Answer)
        last = ask(code="1")
        assert isinstance(last, Failed) and f"All {trying.MOST_RUNS} runs" in last.text

    def test_packages_that_cannot_be_had_are_told_with_every_run(self, tool: Making) -> None:
        answer = tool()(code="import wares")
        assert "The index cannot be reached. The tree alone can be imported." in answer.text

    def test_a_language_without_its_interpreter_is_refused(self, tool: Making) -> None:
        for language in ("php", "ruby"):
            outcome = tool()(code="1", language=language)
            assert ("There is no /usr/bin/" in outcome.text) == isinstance(outcome, Failed)


def test_without_a_box_nothing_is_run_and_the_reason_is_told(tool: Making) -> None:
    failed = tool(box=lambda: NO_BOX)(code="print(1)")
    assert isinstance(failed, Failed)
    assert failed.text == "Nothing can be run here: There is no bubblewrap. Install it. Plan from what the files say."


@pytest.mark.parametrize("asked", [
    {"code": "1", "check": "unit"}, {"language": "python"}, {"paths": ["a"]}, {"check": "unit", "language": "ruby"},
])  # fmt: skip
def test_what_does_not_belong_together_is_not_run(tool: Making, asked: dict[str, Any]) -> None:
    failed = tool(box=lambda: NO_BOX)(**asked)
    assert isinstance(failed, Failed) and "box" not in failed.text and "Nothing can be run" not in failed.text


def tried(output: str = "", ended: Ended = Ended.EXITED, status: int | None = 0, **more: Any) -> trying.Tried:
    ran = Ran(ended, status, output.encode(), 0, 1.25, 1.0, None, "soft")
    return trying.Tried("python a.py", ran, more.pop("trail", Trail()), **more)


@pytest.mark.parametrize(("one", "words"), [
    (tried(status=None, ended=Ended.TIMEOUT), "was ended at its time limit after 1.2 s"),
    (tried(status=None, ended=Ended.MEMORY), "was ended at its memory limit"),
    (tried(status=None, ended=Ended.PIDS), "was ended for starting too many processes"),
    (tried(status=None, ended=Ended.OUTPUT), "was ended for putting out too much"),
    (tried(status=139), "ended with status 139, which is signal 11"), (tried(status=1), "ended with status 1 after"),
])  # fmt: skip
def test_how_it_ended_is_told(one: trying.Tried, words: str) -> None:
    assert words in told(one) and words in briefly(one)


def test_what_it_went_through_is_told_with_the_traceback_first_and_bounded() -> None:
    passed = [Passed(f"a/{n:03}.py", f"f{k}", k, 10**k) for n in range(60) for k in range(1, 12)]
    trail = Trail((*passed, Passed("a/late.py", "at_import", 1, 1, loading=True)), ("a/late.py", "a/000.py"), cut=True)
    output = 'Traceback (most recent call last):\n  File "/work/a/059.py", line 3, in f1\nValueError: no\n'
    text = told(tried(output, status=1, trail=trail))
    lines = text.split("It went through 60 files")[1].splitlines()
    assert lines[1].startswith("- a/059.py: f1:1 ×10, f2:2 ×100") and "and 3 more" in lines[1]
    assert lines[2].startswith("- a/000.py") and lines[MOST_FILES + 1] == f"- and {60 - MOST_FILES} more files"
    assert "Its record is cut" in text and "it loaded 1 file and called nothing" in text
    assert "a/late.py: at_import:1 (while loading)" in whole(tried(output, trail=trail))


def test_a_long_output_is_shown_distilled_and_kept_whole() -> None:
    output = "".join(f"line {number}\n" for number in range(20_000)) + "ValueError: the last\n"
    one = tried(output, status=1)
    assert len(told(one)) < OUTPUT_CHARACTERS + 500 and "ValueError: the last" in told(one)
    assert output in whole(one)


def test_a_language_that_is_not_followed_has_the_files_of_its_traceback() -> None:
    text = told(tried("/work/lib/a.rb:3:in `go': no (RuntimeError)\n", status=1, followed=False))
    assert "are not followed. The traceback names lib/a.rb." in text
    assert "went through no file" in told(tried()) and "put out nothing" in told(tried())


# -- pages --------------------------------------------------------------------------------------------------------


@pytest.fixture
def page(snapshot: Snapshot, tree: Path) -> Callable[..., Answer | Failed]:
    """The planner's tool for pages, without a box: it says where it would have gone."""

    group = browsing.Browsing(tree, snapshot, "/usr/bin/chromium", lambda: NO_BOX, lambda *_: "0" * 64, TRACE)
    handler = group.every()["open_page"][1]

    def ask(**asked: Any) -> Answer | Failed:
        outcome = handler(asked)
        assert isinstance(outcome, Answer | Failed)
        return outcome

    return ask


TRACE = Trace("a run", Belt.PLANNER)


@pytest.mark.parametrize(("asked", "place"), [
    ({"page": "docs/index.html"}, ("docs", "index.html")), ({"page": "docs/"}, ("docs", "index.html")),
    ({"page": "docs/guide/first.html?a=1#b"}, ("docs", "guide/first.html?a=1#b")),
    ({"page": "/guide/first.html", "root": "docs"}, ("docs", "guide/first.html")),
    ({"page": "http://localhost:8000/guide/first.html", "root": "/docs/"}, ("docs", "guide/first.html")),
    ({"page": "docs/guide/first.html", "root": "docs/guide"}, ("docs/guide", "first.html")),
    ({"page": "alone/page.htm"}, ("alone", "page.htm")),
])  # fmt: skip
def test_a_page_is_found_below_the_root_of_its_site(
    snapshot: Snapshot, asked: Mapping[str, str], place: tuple[str, str]
) -> None:
    assert browsing._place(snapshot, asked["page"], asked.get("root", "")) == place


@pytest.mark.parametrize(("asked", "reason"), [
    ({"page": "https://elsewhere.test/"}, "is elsewhere"), ({"page": "//elsewhere.test/index.html"}, "is elsewhere"),
    ({"page": "http://[::1/"}, "no address"), ({"page": "docs/none.html"}, "There is no HTML file"),
    ({"page": "pyproject.toml"}, "There is no HTML file"), ({"page": "../docs/index.html"}, "There is no HTML file"),
    ({"page": "index.html", "root": "nowhere"}, "There is no folder nowhere"),
    ({"page": "javascript:1"}, "is elsewhere"),
    ({"page": "docs/index.html"}, "No page can be opened here: There is no bubblewrap."),
])  # fmt: skip
def test_what_is_no_page_of_the_site_is_not_opened(
    page: Callable[..., Answer | Failed], asked: dict[str, str], reason: str
) -> None:
    failed = page(**asked)
    assert isinstance(failed, Failed) and reason in failed.text


def test_a_visit_is_told_errors_first_and_bounded() -> None:
    visit = Visit(
        html="<title>A</title><h1>Head</h1><script>var x = 'unseen'</script><p>Text <a href='b.html'>more</a>" * 200,
        messages=(*(Message(f"say {n}", "/a.html", n) for n in range(90)), Message("Uncaught E", "/a.html", 7)),
        requests=(Fetched("GET", "/a.html", 200, ""), Fetched("GET", "/b.css", 404, ""),
                  Fetched("POST", "/c", 0, "ERR_EMPTY_RESPONSE"), Fetched("GET", "https://x.test/y", 0, "ERR_NAME")),
        left_out=(5, 0), screenshot=b"", finished=False,
    )  # fmt: skip
    text = browsing._told(visit, "docs", "a.html", "")
    assert "Uncaught errors:\n- Uncaught E (/a.html:7)" in text and "- and 65 more" in text
    assert "1 went well, 2 failed:\n- GET /b.css → 404\n- POST /c → ERR_EMPTY_RESPONSE\n" in text
    assert "no network from here: https://x.test/y" in text and "had to be ended" in text
    assert "title: A\nh1: Head\nText more → b.html" in text and "unseen" not in text and "more lines]" in text
    assert len(text) < browsing.OUTLINE_CHARACTERS + browsing.MOST_MESSAGES * 60 + 1_000


def test_an_outline_never_grows_beyond_its_limit_and_takes_any_text() -> None:
    for html in ("<p>" * 5_000, "<a href='x'" * 100, "&" * 9_000, "<!--" + "x" * 9_000, "<script>" + "<p>a</p>" * 999):
        assert len(outline(html, 1_000)) <= 1_000
    assert outline("", 1_000) == ""


def test_a_refusal_is_told_in_a_line() -> None:
    assert briefly(Refused("There is no Node.")) == "Not run: There is no Node."


def test_the_card_says_that_pages_cannot_be_opened_only_where_there_are_any(snapshot: Snapshot) -> None:
    assert browsing.lacking(snapshot, "/usr/bin/chromium") == ()
    assert "no Chromium" in browsing.lacking(snapshot, None)[0]
