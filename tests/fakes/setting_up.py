"""A repository whose checks need what a set-up command of its own fetches from a registry, and the operator's word."""

from pathlib import Path

from tests.fakes.greeting import FILES
from tests.fakes.household import Furnishing
from tests.fakes.tls_registry import NAME, Registry

FETCH = """\
import os, ssl, sys, urllib.request
context = ssl.create_default_context(cafile="tools/registry.pem")
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
os.makedirs("vendored", exist_ok=True)
for host in sys.argv[1:]:
    with open("vendored/words", "ab") as file:
        file.write(opener.open(f"https://{host}/", timeout=10).read())
"""
CHECK = "set -e\ngrep -q package vendored/words\nsh tests/test_greet.sh\n"
POLICY = ".github/countersign.yml"
OTHER = "other.example.test"


def files(registry: Registry, *reached: str, named: str = "") -> dict[str, str | bytes]:
    """The greeting, of which a check of its own needs `vendored/words`. `reached` is what the command fetches from."""
    named = named or f"{NAME}:{registry.port}"
    words = ", ".join(["python3", "tools/fetch.py", *(f'"{host}"' for host in reached)])
    return {
        **FILES,
        "tools/check.sh": CHECK,
        "tools/fetch.py": FETCH,
        "tools/registry.pem": registry.authority(),
        POLICY: f'setup: [[{words}]]\nhosts: ["{named}"]\n'
        "checks: {make test: {run: [sh, tools/check.sh]}}\n",
    }


def furnished(folder: Path, registry: Registry) -> Furnishing:
    """The operator lets repositories name commands and this registry, and says where it is."""
    bounds = folder / "bounds.yml"
    bounds.write_text(f'own_checks: true\nhosts: ["{NAME}:{registry.port}"]\n')
    return Furnishing(
        env={
            "COUNTERSIGN_BOUNDS": str(bounds),
            "COUNTERSIGN_BOX_NETWORKS": "127.0.0.1/32",
            "COUNTERSIGN_BOX_NAMES": f"{NAME}=127.0.0.1,{OTHER}=127.0.0.1",
        }
    )
