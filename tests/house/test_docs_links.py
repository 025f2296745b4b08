"""Every link of every page leads somewhere, every block says what it is, and every test that a page names is there."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.house.tree import ROOT, kept_files, name, python_files

PAGES = [path for path in kept_files() if path.suffix == ".md"]
WRITTEN_FOR_PEOPLE = [path for path in PAGES if not {"plan_templates", "demo", "schemas"} & set(path.parts)]
BLOCKS = {"console", "yaml", "mermaid", "text"}
"""What a fenced block may be. Commands stand in `console`, each behind a `$`, and a test of its own runs them."""


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)


def links(text: str) -> list[str]:
    inside = [one for block in tokens(text) for one in block.children or []]
    found = [one.attrGet("href" if one.type == "link_open" else "src") for one in inside
             if one.type in ("link_open", "image")]  # fmt: skip
    return [str(one) for one in found]


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    found: dict[str, int] = {}
    every = tokens(text)
    for here, block in enumerate(every):
        if block.type == "heading_open":
            words = "".join(one.content for one in every[here + 1].children or [])
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found[slug] = found.get(slug, -1) + 1
            if found[slug]:
                found[f"{slug}-{found[slug]}"] = 0
    return set(found)


def dead(page: Path, text: str) -> list[str]:
    """The links of a page that lead nowhere in the project, or to no part of what they lead to."""
    gone = []
    for link in links(text):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if parts.scheme != "https" or not parts.hostname:
                gone.append(link)
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        kept = target.is_relative_to(ROOT) and target.exists()
        read = text if target == page else target.read_text("utf-8") if kept and target.suffix == ".md" else ""
        if not kept or (parts.fragment and parts.fragment not in anchors(read)):
            gone.append(link)
    return gone


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_to_something_that_is_there(page: Path) -> None:
    assert dead(page, page.read_text("utf-8")) == []


@pytest.mark.parametrize("text", [
    "[a](nowhere.md)", "[a](#nowhere)", "[a](../../outside.md)", "[a](http://example.com)", "![a](no.png)",
    "[a](infra/README.md#nowhere)", "| a |\n|---|\n| [a](nowhere.md) |",
])  # fmt: skip
def test_a_dead_link_is_found(text: str) -> None:
    assert len(dead(ROOT / "README.md", f"# Here\n\n{text}\n")) == 1


def test_a_link_that_lives_is_none_and_headings_are_named_as_github_names_them() -> None:
    heads = "# Who attacks?\n\n## `/metrics`\n\n## A b\n\n## A b\n\n"
    text = f"{heads}[a](#who-attacks) [b](#metrics) [c](#a-b-1) [d](app.yml)"
    assert dead(ROOT / "README.md", text) == []
    assert anchors("## The App's key, a-b\n") == {"the-apps-key-a-b"}


def test_every_page_for_people_can_be_come_to_from_the_readme() -> None:
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = [(page.parent / urlsplit(one).path).resolve() for one in links(page.read_text("utf-8"))]
        ahead += [one for one in targets if one.suffix == ".md" and one.exists()]
    wanted = {path for path in WRITTEN_FOR_PEOPLE if path.is_relative_to(ROOT / "infra")}
    assert {name(path) for path in wanted - reached} == set()


@pytest.mark.parametrize("page", WRITTEN_FOR_PEOPLE, ids=name)
def test_every_fenced_block_says_what_it_is(page: Path) -> None:
    kinds = {block.info for block in tokens(page.read_text("utf-8")) if block.type == "fence"}
    assert kinds <= BLOCKS


def test_every_test_that_a_page_names_is_there() -> None:
    there = {f"{path.name}::{found}" for path in python_files("tests")
             for found in re.findall(r"def (test_\w+)\(", path.read_text("utf-8"))}  # fmt: skip
    told = {one for page in WRITTEN_FOR_PEOPLE for one in re.findall(r"`(\w+\.py::\w+)`", page.read_text("utf-8"))}
    assert len(told) > 50 and told - there == set()


def test_every_way_that_the_threat_model_tells_has_its_guard_and_the_test_of_it() -> None:
    text = (ROOT / "infra/docs/threat-model.md").read_text("utf-8").partition("## Who attacks")[2]
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| way |")]
    bare = [row for row in rows if not re.search(r"`test_\w+\.py::test_\w+`", row) and "#what-is-left" not in row]
    assert len(rows) > 30 and bare == []
