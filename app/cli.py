"""The command line. What acts is another program: this one hands over to it and is gone, so no wall is crossed."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from app.packs import add_templates
from app.rulings import add_policy
from app.settings import SettingsWrong, environment, ledger_settings, made_data_dir
from app.upkeep import add_upkeep

ACTING = ("up", "worker", "mint", "beat", "distill", "rank")
"""Commands that `worker.main` answers."""


def main(words: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 not found, 2 refused with one sentence."""
    given = list(sys.argv[1:] if words is None else words)
    if given and given[0] in ACTING:
        _become("worker.main", given)
    if given and given[0] == "demo":
        _become("infra.demo", given[1:])
    if given == ["web"]:
        _become("app.main", [])
    parser = _parser()
    asked = parser.parse_args(given)
    from app.ledger.errors import LedgerError

    try:
        code = int(asked.do(asked))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Who reads has seen enough (`countersign runs | head`); nothing is to be written at exit any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (SettingsWrong, LedgerError) as refused:
        print(refused, file=sys.stderr)  # noqa: T201 (for the one who typed it)
        return 2


def _become(module: str, words: list[str]) -> None:
    os.execv(sys.executable, [sys.executable, "-m", module, *words])  # noqa: S606 (no shell is wanted)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="countersign", description="Label an issue, approve the plan, review the draft."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, words in (
        ("up", "everything on one machine"),
        ("web", "the web process alone"),
        ("worker", "one belt: planner, executor or publisher"),
        ("mint", "the mint alone"),
        ("beat", "the sweep's bell alone"),
        ("distill", "the part of a long output that decides"),
        ("rank", "the files that an issue may be about"),
        ("demo", "everything, with a GitHub look-alike, on a real package"),
    ):
        commands.add_parser(name, help=words, add_help=False)
    schema = commands.add_parser("schema", help="the JSON Schema of a plan, of a policy or of an operator's bounds")
    schema.add_argument("of", nargs="?", choices=("plan", "policy", "bounds"), default="plan")
    schema.set_defaults(do=_schema)
    migrate = commands.add_parser("migrate", help="bring the ledger to this version")
    migrate.set_defaults(do=_migrate)
    runs = commands.add_parser("runs", help="the newest runs")
    runs.add_argument("--limit", type=_count, default=20, help="how many, 1 to 1000; 20 by default")
    runs.set_defaults(do=_runs)
    show = commands.add_parser("show", help="one run, fact by fact")
    show.add_argument("run")
    show.set_defaults(do=_show)
    add_upkeep(commands)
    add_policy(commands.add_parser("policy", help="a repository's policy file: check it, or explain what it leads to"))
    add_templates(commands.add_parser("templates", help="the plan templates: list them, or diff, validate, scores"))
    return parser


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1_000):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 1000")
    return int(text)


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")


def _schema(asked: argparse.Namespace) -> int:
    from pydantic import BaseModel

    from app.core.bounds import BOUNDS_SCHEMA, Bounds
    from app.core.plan import PLAN_SCHEMA, Plan
    from app.core.policy import POLICY_SCHEMA, Policy

    named: dict[str, tuple[str, type[BaseModel]]]
    named = {"plan": (PLAN_SCHEMA, Plan), "policy": (POLICY_SCHEMA, Policy), "bounds": (BOUNDS_SCHEMA, Bounds)}
    name, model = named[asked.of]
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": name}
    _out(json.dumps(schema | model.model_json_schema(by_alias=True), indent=2))
    return 0


def _migrate(asked: argparse.Namespace) -> int:
    from app.ledger import migrate

    env = environment()
    if not env.get("DATABASE_URL", "").strip():
        made_data_dir(env)
    migrate(ledger_settings(env).url)
    _out("The ledger is at this version.")
    return 0


def _runs(asked: argparse.Namespace) -> int:
    from app.ledger import open_ledger

    found = open_ledger(ledger_settings(environment()).url).runs(asked.limit)
    if not found:
        sys.stderr.write("There are no runs yet: one begins when somebody sets the label on an issue.\n")
    for run in found:
        pull = f" pull request {run.pull_number}" if run.pull_number else ""
        _out(f"{run.id}  {run.state:<11} {run.repository}#{run.issue_number}{pull}  {run.issue_title[:60]!r}")
    return 0


def _show(asked: argparse.Namespace) -> int:
    from app.ledger import open_ledger

    view = open_ledger(ledger_settings(environment()).url).run(asked.run)
    if view is None:
        sys.stderr.write(f"There is no run {asked.run!r}; `countersign runs` lists them.\n")
        return 1
    for one in view.facts:
        _out(f"{one.seq:>3} {one.fact.at:%Y-%m-%d %H:%M:%S} {one.fact.model_dump_json(exclude={'at'})}")
    _out(f"state: {view.state.name}")
    for effect in view.effects:
        settled = "settled" if effect.settled_at else "owed"
        _out(f"  {settled}: {effect.effect.key} ({effect.attempts} attempts) {effect.outcome}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
