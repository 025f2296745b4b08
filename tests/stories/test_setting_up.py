"""What operators really do to a key and a clock: it works, or it stops at the start with words that help."""

import base64
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from app.core.run import Closed
from tests.fakes.household import Furnishing, app_key
from tests.fakes.story import Story
from worker.box.processes import start_process

Making = Callable[..., Story]


def flattened(pem: str) -> str:
    return pem.replace("\n", "\\n")


FORMS: dict[str, Callable[[str], str]] = {
    "on one line": flattened,
    "in quotes": lambda pem: f'"{flattened(pem)}"',
    "with carriage returns": lambda pem: pem.replace("\n", "\r\n"),
    "in base64": lambda pem: base64.b64encode(pem.encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_key_in_a_form_that_tools_make_of_it_works_and_is_never_told(
    make_story: Making, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Case OP-01, (a) and (b)."""
    story = make_story(furnishing=Furnishing(key=FORMS[form](app_key()[0])))
    story.mira.labels()
    story.plan_is_read()
    inside = app_key()[0].splitlines()[3]
    kept = [path.read_bytes() for path in story.folder.rglob("*") if path.is_file()]
    assert inside not in caplog.text and [text for text in kept if inside.encode() in text] == []
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_a_clock_that_is_45_seconds_fast_is_believed(make_story: Making) -> None:
    """Case OP-01, (d): GitHub refuses a proof that was issued in its future."""
    story = make_story(furnishing=Furnishing(fast=timedelta(seconds=45)))
    story.mira.labels()
    story.plan_is_read()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


def test_a_clock_that_is_minutes_fast_costs_no_run_and_is_named_until_it_is_mended(make_story: Making) -> None:
    """GitHub takes no proof that ends more than ten minutes ahead of its clock: no token, so no word, can be had."""
    story = make_story(furnishing=Furnishing(fast=timedelta(minutes=5)))
    story.mira.labels()
    for _ in range(8):
        story.pass_time(timedelta(minutes=5))
        story.crank()
    assert story.said() == [] and story.control.tokens() == []
    (look,) = (one for one in story.ledger.debts() if one.kind == "look_up_authority")
    assert "too far in the future" in look.why and "this machine's clock" in look.why
    story.fast = timedelta()
    story.wait_out()
    story.plan_is_read()
    story.mira.says("/reject")
    story.ends(Closed, "rejected")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (lambda pem: "", "GITHUB_PRIVATE_KEY is not set"),
        (lambda pem: "not a key at all", "GITHUB_PRIVATE_KEY does not hold a private key"),
        (lambda pem: pem[:600], "GITHUB_PRIVATE_KEY holds a private key without its last line"),
        (lambda pem: f"{pem[:200]}AAAA{pem[204:]}", "GITHUB_PRIVATE_KEY holds a private key that cannot be read"),
    ],
    ids=["missing", "something else", "cut off", "damaged"],
)
def test_a_key_that_cannot_be_used_stops_the_mint_at_its_start(
    tmp_path: Path, key: Callable[[str], str], words: str
) -> None:
    """Case OP-01, (c)."""
    environment = {
        "GITHUB_APP_ID": "4711",
        "GITHUB_PRIVATE_KEY": key(app_key()[0]),
        "COUNTERSIGN_MINT_LISTEN": "127.0.0.1:0",
        "COUNTERSIGN_MINT_CREDENTIAL_PLANNER": "a credential for stories",
        "COUNTERSIGN_DATA_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'ledger.db'}",
    }
    log = tmp_path / "mint.log"
    process = start_process([sys.executable, "-m", "worker.main", "mint"], environment, log=log)
    assert process.wait(60) == 2
    said = log.read_text()
    assert words in said and "Traceback" not in said
    assert app_key()[0].splitlines()[3] not in said
