"""Set-up commands: what they make is found by checks, kept by what decided it, and refused where it is odd."""

import io
import os
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.policy import OwnCheck, Policy
from app.core.verdict import Refused
from tests.fakes.tls_registry import NAME, Registry
from worker.box.box import Box, BoxSettings, Command, Ran, open_box
from worker.box.checks import Ground, checks_of, command_for
from worker.box.clients import registries_of
from worker.box.deciding import files_that_decide
from worker.box.egress.rules import Host, read_networks
from worker.box.environment import CannotPrepare, CheckEnvironment, EnvironmentUnavailable, Workshop
from worker.box.preparing import of_this_machine, prepare
from worker.box.setting_up import KIND, SetUp, set_up
from worker.box.staging import RUNS

Setting = Callable[..., CheckEnvironment | EnvironmentUnavailable | Refused]

LOOPBACK = read_networks(["127.0.0.1/32"])
MAKING = """
set -e
mkdir -p vendored src/made ~/.local/lib
echo tool > vendored/tool
echo deep > src/made/deep
echo beside > src/beside
ln -s ../src/greet.sh vendored/greet
echo home > ~/.local/lib/module
echo changed > notes.md
"""


@pytest.fixture
def project(open_tree: Path) -> Path:
    (open_tree / "src").mkdir()
    (open_tree / "src" / "greet.sh").write_text("echo hello\n")
    (open_tree / "requirements.txt").write_text("one==1\n")
    return open_tree


@pytest.fixture
def setting(box: Box, project: Path, tmp_path: Path) -> Setting:
    """Runs shell text as the set-up of the project, with changes of how."""

    def run(text: str, **changes: object) -> CheckEnvironment | EnvironmentUnavailable | Refused:
        how = SetUp((("sh", "-c", text),), frozenset(), box, "a repository")
        return set_up(project, replace(how, **changes), Workshop(tmp_path / "cache"))  # type: ignore[arg-type]

    return run


def checked(box: Box, project: Path, environment: object, text: str) -> Ran:
    assert isinstance(environment, CheckEnvironment), environment
    policy = Policy(setup=(("true",),), checks={"own": OwnCheck(run=("sh", "-c", text))})
    named = checks_of(project, policy)[0]
    command = command_for(named, (), Ground(project, environments=(environment,)))
    assert isinstance(command, Command), command
    ran = box.run(project, command)
    assert isinstance(ran, Ran), ran
    return ran


def wheel() -> bytes:
    """A package of one module."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("one.py", "")
        archive.writestr("one-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: one\nVersion: 1\n")
        archive.writestr("one-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("one-1.dist-info/RECORD", "")
    return out.getvalue()


def being_made() -> set[Path]:
    """Folders in which something is set up on this machine now, by whichever process."""
    return {path for path in RUNS.iterdir() if path.name.startswith("countersign-made-")}


@pytest.mark.needs_userns
class TestInTheBox:
    def test_what_was_made_in_the_tree_and_at_home_is_found_by_a_check_and_cannot_be_written(
        self, box: Box, project: Path, setting: Setting
    ) -> None:
        ran = checked(
            box,
            project,
            setting(MAKING),
            "cat vendored/tool src/made/deep src/beside ~/.local/lib/module notes.md; sh vendored/greet;"
            " for each in vendored/x /made/x ~/.local/x; do (: > $each) 2> /dev/null && echo written; done;"
            " grep ' /made ' /proc/self/mounts | cut -d' ' -f4 | cut -d, -f1",
        )
        assert ran.output.decode().split() == ["tool", "deep", "beside", "home", "first", "hello", "ro"]

    def test_a_file_of_the_change_stands_before_one_that_was_made(
        self, box: Box, project: Path, setting: Setting
    ) -> None:
        setting(MAKING)
        (project / "src" / "beside").write_text("of the change\n")
        ran = checked(box, project, setting(MAKING), "cat src/beside src/made/deep")
        assert ran.output == b"of the change\ndeep\n"

    def test_it_is_made_anew_when_what_decided_it_is_another_and_only_then(
        self, box: Box, project: Path, setting: Setting
    ) -> None:
        first = setting("sh tools.sh; date +%s%N > made")
        (project / "src" / "greet.sh").write_text("echo other\n")
        assert isinstance(first, CheckEnvironment) and setting("sh tools.sh; date +%s%N > made") == first
        seen = {first.digest}
        for change in (
            lambda: (project / "requirements.txt").write_text("one==2\n"),
            lambda: (project / "package-lock.json").write_text("{}"),
        ):
            change()
            again = setting("sh tools.sh; date +%s%N > made")
            assert isinstance(again, CheckEnvironment)
            seen.add(again.digest)
        for changes in (
            {"scope": "another"},
            {"hosts": frozenset({Host("a.test")})},
            {"variables": {"GOPROXY": "off"}},
        ):
            again = setting("sh tools.sh; date +%s%N > made", **changes)
            assert isinstance(again, CheckEnvironment)
            seen.add(again.digest)
        assert len(seen) == 6

    def test_a_file_that_a_command_names_decides_as_well(self, box: Box, project: Path, tmp_path: Path) -> None:
        (project / "tools.sh").write_text("echo 1 > made\n")
        how = SetUp((("sh", "./tools.sh"),), frozenset(), box, "a repository")
        first = set_up(project, how, Workshop(tmp_path / "cache"))
        (project / "tools.sh").write_text("echo 2 > made\n")
        second = set_up(project, how, Workshop(tmp_path / "cache"))
        assert checked(box, project, first, "cat made").output == b"1\n"
        assert checked(box, project, second, "cat made").output == b"2\n"

    def test_another_version_of_a_program_that_a_command_names_makes_it_anew(
        self, setting: Setting, tmp_path: Path
    ) -> None:
        (tmp_path / "bin").mkdir()
        seen = set()
        for program in ("sh", "printf"):
            commands = (("sh", "-c", "date +%s%N > made"), ("printf", "x"))
            for version in ("1", "2.0"):
                (tmp_path / "bin" / program).write_text(version)
                for _ in range(2):
                    made = setting("", commands=commands, programs=tmp_path / "bin")
                    assert isinstance(made, CheckEnvironment)
                    seen.add(made.digest)
        assert len(seen) == 4

    @pytest.mark.parametrize(("text", "words"), [
        ("echo reason; exit 3", "ended with status 3. It said: $ sh -c 'echo reason; exit 3'\nreason"),
        ("kill -9 $$", "ended with status 137"),
        ("mkfifo pipe", "work/pipe is neither a file nor a folder nor a link"),
        ("cp /bin/true run && chmod 4755 run", "work/run would run with the rights of its owner"),
        ("for n in $(seq 2100); do : > f$n; done", "2,100 places"),
    ])  # fmt: skip
    def test_29_what_fails_or_is_odd_is_a_refusal_with_its_reason(
        self, setting: Setting, text: str, words: str
    ) -> None:
        before = being_made()
        refused = setting(text)
        assert isinstance(refused, Refused) and words in refused.reason, refused
        assert refused.remedy
        come = being_made() - before
        until = time.monotonic() + 60
        # Other processes of tests set up as well, and end; what this one left would stay.
        while come & being_made() and time.monotonic() < until:
            time.sleep(0.1)
        assert not come & being_made()

    def test_a_program_that_is_not_there_is_named(self, box: Box, project: Path, tmp_path: Path) -> None:
        how = SetUp((("true",), ("nowhere-at-all", "x")), frozenset(), box, "a repository")
        refused = set_up(project, how, Workshop(tmp_path / "cache"))
        assert isinstance(refused, Refused) and "`nowhere-at-all x` ended with status 127" in refused.reason

    def test_a_host_that_cannot_be_reached_now_is_a_reason_that_may_pass(self, box: Box, setting: Setting) -> None:
        host = Host("nowhere.invalid")
        text = "import urllib.request; urllib.request.urlopen('https://nowhere.invalid/')"
        failed = setting("", commands=(("python3", "-c", text),), hosts=frozenset({host}))
        assert isinstance(failed, EnvironmentUnavailable), failed
        assert failed.passing and "nowhere.invalid:443" in failed.reason

    def test_a_host_that_was_reached_for_in_vain_is_told_where_the_commands_ended_well_all_the_same(
        self, setting: Setting
    ) -> None:
        text = "import urllib.request\ntry: urllib.request.urlopen('https://b.example.test/')\nexcept OSError: pass"
        made = setting("", commands=(("python3", "-c", text),), hosts=frozenset({Host("a.example.test")}))
        assert isinstance(made, CheckEnvironment), made
        assert made.notes == (
            "While setting up, `b.example.test:443` was reached for and refused: the plan does not name it.",
        )

    @pytest.mark.skipif(not Path("/usr/bin/pip").exists(), reason="no /usr/bin/pip here")
    def test_pip_finds_wheels_of_the_machines_own_registry_and_builds_nothing(
        self, project: Path, setting: Setting, tmp_path: Path
    ) -> None:
        registry = Registry(tmp_path)
        try:
            for name, file, content in (("one", "one-1-py3-none-any.whl", wheel()), ("two", "two-1.tar.gz", b"x")):
                registry.pages[f"/simple/{name}/"] = f'<a href="/files/{file}">{file}</a>'.encode()
                registry.pages[f"/files/{file}"] = content
            (project / "registry.pem").write_bytes(registry.authority())
            host = Host(NAME, registry.port)
            here = BoxSettings(ports=frozenset({registry.port}), networks=LOOPBACK, names={NAME: ("127.0.0.1",)})
            how = {
                "box": open_box(here),
                "hosts": frozenset({host}),
                "variables": {"PIP_INDEX_URL": f"https://{host}/simple"},
            }
            one, two = (("pip", "install", "--cert", "registry.pem", name) for name in ("one", "two"))
            made = setting("", commands=(one,), **how)
            ran = checked(how["box"], project, made, "python3 -c 'import one; print(one.__file__)'")  # type: ignore[arg-type]
            place = ran.output.decode().strip()
            assert place.startswith("/tmp/home/.local/lib/") and place.endswith("/site-packages/one.py")
            refused = setting("", commands=(two,), **how)
            assert isinstance(refused, Refused) and "No matching distribution found for two" in refused.reason
        finally:
            registry.close()

    def test_what_is_too_much_goes_when_nobody_uses_it_and_is_made_anew_when_wanted(
        self, box: Box, project: Path, tmp_path: Path
    ) -> None:
        small = Workshop(tmp_path / "cache", most_bytes=1)
        how = SetUp((("sh", "-c", "date +%s%N > made"),), frozenset(), box, "a repository")

        def made() -> tuple[CheckEnvironment, ...]:
            prepared = prepare({KIND}, project, small, lambda kind, tree: how)
            assert isinstance(prepared, tuple)
            return prepared

        used = made()
        (project / "requirements.txt").write_text("one==3\n")
        other = made()
        assert other[0].directory.is_dir() and used[0].directory.is_dir(), "both are in use"
        first = used[0].directory
        del used
        assert made() == other and other[0].directory.is_dir() and not first.exists()
        (project / "requirements.txt").write_text("one==1\n")
        assert made()[0].directory == first and first.is_dir()

    def test_makers_at_the_same_time_share_one_environment(self, setting: Setting, tmp_path: Path) -> None:
        with ThreadPoolExecutor(3) as pool:
            made = list(pool.map(lambda _: setting("date +%s%N > made"), range(3)))
        assert len({one.digest for one in made if isinstance(one, CheckEnvironment)}) == 1
        assert len(list((tmp_path / "cache" / KIND).iterdir())) == 1

    def test_what_is_called_off_is_no_fault_of_the_commands(self, setting: Setting) -> None:
        failed = setting("sleep 60", wanted=lambda: False)
        assert isinstance(failed, EnvironmentUnavailable) and failed.passing


@pytest.mark.needs_userns
def test_without_an_approved_plan_no_command_of_the_repository_runs(box: Box, project: Path, tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "cache")
    refused = prepare({KIND}, project, workshop, of_this_machine(box, workshop, "a repository"))
    assert isinstance(refused, EnvironmentUnavailable) and "approved plan only" in refused.reason
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").iterdir())


# -- what decides ----


def test_what_a_named_script_may_call_decides_as_well_as_the_script_itself(tmp_path: Path) -> None:
    def written(path: str, mode: int = 0o644) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
        (tmp_path / path).chmod(mode)

    for path in ("tools/a.sh", "tools/lib/b.py", "src/c.py", "d.py", "package.json", "sub/Makefile", "sub/more.mk"):
        written(path)
    for path in ("bin/run", "tools/x"):
        written(path, 0o755)

    def decide(*words: str) -> set[str]:
        return set(files_that_decide(tmp_path, (words,)))

    called = {"package.json", "sub/Makefile", "sub/more.mk", "bin/run", "tools/x"}
    assert decide("sh", "./tools/a.sh") == called | {"tools/a.sh", "tools/lib/b.py"}
    assert decide("python3", "d.py") == called | {"d.py"}
    assert decide("make", "-C", "src") == called | {"src/c.py"}
    assert decide("npm", "ci") == decide("python3", "-m", "pip", "install", "x") == {"package.json"}
    assert decide("python3", "tools/lib/b.py") == called | {"tools/lib/b.py"}
    before = files_that_decide(tmp_path, (("sh", "tools/a.sh"),))
    (tmp_path / "tools/lib/b.py").write_text("other")
    assert files_that_decide(tmp_path, (("sh", "tools/a.sh"),)) != before


def test_settings_of_clients_in_the_tree_decide_and_links_do_not(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("x")
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo" / "config.toml").write_text("x")
    (tmp_path / "package.json").symlink_to("/etc/hostname")
    assert set(files_that_decide(tmp_path, (("npm", "ci"),))) == {".npmrc", ".cargo/config.toml"}


# -- checks of the policy ----------------------------------------------------------------------------------------------


def test_checks_of_the_policy_stand_first_and_hide_what_is_found_under_their_name(project: Path) -> None:
    (project / "Makefile").write_text("test:\n\ttrue\n")
    own = {"unit": OwnCheck(run=("sh", "unit.sh"), paths=True), "make test": OwnCheck(run=("make", "all"))}
    checks = checks_of(project, Policy(checks=own))
    assert [(one.name, one.argv, one.paths.value) for one in checks] == [
        ("unit", ("sh", "unit.sh"), "accepted"),
        ("make test", ("make", "all"), "none"),
    ]
    assert {one.needs for one in checks} == {""}
    assert {one.needs for one in checks_of(project, Policy(checks=own, setup=(("true",),)))} == {KIND}


def test_a_program_that_is_not_there_makes_a_check_one_that_cannot_be_run(project: Path) -> None:
    own = {"a": OwnCheck(run=("nowhere-at-all",)), "b": OwnCheck(run=("./run.sh",))}
    first, second = checks_of(project, Policy(checks=own))
    assert "nowhere-at-all" in first.not_prepared and not second.not_prepared


# -- where clients look ----


def test_registries_are_those_of_the_clients_own_configuration(tmp_path: Path) -> None:
    pip = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "https://a.example.test:8443/simple"}
    npm = {"NPM_CONFIG_REGISTRY": "https://b.example.test/npm/"}
    workshop = Workshop(tmp_path, pip | npm)
    one = registries_of([("python3", "-m", "pip", "install", "x")], workshop)
    assert one.hosts == {Host("a.example.test", 8443)}
    assert one.variables["PIP_INDEX_URL"] == pip["PIP_INDEX_URL"]
    both = registries_of([("pip", "install", "x"), ("npm", "ci")], workshop)
    assert both.hosts == {Host("a.example.test", 8443), Host("b.example.test")}
    assert both.variables["NPM_CONFIG_REGISTRY"] == "https://b.example.test/npm/"
    assert registries_of([("make", "tools")], workshop).hosts == frozenset()


def test_a_configuration_file_counts_and_the_environment_before_it(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://c.example.test/simple\n")
    known = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}
    assert registries_of([("pip",)], Workshop(tmp_path, known)).hosts == {Host("c.example.test")}
    known |= {"PIP_INDEX_URL": "https://d.example.test/simple", "PIP_EXTRA_INDEX_URL": "https://e.example.test/x"}
    known["PIP_EXTRA_INDEX_URL"] += " file:///on/this/disk"
    found = registries_of([("pip",)], Workshop(tmp_path, known))
    assert found.hosts == {Host("d.example.test"), Host("e.example.test")}
    assert found.variables["PIP_EXTRA_INDEX_URL"] == "https://e.example.test/x", "the box does not see this disk"


def test_where_nothing_is_configured_the_client_itself_is_asked(tmp_path: Path) -> None:
    found = registries_of([("pip",)], Workshop(tmp_path, {"HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}))
    assert len(found.hosts) == 2 and found.variables["PIP_INDEX_URL"].startswith("https://")


def test_a_registry_that_wants_a_password_does_not_enter(tmp_path: Path) -> None:
    known = {"HOME": str(tmp_path), "PIP_INDEX_URL": "https://me:word@a.example.test/simple"}
    with pytest.raises(CannotPrepare, match="password") as refused:
        registries_of([("pip",)], Workshop(tmp_path, known))
    assert "word@" not in str(refused.value)
