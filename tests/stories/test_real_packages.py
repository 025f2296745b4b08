"""Released packages with real defects: mended from label to draft, until upstream's own later tests pass.

The packages, and what their tests need, come from the registries that this machine's clients are set up for. Every
check runs in the box, with the environment that was prepared for it.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.run import Published
from infra.demo.reach import NETWORKS, box_of_this_machine, reserved_networks
from tests.conftest import leave_out
from tests.fakes.household import Furnishing
from tests.fakes.packages import JINJA, NCOMPRESS, SHELL_QUOTE, Package
from tests.fakes.released import NotFetched, Release, files_of, from_index, from_npm, from_pool
from tests.fakes.story import REPO, Story
from worker.belts.scratch import scratch
from worker.box.box import Box, Command, Ran
from worker.box.checks import Ground, command_for, discover
from worker.box.environment import Workshop, registry_variables
from worker.box.preparing import of_this_machine, prepare

pytestmark = [pytest.mark.needs_userns, pytest.mark.slow, pytest.mark.timeout(300)]

Making = Callable[..., Story]
Bring = Callable[[Callable[[Release, Path], Path], Package], tuple[Path, Path]]


@pytest.fixture(scope="session")
def bring(tmp_path_factory: pytest.TempPathFactory) -> Bring:
    """Brings a package, as it was and as it became; both stay for the session."""
    folder = tmp_path_factory.mktemp("released")

    def brought(fetch: Callable[[Release, Path], Path], package: Package) -> tuple[Path, Path]:
        try:
            return fetch(package.before, folder), fetch(package.later, folder)
        except NotFetched as reason:
            leave_out(str(reason))
            raise

    return brought


def test_a_javascript_package_is_mended_and_shown_by_its_npm_script(make_story: Making, bring: Bring) -> None:
    before, later = bring(from_npm, SHELL_QUOTE)
    story = mended(make_story, SHELL_QUOTE, before)
    was, became = upstreams_tests(story, SHELL_QUOTE, later)
    assert b"# fail  2" in was and b"# fail" not in became
    story.ends(Published, "Draft pull request")


def test_a_python_package_is_mended_with_its_dependencies_installed_and_shown_by_pytest(
    make_story: Making, bring: Bring
) -> None:
    before, later = bring(from_index, JINJA)
    story = mended(make_story, JINJA, before)
    was, became = upstreams_tests(story, JINJA, later)
    assert b"1 failed" in was and b"test_xmlattr_key_with_spaces" in was and b"failed" not in became
    story.ends(Published, "Draft pull request")


def test_a_c_project_is_built_and_mended_and_shown_by_its_makefile(make_story: Making, bring: Bring) -> None:
    before, later = bring(from_pool, NCOMPRESS)
    story = mended(make_story, NCOMPRESS, before)
    was, became = upstreams_tests(story, NCOMPRESS, later)
    assert b"no .Z suffix" in was and b"All passed!" not in was and b"All passed!" in became
    story.ends(Published, "Draft pull request")


def mended(make_story: Making, package: Package, before: Path) -> Story:
    """From the label to the draft, with the registries of this machine."""
    here = Furnishing(env=registry_variables(os.environ) | {NETWORKS: reserved_networks(os.environ)})
    story = make_story(package.script, files_of(before), issue=package.issue, furnishing=here)
    story.mira.labels()
    plan = story.plan_is_read()
    assert package.plan["summary"] in plan["body"] and package.check in plan["body"]
    story.mira.says("/approve")
    shown = story.draft()["body"]
    for when, how in (("before", "passed"), ("new tests, old code", "failed"), ("after", "passed")):
        assert f"| `{package.check}` | {when} | {how} |" in shown
    return story


def upstreams_tests(story: Story, package: Package, later: Path) -> tuple[bytes, bytes]:
    """What the check prints in the box with the test files of the later release: red on main, green on the branch."""
    was = ran_with(story, "main", package, later)
    became = ran_with(story, story.draft()["head"]["ref"], package, later)
    assert was.exit_status not in (0, None) and became.exit_status == 0, became.output.decode()
    return was.output, became.output


def ran_with(story: Story, ref: str, package: Package, later: Path) -> Ran:
    """The check, in the box, on a branch with the test files of the later release laid over it."""
    workshop = Workshop(story.folder / "data" / "environments", registry_variables(os.environ))
    with scratch() as folder:
        tree = folder / "tree"
        modes = story.control.branch_modes(REPO, ref)
        for path, content in story.control.branch_files(REPO, ref).items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(content)
            (tree / path).chmod(int(modes[path], 8) & 0o777)
        for path in package.tests:
            shutil.copy(later / path, tree / path)
        check = next(one for one in discover(tree) if one.name == package.check)
        box = box_of_this_machine(os.environ)
        assert isinstance(box, Box), box
        how = of_this_machine(box, workshop, "upstream")
        environments = prepare({check.needs} - {""}, tree, workshop, how)
        assert isinstance(environments, tuple), environments
        command = command_for(check, package.paths, Ground(tree, environments=environments))
        assert isinstance(command, Command)
        ran = box.run(tree, command)
        assert isinstance(ran, Ran)
        return ran
