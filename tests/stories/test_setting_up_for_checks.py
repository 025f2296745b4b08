"""Set-up commands of a repository: they run for an approved plan, reach what it names, and run once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.run import Closed, Published
from tests.fakes.household import Furnishing
from tests.fakes.setting_up import OTHER, POLICY, files, furnished
from tests.fakes.story import REPO, Story
from tests.fakes.tls_registry import NAME, Registry

pytestmark = pytest.mark.needs_userns
Making = Callable[..., Story]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    (tmp_path / "registry").mkdir()
    made = Registry(tmp_path / "registry")
    yield made
    made.close()


def test_what_the_checks_need_is_set_up_for_the_approved_plan_and_once_for_all_runs(
    make_story: Making, registry: Registry, tmp_path: Path
) -> None:
    host = f"{NAME}:{registry.port}"
    story = make_story(files=files(registry, host), furnishing=furnished(tmp_path, registry))
    story.mira.labels()
    plan = story.plan_is_read()["body"]
    assert "**Hosts the box may reach**" in plan and host in plan and f"python3 tools/fetch.py {host}" in plan
    assert "`make test`, must fail without the fix and pass with it: `sh tools/check.sh`" in plan
    assert registry.came == 0, "nothing is fetched for a plan that nobody approved"
    story.mira.says("/approve")
    assert registry.came == 1
    assert "| `make test` | after | passed |" in story.draft()["body"]
    story.ends(Published, "Draft pull request")
    again = story.olga.opens_an_issue("It is misspelt", "greet.sh says helo, it should say hello.")
    story.mira.labels(number=again)
    story.next_comment("### Plan, version 1")
    story.mira.says("/approve", number=again)
    assert registry.came == 1, "the second run found what the first one made"
    story.ends(Published, "Draft pull request", number=again)


def test_a_set_up_that_reaches_for_a_host_which_the_plan_does_not_name_is_refused_and_told(
    make_story: Making, registry: Registry, tmp_path: Path
) -> None:
    host, other = f"{NAME}:{registry.port}", f"{OTHER}:{registry.port}"
    story = make_story(files=files(registry, host, other), furnishing=furnished(tmp_path, registry))
    story.mira.labels()
    assert other not in story.plan_is_read()["body"].partition("**Hosts the box may reach**")[2]
    story.mira.says("/approve")
    assert registry.came == 1 and story.shown_to("executor") == []
    assert set(story.control.branches(REPO)) == {"main"}
    told = f"reached for `{other}`, which the approved plan does not name"
    story.ends(Closed, told, "`hosts`", "set the label again")


def test_a_registry_that_the_machine_is_not_configured_for_any_more_is_not_reached_for_an_older_plan(
    make_story: Making, registry: Registry, tmp_path: Path
) -> None:
    with_pip = files(registry) | {POLICY: "setup: [[python3, -m, pip, --version]]\n"}
    here = furnished(tmp_path, registry)

    def configured(host: str) -> Furnishing:
        return replace(here, env={**here.env, "HOME": str(tmp_path), "PIP_INDEX_URL": f"https://{host}/simple"})

    story = make_story(files=with_pip, furnishing=configured("old.example.test"))
    story.mira.labels()
    assert "old.example.test:443" in story.plan_is_read()["body"]
    story.set_up_again(configured("new.example.test"))
    story.mira.says("/approve")
    story.ends(Closed, "names hosts that neither the policy nor", "old.example.test:443", "plan anew")
