"""The command line. What acts is another program: this one hands over to it and is gone, so no wall is crossed."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from app.accounts import add_accounts
from app.packs import add_templates
from app.rulings import add_policy
from app.settings import SettingsWrong, environment, ledger_settings, made_data_dir
from app.telling import add_telling
from app.upkeep import add_upkeep

ACTING = ("up", "setup", "doctor", "worker", "mint", "beat", "egress", "distill", "rank")
"""Commands that `worker.main` answers."""

SCHEMAS = ("plan", "policy", "bounds")


def main(words: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 not found, 2 refused with one sentence."""
    given = list(sys.argv[1:] if words is None else words)
    if given and given[0] in ACTING:
        _become("worker.main", given)
    if given and given[0] == "demo":
        _become("infra.demo", given[1:])
    if given and given[0] == "eval":
        _become("infra.eval", given[1:])
    if given and given[0] == "try":
        _become("infra.demo.trying", given[1:])
    if given == ["web"]:
        _become("app.main", [])
    parser = _parser()
    asked = parser.parse_args(given)
    from app.core.redact import redact
    from app.ledger.errors import LedgerError
    from app.logs import set_up_logs

    try:
        set_up_logs(given[0], environment())
        code = int(asked.do(asked))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Who reads has seen enough (`countersign runs | head`); nothing is to be written at exit any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (SettingsWrong, LedgerError) as refused:
        print(redact(str(refused)), file=sys.stderr)  # noqa: T201 (for the one who typed it)
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
        ("setup", "register the GitHub App, step by step in a browser"),
        ("doctor", "whether everything is ready for the first label, and what to type where it is not"),
        ("web", "the web process alone"),
        ("worker", "one belt: planner, executor or publisher"),
        ("mint", "the mint alone"),
        ("beat", "the sweep's bell alone"),
        ("egress", "the way out of one process: planner, executor, publisher, mint or web"),
        ("distill", "the part of a long output that decides"),
        ("rank", "the files that an issue may be about"),
        ("try", "a folder and an issue file, or OWNER/REPO#N: plan, approval by a key, the change as patch and branch"),
        ("demo", "everything, with a GitHub look-alike, on a real package"),
        ("eval", "task sets, with planner and executor scored apart; or this installation's runs"),
    ):
        commands.add_parser(name, help=words, add_help=False)
    schema = commands.add_parser("schema", help="the JSON Schema of a plan, of a policy or of an operator's bounds")
    schema.add_argument("of", nargs="?", choices=SCHEMAS, default="plan")
    schema.set_defaults(do=_schema)
    migrate = commands.add_parser("migrate", help="bring the ledger to this version")
    migrate.set_defaults(do=_migrate)
    add_telling(commands)
    forward = commands.add_parser("forward", help="for development only: deliveries from an SSE channel such as smee's")
    forward.add_argument("channel")
    forward.add_argument("--to", default="", help="the receiver's address; the one on this machine by default")
    forward.set_defaults(do=_forward)
    link = commands.add_parser("link", help="a one-time link to the pages, for who sits at this machine")
    link.set_defaults(do=_link)
    add_upkeep(commands)
    add_accounts(commands)
    add_policy(commands.add_parser("policy", help="a repository's policy file: check it, or explain what it leads to"))
    add_templates(commands.add_parser("templates", help="the plan templates: list them, or diff, validate, scores"))
    return parser


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")


def _schema(asked: argparse.Namespace) -> int:
    _out(schema_text(asked.of))
    return 0


def schema_text(of: str) -> str:
    """The JSON Schema (draft 2020-12) of a `plan`, a `policy` or an operator's `bounds`, as it is printed."""
    from pydantic import BaseModel

    from app.core.bounds import BOUNDS_SCHEMA, Bounds
    from app.core.plan import PLAN_SCHEMA, Plan
    from app.core.policy import POLICY_SCHEMA, Policy

    named: dict[str, tuple[str, type[BaseModel]]]
    named = {"plan": (PLAN_SCHEMA, Plan), "policy": (POLICY_SCHEMA, Policy), "bounds": (BOUNDS_SCHEMA, Bounds)}
    name, model = named[of]
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": name}
    return json.dumps(schema | model.model_json_schema(by_alias=True), indent=2)


def _migrate(asked: argparse.Namespace) -> int:
    from app.ledger import migrate

    env = environment()
    if not env.get("DATABASE_URL", "").strip():
        made_data_dir(env)
    migrate(ledger_settings(env).url)
    _out("The ledger is at this version.")
    return 0


def _forward(asked: argparse.Namespace) -> int:
    from app.forwarding import forward, say
    from app.settings import local_url

    try:
        forward(asked.channel, asked.to or f"{local_url(environment())}/webhooks/github", say)
    except KeyboardInterrupt:
        return 0
    return 0


def _link(asked: argparse.Namespace) -> int:
    from app.settings import local_url
    from app.web.links import new_link

    env = environment()
    _out(new_link(made_data_dir(env), local_url(env)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
