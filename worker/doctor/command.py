"""`countersign doctor`: every check in its turn, told as it is made, and an exit code."""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

from app.doctor.finding import Check, Told, chosen, examine, exit_code
from app.doctor.here import checks_here, look_at_templates
from app.doctor.telling import as_json, lines_of, summary
from app.settings import PULL_SECRET, SettingsWrong, label
from worker.doctor.app import APP_CHECKS
from worker.doctor.holding import PROCESSES, Holding, settings_checks, settings_of
from worker.doctor.hooks import hook_checks
from worker.doctor.machine import MACHINE_CHECKS, NAMES_CHECK, line_checks
from worker.doctor.repositories import repository_check
from worker.up import with_pull


def doctor_command(words: Sequence[str], env: Mapping[str, str]) -> int:
    """0: all is well. 1: there is a fault. 2: something could not be looked at, or the words are of no use."""
    asked = _parser().parse_args(words)
    here = tuple(dict.fromkeys(asked.of)) or PROCESSES
    told: list[Told] = []
    checks = chosen(table(here, tuple(asked.repo), env), asked.only)
    for one in examine(checks, Holding(_pulled(env), here).of):
        told.append(one)
        if not asked.json:
            _say(*lines_of(one))
    if asked.json:
        _say(json.dumps(as_json(told), indent=2))
    else:
        _say("", summary(told))
    return exit_code(told)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="countersign doctor", description="Whether everything is ready for a label.")
    repo = "look at this repository too; may be given again"
    parser.add_argument("--repo", type=_full_name, action="append", default=[], metavar="OWNER/REPO", help=repo)
    of = "look at this process alone, where the others run on other machines; may be given again"
    parser.add_argument("--of", choices=PROCESSES, action="append", default=[], metavar="PROCESS", help=of)
    only = "make the checks alone whose names begin so, and those that they need; may be given again"
    parser.add_argument("--only", action="append", default=[], metavar="CHECK", help=only)
    parser.add_argument("--json", action="store_true", help="for programs")
    return parser


def _full_name(text: str) -> str:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not OWNER/REPO")
    return text


def table(here: Sequence[str], repositories: Sequence[str], env: Mapping[str, str]) -> Iterator[Check]:
    """Every check, in the order in which they are made. What all processes share is looked at as the first of them.
    Of the settings, those are taken here that no process hides from another."""
    first = here[0]
    yield NAMES_CHECK
    yield from settings_checks()
    yield from checks_here(first)
    planner = "planner" if "planner" in here else "executor"
    yield Check("templates", planner, look_at_templates, (settings_of(planner),))
    yield from MACHINE_CHECKS
    yield from line_checks()
    yield from APP_CHECKS
    yield from hook_checks(env.get("COUNTERSIGN_URL", ""))
    for repository in repositories:
        yield repository_check(repository, label(env))


def _pulled(env: Mapping[str, str]) -> Mapping[str, str]:
    """As `up` would have it: deliveries are fetched where that is set. A setting that is wrong is told by its check."""
    try:
        pulled = with_pull(env)
    except SettingsWrong:
        return env
    return {**env, PULL_SECRET: pulled[PULL_SECRET]} if PULL_SECRET in pulled else env


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
