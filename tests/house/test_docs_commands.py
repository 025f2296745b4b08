"""Every command of README and pages is run on a small ledger, or held against the parser, the file or the target that
would take it. One of a kind that nobody knows here is a failure.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from app.cli import ACTING, _parser, main
from app.core.belts import Belt
from app.doctor.names import NAMES
from app.ledger import migrate, open_ledger
from infra.demo.__main__ import _arguments as demo_words
from infra.demo.trying import _arguments as try_words
from infra.docs.__main__ import HERE
from infra.eval.__main__ import _arguments as eval_words
from tests.fakes.deliveries import Told
from tests.house.test_docs_links import WRITTEN_FOR_PEOPLE, tokens
from tests.house.tree import ROOT, name
from worker.doctor.command import _parser as doctor_parser
from worker.way_out import ways_out

CHEAP = ("schema", "migrate", "backup", "restore", "prune", "roles", "runs", "show", "trace", "export", "policy",
         "templates")  # fmt: skip
"""Commands that are run. Of the others the words are held against the parser that would read them."""
RUN = "r-000001"
POLICY = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
MAKE = (ROOT / "Makefile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "infra/compose/compose.yaml").read_text("utf-8"))


@dataclass(frozen=True)
class Typed:
    """One program with its words, what is set for it alone, and where its output goes."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    to: str = ""
    mode: str = "w"


class Unknown(Exception):
    """Nobody here knows what this is, or it names what is not there."""


def typed(text: str) -> list[Typed]:
    """The programs of one line, in order; a pipe's as well. Raises `Unknown` for what no shell here would read so."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&<>")
    lexer.whitespace_split, lexer.commenters = True, "#"
    found: list[Typed] = []
    words: list[str] = []
    to, mode = "", "w"
    ahead = [*lexer, "&&"]
    while ahead:
        one = ahead.pop(0)
        if one in (">", ">>"):
            to, mode = ahead.pop(0), "a" if one == ">>" else "w"
        elif one in ("&&", "|"):
            env: dict[str, str] = {}
            while words and re.match(r"[A-Z_]+=", words[0]):
                key, _, value = words.pop(0).partition("=")
                env[key] = value
            if not words:
                raise Unknown(text)
            found.append(Typed(tuple(words), env, to, mode))
            words, to, mode = [], "", "w"
        elif set(one) <= set("|&<>"):
            raise Unknown(f"{one} in {text}")
        else:
            words.append(one)
    return found


def lines(page: Path) -> Iterator[str]:
    """Every command of a page's blocks; one that goes on in the next line is one."""
    for block in tokens(page.read_text("utf-8")):
        if block.type == "fence" and block.info == "console":
            text = block.content.replace("\\\n", " ")
            yield from (line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ "))


OTHERS = {"make check"}
"""Commands in sentences that are a repository's own, as the README tells of its checks."""


def inline(page: Path) -> Iterator[str]:
    """Commands that stand within a sentence."""
    for block in tokens(page.read_text("utf-8")):
        for one in block.children or []:
            if one.type == "code_inline" and re.match(r"(countersign|make|python -m|docker|kubectl) ", one.content):
                yield from {one.content} - OTHERS


# -- what is not run: who would read it ----


def held(one: Typed) -> None:
    """Raises `Unknown` where nothing takes these words."""
    program = one.words[0].rpartition("/")[2]
    if one.words[0].startswith("infra/"):
        _is(os.access(ROOT / one.words[0], os.X_OK), one)
        return
    if program not in HOLDS:
        raise Unknown(f"no known kind of command: {shlex.join(one.words)}")
    HOLDS[program](one.words[1:], one)


def _is(true: object, one: Typed) -> None:
    if not true:
        raise Unknown(f"what this names is not there: {shlex.join(one.words)}")


def _countersign(words: tuple[str, ...], one: Typed) -> None:
    _is(words, one)
    command, *rest = [word for word in words if word != "…"]
    readers: Mapping[str, Callable[[list[str]], object]] = {
        "doctor": doctor_parser().parse_args, "eval": eval_words, "try": try_words, "demo": demo_words,
    }  # fmt: skip
    few: Mapping[str, tuple[str, ...]] = {"worker": tuple(Belt), "egress": ways_out()}
    _is(command in ACTING or re.search(rf"^    {re.escape(command)}\s", _parser().format_help(), re.MULTILINE), one)
    if command in few:
        _is({*rest[:1]} <= {*few[command], "PROCESS", "BELT"} and len(rest) < 2, one)
    elif command == "setup":
        _is(rest in ([], ["--answer"], ["--answer", "ADDRESS"]), one)
    elif command in ("up", "mint", "beat", "web"):
        _is(not rest, one)
    else:
        _is(command in readers or command not in ACTING, one)
        _read(readers.get(command) or (lambda words: _parser().parse_args([command, *words])), rest, one)


def _read(reader: Callable[[list[str]], object], words: list[str], one: Typed) -> None:
    """The words are read. A name alone in a sentence may leave out what the command needs, and not say too much."""
    try:
        with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
            reader(words)
    except SystemExit as refused:
        if words or refused.code not in (0, 2):
            raise Unknown(f"its parser does not take it: {shlex.join(one.words)}") from None


def _make(words: tuple[str, ...], one: Typed) -> None:
    targets = [word for word in words if "=" not in word]
    _is(targets, one)
    recipes = [re.search(rf"^{re.escape(word)}:.*\n(?:\t.*\n)+", MAKE, re.MULTILINE) for word in targets]
    _is(all(recipes), one)
    text = "".join(found[0] for found in recipes if found)
    for variable in (word.partition("=")[0] for word in words if "=" in word):
        # What make is given beside is in the environment of what it starts.
        _is(f"$({variable})" in text or variable in NAMES, one)


def _docker(words: tuple[str, ...], one: Typed) -> None:
    said = dict(pairwise(words))
    if words[0] == "build":
        file = ROOT / said["--file"]
        _is(file.exists() and f"AS {said['--target']}\n" in file.read_text("utf-8"), one)
    else:
        if words[0] == "buildx":
            return
        _is(words[0] == "compose" and (ROOT / said.get("--file", "infra/compose/compose.yaml")).exists(), one)
        _is({"up", "config"} & {*words} or {*COMPOSE["services"]} & {*words}, one)
        # Without the bases' digests Compose reads no further than its file.
        _is("config" in words or any(word.endswith("images/digests.env") for word in words), one)


def _kubectl(words: tuple[str, ...], one: Typed) -> None:
    said = dict(pairwise(words))
    if words[0] == "apply":
        _is((ROOT / said["--kustomize"] / "kustomization.yaml").exists(), one)
        return
    base = [one for path in (ROOT / "infra/kubernetes/base").glob("*.yaml")
            for one in yaml.safe_load_all(path.read_text("utf-8")) if one]  # fmt: skip
    text = str(base)
    if words[:3] == ("create", "secret", "generic"):
        _is(f"'secretName': '{words[3]}'" in text and f"'namespace': '{said['--namespace']}'" in text, one)
        return
    named = {(each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in base
             if "metadata" in each}  # fmt: skip
    _is(words[0] == "scale" and ("Deployment", said["--namespace"], said["deployment"]) in named, one)


def _export(words: tuple[str, ...], one: Typed) -> None:
    _is({word.partition("=")[0] for word in words} <= NAMES, one)


def _cd(words: tuple[str, ...], one: Typed) -> None:
    _is((ROOT / words[0]).is_dir(), one)


def _cp(words: tuple[str, ...], one: Typed) -> None:
    given = {f"infra/compose/{secret['file']}" for secret in COMPOSE["secrets"].values()}
    _is(words[1] in given, one)


def _cat(words: tuple[str, ...], one: Typed) -> None:
    _is(not words and one.to == "infra/compose/.env", one)


def _python(words: tuple[str, ...], one: Typed) -> None:
    _is(words[0] == "-m" and find_spec(words[1]), one)


def _psql(words: tuple[str, ...], one: Typed) -> None:
    _is(words in ((), ("…",)) or words[0].startswith("postgresql://"), one)


HOLDS: Mapping[str, Callable[[tuple[str, ...], Typed], None]] = {
    "countersign": _countersign, "make": _make, "docker": _docker, "kubectl": _kubectl, "export": _export, "cd": _cd,
    "cp": _cp, "cat": _cat, "python": _python, "psql": _psql,
}  # fmt: skip


@pytest.mark.parametrize("page", WRITTEN_FOR_PEOPLE, ids=name)
def test_every_command_is_of_a_known_kind_and_what_it_names_is_there(page: Path) -> None:
    for line in [*lines(page), *inline(page)]:
        for one in typed(line):
            held(one)


@pytest.mark.parametrize("text", [
    "countersign runs --newest", "countersign fly", "countersign doctor --mend", "countersign worker mint", "make tea",
    "make bench-edit REPO=x", "docker compose --file nowhere.yaml up",
    "docker compose --env-file infra/images/digests.env stop miint",
    "docker compose stop mint", "curl example.com",
    "docker build --file infra/images/Dockerfile --target nobody .", "kubectl apply --kustomize infra/nowhere",
    "kubectl scale deployment bank --replicas 0 --namespace countersign", "export COUNTERSIGN_NAME=x", "FOO=x",
    "cp key.pem infra/compose/secrets/mint/KEY", "countersign eval --task", "infra/compose/nothing.sh",
    "countersign runs < file", "python -m infra.nothing", "countersign backup", "countersign setup --all",
    "kubectl create secret generic countersign-bank --namespace countersign --from-file x", "cd infra/nowhere",
])  # fmt: skip
def test_a_command_that_nothing_takes_is_found(text: str) -> None:
    if text == "countersign backup":
        # Alone in a sentence it is a name; with half of its words it is a mistake.
        text = "countersign backup --file x"
    with pytest.raises((Unknown, KeyError)):
        for one in typed(text):
            held(one)


# -- what is run ----


@pytest.mark.parametrize("page", [ROOT / "README.md", HERE / "runbook.md", HERE / "configuration.md"], ids=name)
def test_every_cheap_command_of_a_page_does_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    place = tmp_path / "var/lib/countersign"
    for folder in (place, tmp_path / "var/backups", tmp_path / "var/tmp", tmp_path / ".github"):
        folder.mkdir(parents=True)
    assert POLICY is not None
    (tmp_path / ".github/countersign.yml").write_text(POLICY[1], "utf-8")
    monkeypatch.chdir(tmp_path)
    for variable in NAMES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("COUNTERSIGN_DATA_DIR", str(place))
    migrate(f"sqlite:///{place / 'ledger.db'}")
    ledger = open_ledger(f"sqlite:///{place / 'ledger.db'}")
    Told(ledger).proposed()
    ledger.close()
    ran = 0
    for line in lines(page):
        for one in typed(line):
            if one.words[0].endswith("countersign") and one.words[1] in CHEAP:
                assert done(one, tmp_path, monkeypatch, request) == 0, line
                ran += 1
    assert ran >= 3


def done(one: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int:
    """The exit code. What the page says of `/var` is below the test's folder, and its PostgreSQL is the test's."""

    def here(text: str) -> str:
        if text.startswith("postgresql://"):
            return str(request.getfixturevalue("postgres_url"))
        return re.sub(r"/var/(?=lib|backups|tmp)", f"{tmp_path}/var/", text)

    with ExitStack() as ending:
        if one.to:
            ending.enter_context(redirect_stdout(ending.enter_context((tmp_path / one.to).open(one.mode))))
        with monkeypatch.context() as within:
            for key, value in one.env.items():
                within.setenv(key, here(value))
            code = main([RUN if word == "RUN" else here(word) for word in one.words[1:]])
    if one.to:
        assert one.mode == "a" or (tmp_path / one.to).stat().st_size > 0
    return code


def test_what_a_cheap_command_says_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTERSIGN_DATA_DIR", str(tmp_path))
    assert main(["restore", str(tmp_path / "nothing")]) == 2
