"""How the planner tries things out: on a throw-away copy in the box, seeing what they went through."""

from collections.abc import Callable

import pytest

from app.core.run import Proposed
from tests.conftest import leave_out
from tests.fakes.greeting import FILES, ISSUE, PLAN, calls, planning, script
from tests.fakes.household import Furnishing
from tests.fakes.story import Story
from worker.box.page import chromium_here

Making = Callable[..., Story]

OFFLINE = Furnishing(env={"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"})
"""No index: what the project depends on cannot be had, and it depends on nothing."""

PYTHON = {
    "pyproject.toml": '[project]\nname = "greet"\nversion = "1"\n',
    "src/greet/__init__.py": "from greet.words import greeting\n",
    "src/greet/words.py": "def greeting(name):\n    return spelt('helo') + ' ' + name\n\n\n"
    "def spelt(word):\n    return word\n",
    "src/greet/other.py": "def unused():\n    raise RuntimeError\n",
    "tests/test_greet.py": "import greet\n\ndef test_greeting():\n    assert greet.greeting('you')\n",
}
SHOWS = ISSUE + "\n\n```python\nimport greet\nprint(greet.greeting('you'))\n```\n"


def observed(story: Story) -> str:
    """What the planner's last request showed it of its calls."""
    body = [one["body"] for one in story.model.requests if one["role"] == "planner"][-1]
    return "\n\n".join(block["text"] for block in body["messages"][0]["content"][1:])


def offered(story: Story) -> list[str]:
    body = next(one["body"] for one in story.model.requests if one["role"] == "planner")
    return [tool["name"] for tool in body["tools"]]


@pytest.mark.needs_userns
def test_a_planner_reproduces_sees_the_frames_and_plans(make_story: Making) -> None:
    tries = calls(("reproduce", {}))
    writes = calls(
        ("reproduce", {"code": "import greet.words\nopen('/work/src/greet/words.py', 'w')\ngreet.words.greeting(3)\n"}),
        when=["helo you"],
    )
    again = calls(("reproduce", {"code": "import greet\nprint(greet.greeting('us'))\n"}), when=["TypeError"])
    part = planning(tries, writes, again, calls(("submit_plan", PLAN), when=["helo us"]))
    story = make_story(script(part), FILES | PYTHON, issue=SHOWS, furnishing=OFFLINE)
    story.mira.labels()
    story.plan_is_read()
    seen = observed(story)
    assert "src/greet/words.py: greeting:1, spelt:5" in seen
    assert "Likeliest files now" in seen and "the reproduction went through it" in seen
    assert "src/greet/other.py: " not in seen.split("Likeliest files now")[0]
    runs = [span for span in story.ledger.spans(story.view().id) if span.name.startswith("try ")]
    assert [span.outcome for span in runs] == ["exit 0", "exit 1", "exit 0"]
    story.ends(Proposed)


@pytest.mark.needs_userns
def test_a_snippet_of_an_issue_that_attacks_the_machine_gets_nowhere(make_story: Making) -> None:
    attack = (
        "```python\nimport os, socket, subprocess\nprint(sorted(os.environ))\n"
        "for path in ('/root', '/home', '/var', '/run', '/etc/shadow'):\n    print(path, os.path.exists(path))\n"
        "try: socket.create_connection(('127.0.0.1', 80), 1)\n"
        "except OSError as error: print('no network', error.errno)\n"
        "os.system('rm -rf /work/*')\nprint(os.listdir('/work'))\n```\n"
    )
    again = calls(("reproduce", {"code": "import greet; print(greet.greeting('me'))"}))
    part = planning(calls(("reproduce", {})), again, calls(("submit_plan", PLAN), when=["helo me"]))
    story = make_story(script(part), FILES | PYTHON, issue=f"{ISSUE}\n\n{attack}", furnishing=OFFLINE)
    story.mira.labels()
    story.plan_is_read()
    seen = observed(story)
    assert "['HOME', 'LANG', 'PATH', 'PWD', 'PYTHONPATH', 'TMPDIR']" in seen and "no network 111" in seen
    assert "/root False" in seen and "/etc/shadow False" in seen
    story.ends(Proposed)


def test_where_the_box_cannot_be_had_the_planner_is_told_and_plans_from_what_it_reads(make_story: Making) -> None:
    part = planning(
        calls(("reproduce", {}), ("read_file", {"path": "src/greet/words.py"})),
        calls(("submit_plan", PLAN), when=["Nothing can be run here", "spelt('helo')"]),
    )
    nowhere = Furnishing(env=dict(OFFLINE.env) | {"COUNTERSIGN_BWRAP": "/nowhere/bwrap"})
    story = make_story(script(part), FILES | PYTHON, issue=SHOWS, furnishing=nowhere)
    story.mira.labels()
    story.plan_is_read()
    assert "There is no bubblewrap at /nowhere/bwrap" in observed(story)
    assert "reproduce" in offered(story)
    story.ends(Proposed)


@pytest.mark.needs_userns
def test_a_page_of_the_repository_is_opened_and_its_errors_are_seen(make_story: Making) -> None:
    pages = {
        "site/index.html": "<title>Greet</title><link rel=stylesheet href=none.css><h1>Greetings</h1>"
        "<script>console.log('begun'); greet('you')</script>",
    }
    if chromium_here() is None:
        leave_out("Chromium is not installed (apt-get install chromium-headless-shell).")
    opens = calls(("open_page", {"page": "site/index.html"}), ("open_page", {"page": "https://elsewhere.test/"}))
    part = planning(opens, calls(("submit_plan", PLAN), when=["Uncaught ReferenceError"]))
    story = make_story(script(part), FILES | pages)
    story.mira.labels()
    story.plan_is_read()
    seen = observed(story)
    assert "Uncaught ReferenceError: greet is not defined (/index.html:1)" in seen
    assert "GET /none.css \u2192 404" in seen and "h1: Greetings" in seen and "A picture of it is kept as " in seen
    assert "is elsewhere; only pages of the repository's own site are opened" in seen
    story.ends(Proposed)


def test_a_repository_without_pages_is_offered_no_browser(story: Story) -> None:
    story.mira.labels()
    story.plan_is_read()
    assert "open_page" not in offered(story) and "reproduce" in offered(story)
    story.ends(Proposed)
