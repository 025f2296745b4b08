"""`countersign try OWNER/REPO#N` up to the clone: over a look-alike of GitHub, what is read and what is said."""

import os
import subprocess
import tempfile
from datetime import datetime

import pytest

from infra.demo.brought import Entrance, Named, brought, entrance, named, sentence
from infra.demo.stage import DemoRefused
from infra.twin.apps import mint
from infra.twin.twin import Twin
from tests.fakes.greeting import FILES
from worker.github.errors import Call, Forbidden

READS = {"contents": "read", "issues": "read", "metadata": "read"}


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    made = Twin.start(tmp_path_factory.mktemp("twin"))
    control, people = made.control, {"mira": "maintain", "olga": "read"}
    control.add_user("mira")
    control.add_user("olga")
    for name in ("greet", "hidden", "still", "quiet"):
        control.add_repo(f"octo/{name}", FILES, collaborators=people, private=name == "hidden")
        control.open_issue(f"octo/{name}", "olga", "It says helo", "It should say *hello*.")
    control.comment("octo/greet", 1, "/approve this", "mira")
    control.comment("octo/greet", 1, "I see it too.", "olga")
    control.push_commit("octo/greet", "fix", {"greet.sh": "x"}, as_login="mira")
    control.open_pull("octo/greet", "A fix", "fix", "main", "mira")
    control.open_issue("octo/greet", "olga", "Gone", "soon")
    control.delete_issue("octo/greet", 3, "octo")
    control.change_repo("octo/still", archived=True)
    control.change_repo("octo/quiet", has_issues=False)
    control.add_repo("octo/empty", None, collaborators=people)
    control.open_issue("octo/empty", "olga", "Nothing", "here")
    control.add_repo("octo/before", FILES, collaborators=people)
    control.change_repo("octo/before", name="after")
    control.install("octo")
    yield made
    made.stop()


@pytest.fixture
def temporary(tmp_path):
    usual, tempfile.tempdir = tempfile.tempdir, str(tmp_path)
    yield tmp_path
    tempfile.tempdir = usual


def env(twin, **more):
    return {"GITHUB_API_URL": twin.url, "PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"} | more


def token(twin):
    """What opens `octo/hidden`, as a person's own narrow token does."""
    (installation,) = twin.forge.world.installations.values()
    return mint(twin.forge.world, installation, {"permissions": READS}, None).value


def asked(twin, before):
    return [one for one in twin.control.journal()[before:] if not one["path"].startswith("/_twin")]


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout.strip()


def test_an_issue_with_its_comments_and_the_newest_commit_are_brought_by_reading_alone(twin, temporary):
    before = len(twin.control.journal())
    with brought(Named("octo/greet", 1), env(twin)) as subject:
        told, home = subject.issue, subject.home
        assert (told.title, told.body) == ("It says helo", "It should say *hello*.")
        assert [words.partition(" ")[0] for words in told.comments] == ["`mira`", "`olga`"]
        assert told.comments[0].startswith("`mira` wrote on ") and told.comments[0].endswith("\n\n/approve this")
        assert subject.commit == twin.control.branches("octo/greet")["main"] == git(home, "rev-parse", "main")
        assert (home / "greet.sh").read_text() == FILES["greet.sh"] and git(home, "status", "--porcelain") == ""
        assert git(home, "rev-list", "--count", "HEAD") == "1" and subject.keep_as == "greet-issue-1"
        assert git(home, "remote", "get-url", "origin") == f"{twin.url}/octo/greet.git"
    requests = asked(twin, before)
    assert {one["caller"] for one in requests} == {"nobody"}
    assert [one["path"] for one in requests if one["method"] != "GET"] == ["/octo/greet.git/git-upload-pack"]
    assert len([one for one in requests if not one["path"].startswith("/octo/")]) == 4
    assert list(temporary.iterdir()) == []


def test_a_private_repository_takes_the_user_s_token_which_stays_in_no_file(twin, temporary):
    own = token(twin)
    with brought(Named("octo/hidden", 1), env(twin, GH_ENTERPRISE_TOKEN=own, GH_TOKEN="another")) as subject:
        assert (subject.home / "greet.sh").is_file()
        kept = [path for path in temporary.rglob("*") if path.is_file() and own.encode() in path.read_bytes()]
        assert kept == [] and own not in repr(subject)
    assert list(temporary.iterdir()) == []


SAID = {
    "no such issue": ("octo/greet#99", {}, "octo/greet has no issue 99"),
    "a pull request": ("octo/greet#2", {}, "octo/greet#2 is a pull request"),
    "a deleted issue": ("octo/greet#3", {}, "Issue 3 of octo/greet was deleted"),
    "no such repository": ("octo/none#1", {}, "shows no repository octo/none without a token"),
    "private": ("octo/hidden#1", {}, "it is private. For a private one set GH_ENTERPRISE_TOKEN"),
    "bad credentials": ("octo/greet#1", {"GH_ENTERPRISE_TOKEN": "bad"}, "not accept the token in GH_ENTERPRISE_TOKEN"),
    "the token of another place": ("octo/hidden#1", {"GH_TOKEN": "good"}, "without a token"),
    "no token": ("octo/greet#1", {"GITHUB_ENTERPRISE_TOKEN": "two words"}, "GITHUB_ENTERPRISE_TOKEN holds no token"),
    "archived": ("octo/still#1", {}, "octo/still is archived, so no change can come into it"),
    "empty": ("octo/empty#1", {}, "octo/empty is empty: it has no commit"),
    "issues switched off": ("octo/quiet#1", {}, "octo/quiet has its issues switched off"),
    "renamed": ("octo/before#1", {}, "octo/before has moved. Name it as it is named now."),
    "no network": ("octo/greet#1", {"GITHUB_API_URL": "http://127.0.0.1:1"}, "could not be reached at http://127.0.0.1:1"),
}


@pytest.mark.parametrize("what", SAID)
def test_what_cannot_be_read_is_said_in_a_sentence(twin, temporary, what):
    words, more, said = SAID[what]
    with pytest.raises(DemoRefused) as refused, brought(named(words), env(twin, **more)):
        raise AssertionError("it was brought")
    assert said in str(refused.value) and "mint" not in str(refused.value)
    assert list(temporary.iterdir()) == []


def test_a_token_that_may_not_see_it_is_named_and_not_shown(twin, temporary):
    own = token(twin)
    with pytest.raises(DemoRefused) as refused, brought(Named("octo/none", 1), env(twin, GH_ENTERPRISE_TOKEN=own)):
        raise AssertionError("it was brought")
    assert "to the token in GH_ENTERPRISE_TOKEN" in str(refused.value) and own not in str(refused.value)


def test_a_limit_that_is_reached_is_said_with_its_end(twin, temporary):
    twin.control.set_rate_limit(0)
    try:
        with pytest.raises(DemoRefused) as refused, brought(Named("octo/greet", 1), env(twin)):
            raise AssertionError("it was brought")
    finally:
        twin.control.set_rate_limit(5_000)
    said = str(refused.value)
    assert "without a token (60 an hour for an address) is reached until " in said and "set GH_ENTERPRISE_TOKEN" in said
    minutes = int(said.partition(" min)")[0].rpartition("(")[2])
    assert 0 < minutes <= 60


def test_a_refusal_of_an_organisation_is_told_in_github_s_words():
    error = Forbidden("Resource protected by organization SAML enforcement.", Call("GET", "/"))
    where = Entrance("https://api.github.com", "GH_TOKEN", "secret")
    said = sentence(error, "repository", Named("octo/greet", 1), where, datetime.now().astimezone())
    assert "SAML enforcement" in said and "the token in GH_TOKEN may read" in said
    assert "secret" not in said + repr(where)


TOKENS = {"GH_TOKEN": "a", "GITHUB_TOKEN": "b", "GH_ENTERPRISE_TOKEN": "c", "GITHUB_ENTERPRISE_TOKEN": "d"}


@pytest.mark.parametrize(("url", "without", "variable"), [
    ("", (), "GH_TOKEN"), ("", ("GH_TOKEN",), "GITHUB_TOKEN"), ("", ("GH_TOKEN", "GITHUB_TOKEN"), ""),
    ("https://api.octo.ghe.com", (), "GH_TOKEN"), ("https://git.example.com/api/v3", (), "GH_ENTERPRISE_TOKEN"),
    ("https://git.example.com/api/v3", ("GH_ENTERPRISE_TOKEN",), "GITHUB_ENTERPRISE_TOKEN"),
    ("https://api.github.com.example.com", ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"), ""),
])  # fmt: skip
def test_a_token_goes_to_the_kind_of_server_that_it_is_for_alone(tmp_path, url, without, variable):
    kept = {name: value for name, value in TOKENS.items() if name not in without}
    where = entrance(kept | {"GITHUB_API_URL": url, "COUNTERSIGN_DATA_DIR": str(tmp_path)})
    assert (where.variable, where.token) == (variable, TOKENS.get(variable, ""))
