"""`make bench-planning REPOS=dir LOGS=dir`: every figure of the planner's side in one run, as JSON, with its aim.

Ranking without a model and after a reproduction, facts that distilled views keep, what an investigation gives a model
to read, and snapshots. Each part is a program of its own, so that none measures the memory of another.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

AIMS = {
    "ranking": "60 / 88 / 93 % of the issues have all files of the fix among the first 1 / 5 / 10, weights left out",
    "ranking after a reproduction": "beside the ranking without one, on the issues that went through something",
    "distilling": "92 / 97 / 99.5 % of the facts at 2,000 / 4,000 / 10,000 characters, no log of which nothing is "
    "kept, 10 MB a second",
    "input of an investigation": "a third or less of what a growing transcript gives, and no turn above the bound",
    "snapshots": "a snapshot from a warm mirror beside a fresh shallow clone, and a search in it",
}


def parts(asked: argparse.Namespace) -> dict[str, list[str]]:
    """The words of each program, by the name of its figures."""
    repos, issues = str(asked.repos), str(asked.issues)
    found = {
        "ranking": ["infra.bench.rank", repos, issues],
        "ranking after a reproduction": ["infra.bench.rank_frames", repos, issues, "--uv", asked.uv],
        "distilling": ["infra.bench.distill", str(asked.logs)],
        "input of an investigation": ["infra.bench.input", str(asked.repo)],
        "snapshots": ["infra.bench.snapshot", str(asked.snapshots or asked.repos)],
    }
    if asked.grounds:
        found["ranking after a reproduction"] += ["--grounds", str(asked.grounds)]
    return found


def measured(words: list[str]) -> Any:
    """What the program printed; where it could not measure, its last words."""
    ran = subprocess.run([sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True, check=False)
    try:
        return json.loads(ran.stdout)
    except ValueError:
        return {"not measured": f"exit status {ran.returncode}: {ran.stdout.strip()[-300:]}"}


def main() -> int:
    """Prints the figures; progress goes to standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repos", type=Path, help="a folder of bare clones, owner+name.git")
    parser.add_argument("logs", type=Path, help="a folder with NAME.log and NAME.keep.json")
    parser.add_argument("issues", type=Path)
    parser.add_argument("--repo", type=Path, default=Path(), help="the repository that is investigated")
    parser.add_argument("--snapshots", type=Path, help="a folder of bare clones for the snapshots, if another")
    parser.add_argument("--grounds", type=Path, help="where old interpreters and packages are kept")
    parser.add_argument("--uv", default="uv")
    asked = parser.parse_args()
    report = {}
    for name, words in parts(asked).items():
        print(f"{name} …", file=sys.stderr, flush=True)
        report[name] = {"aim": AIMS[name], "measured": measured(words)}
    print(json.dumps(report, indent=1, ensure_ascii=False))
    return int(any("not measured" in one["measured"] for one in report.values()))


if __name__ == "__main__":
    raise SystemExit(main())
