"""Run a twin: `python -m infra.twin --port P --data DIR [...]`; one line of JSON on standard output when it answers."""

import argparse
import json
import os
import signal
import sys
from pathlib import Path

from infra.twin.app_key import write_key_pair
from infra.twin.twin import SLUG, AppWish, Twin


def _arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.twin", description="A stand-in for GitHub on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--data", type=Path, required=True, help="folder for the git repositories")
    parser.add_argument("--webhook-url")
    parser.add_argument("--webhook-secret-env", metavar="NAME", help="environment variable that holds the secret")
    parser.add_argument("--app-id", type=int, default=AppWish().id)
    parser.add_argument("--app-slug", default=SLUG)
    parser.add_argument("--app-public-key", type=Path, metavar="FILE", help="PEM; without it DATA gets a key pair")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Serve until SIGTERM or SIGINT; the exit status for the shell."""
    chosen = _arguments(words)
    ready: dict[str, str | int] = {}
    public = chosen.app_public_key
    if public is None:
        private, public = write_key_pair(chosen.data)
        ready["private_key_path"] = str(private)
    secret = os.environ.get(chosen.webhook_secret_env, "") if chosen.webhook_secret_env else ""
    if chosen.webhook_url and not secret:
        print("a webhook needs a secret: name its variable with --webhook-secret-env", file=sys.stderr)
        return 2
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    wish = AppWish(chosen.app_id, chosen.app_slug, public.read_text(), chosen.webhook_url, secret)
    try:
        twin = Twin.start(chosen.data, wish, chosen.port)
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(json.dumps({"url": twin.url, "app_id": chosen.app_id, "app_slug": chosen.app_slug, **ready}), flush=True)
    signal.sigwait(stops)
    twin.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
