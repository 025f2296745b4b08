"""`python -m infra.scripted_model --port P --script FILE`: serves until it is told to stop."""

import argparse
import signal
import sys
import threading
from pathlib import Path

from infra.scripted_model.script import ScriptError, read_script
from infra.scripted_model.server import ScriptedModel


def main() -> int:
    """Prints one line with its address once it listens; 0 after SIGTERM or SIGINT, 2 when the script is unreadable."""
    parser = argparse.ArgumentParser(prog="python -m infra.scripted_model", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--script", type=Path, required=True)
    asked = parser.parse_args()
    try:
        script = read_script(asked.script)
    except ScriptError as error:
        print(f"scripted model: {error}", file=sys.stderr)
        return 2
    model = ScriptedModel(script, asked.port)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=model.stop).start())
    print(f"scripted model: {script.name} on {model.url}", flush=True)
    model.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
