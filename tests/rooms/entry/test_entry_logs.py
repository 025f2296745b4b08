"""One place sets every process' log up: what a line says, and what no line says."""

import json
import logging
import subprocess
import sys
import threading

import pytest

from app.handed import FROM_FILES
from app.logs import Lines, about
from app.settings import APP_KEYS, MODEL_KEY, PULL_SECRET, WEB_KEYS, LogForm, SettingsWrong, log_form
from tests.rooms.entry.conftest import ROOT, run

SECRET = "sk-ant-api03-" + "canary9_" * 6
ENV = {"ANTHROPIC_API_KEY": SECRET, "GITHUB_WEBHOOK_SECRET": "a hook's canary"}
BEGIN = "import os; from app.logs import set_up_logs, about; set_up_logs('planner', dict(os.environ))\n"


def told(script, **env):
    """What a process that runs the script writes to its log, and how it ends."""
    words = [sys.executable, "-c", BEGIN + script]
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", **ENV, **env}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == ""
    return done.stderr, done.returncode


def line_of(form, message, **place):
    record = logging.LogRecord("countersign.x", logging.INFO, "x.py", 1, message, (), None)
    with about(**place):
        return Lines("planner", form).format(record)


def test_a_line_says_what_it_is_about_in_both_forms():
    told = json.loads(line_of(LogForm.JSON, 'said "so"', run="r-1", effect=7, belt="planner", delivery="g-1"))
    assert told.pop("at").endswith("Z")
    assert told == {
        "level": "info", "process": "planner", "logger": "countersign.x", "message": 'said "so"',
        "run": "r-1", "effect": 7, "belt": "planner", "delivery": "g-1",
    }  # fmt: skip
    readable = line_of(LogForm.TEXT, "said", run="r-1", effect=7)
    assert readable.endswith(" planner INFO countersign.x run=r-1 effect=7: said")


def test_what_is_said_within_is_over_outside_and_is_another_in_another_thread():
    seen = []
    with about(run="r-1"), about(effect=2):
        thread = threading.Thread(target=lambda: seen.append(line_of(LogForm.TEXT, "said")))
        thread.start()
        thread.join()
    assert "r-1" not in seen[0] and "r-1" not in line_of(LogForm.TEXT, "said")


CRASHES = {
    "an exception that nobody caught": "raise ValueError(os.environ['ANTHROPIC_API_KEY'])",
    "one in a thread": "import threading\n"
    "t = threading.Thread(target=lambda: 1 / len(os.environ['ANTHROPIC_API_KEY'] + 'x' - 1)); t.start(); t.join()\n"
    "def f(): raise ValueError(os.environ['GITHUB_WEBHOOK_SECRET'] + os.environ['ANTHROPIC_API_KEY'])\n"
    "t = threading.Thread(target=f); t.start(); t.join()",
    "one that nobody could catch": "class A:\n"
    "    def __del__(self): raise ValueError(os.environ['ANTHROPIC_API_KEY'])\n"
    "a = A(); del a",
    "one in the log": "import logging\n"
    "try: raise ValueError(os.environ['ANTHROPIC_API_KEY'])\n"
    "except ValueError: logging.exception('it failed')",
    "a warning": "import warnings; warnings.warn('ValueError ' + os.environ['ANTHROPIC_API_KEY'])",
    "a chain": "try: raise KeyError(os.environ['ANTHROPIC_API_KEY'])\n"
    "except KeyError as error: raise ValueError('token ghs_' + 'a1' * 20) from error",
}


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("what", CRASHES)
def test_no_crash_tells_a_secret(what, form):
    said, _ = told(CRASHES[what], COUNTERSIGN_LOGS=form)
    assert "ValueError" in said and "[removed]" in said
    assert SECRET not in said and "canary" not in said and "a1a1a1" not in said
    if form == "json":
        assert all(isinstance(json.loads(line), dict) for line in said.splitlines())


def test_the_interpreter_s_own_crash_tells_where_and_no_value():
    said, code = told("secret = os.environ['ANTHROPIC_API_KEY']; os.abort()")
    assert code < 0 and "Fatal Python error" in said and "canary" not in said


def test_an_unknown_form_is_refused_in_one_sentence_that_holds_no_secret():
    with pytest.raises(SettingsWrong, match="COUNTERSIGN_LOGS"):
        log_form({"COUNTERSIGN_LOGS": "xml"})
    done = run("worker", "planner", env={"COUNTERSIGN_LOGS": "xml"})
    assert done.returncode == 2 and "COUNTERSIGN_LOGS" in done.stderr


SECRETS = (*FROM_FILES, *APP_KEYS[:1], MODEL_KEY, PULL_SECRET, *WEB_KEYS)
"""Every setting that is a secret, or an address with one in it."""


def canary_of(name):
    value = f"sings-{name.lower()}"
    return f"redis://:{value}@127.0.0.1:9/0" if name.endswith("_URL") else value


def test_no_setting_that_is_a_secret_is_told_by_a_line_or_a_crash():
    """Of each process: belts' and mint's credentials, and the password of the pages, among them."""
    script = "import logging\nfor name in sorted(os.environ):\n    logging.error('%s is %s', name, os.environ[name])\n"
    script += "raise ValueError(sorted(os.environ.values()))"
    said, _ = told(script, **{name: canary_of(name) for name in SECRETS})
    assert all(f"{name} is " in said for name in SECRETS) and "ValueError: [" in said
    assert [name for name in SECRETS if f"sings-{name.lower()}" in said] == []
