"""`countersign demo`: the GitHub look-alike and the whole product on one machine, on a real package and issue."""

import argparse
import os
import signal
import sys
from pathlib import Path

from app.settings import SettingsWrong
from infra.demo.fetch_input import InputUnavailable
from infra.demo.playing import play
from infra.demo.stage import DemoRefused, Wish


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="countersign demo", description=__doc__)
    parser.add_argument("--auto", action="store_true", help="play the maintainer's part as well, then end")
    parser.add_argument("--out", type=Path, metavar="DIR", help="with --auto: leave result.json and repo.git here")
    parser.add_argument("--repo", type=Path, metavar="PATH", help="a repository of your own (real models needed)")
    parser.add_argument("--issue", type=Path, metavar="FILE", help="its issue: title on the first line, then the text")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """0 when the demo ended as it should, 1 when the run did not reach a draft, 2 when it could not begin.

    130 when an unattended run was interrupted. Nothing of it runs or lies about afterwards.
    """
    asked = _arguments(words)
    # Told to end, or the terminal closed: the same as Ctrl-C, so that everything is put away.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        if (asked.repo is None) != (asked.issue is None):
            raise DemoRefused("--repo and --issue go together: a repository's folder, and a file with its issue.")
        if asked.out is not None and not asked.auto:
            raise DemoRefused("--out goes with --auto: it keeps what an unattended run made.")
        return play(Wish(asked.repo, asked.issue, asked.out), dict(os.environ), asked.auto)
    except (DemoRefused, InputUnavailable, SettingsWrong) as refused:
        print(refused, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Everything has ended.", flush=True)
        return 130 if asked.auto else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
