"""Settings by their names: one that nobody reads is told, with the name that was probably meant."""

import difflib
import re
from collections.abc import Iterable, Iterator

from app.doctor.finding import Found, Scene, fault, well
from app.handed import FROM_FILES

_WRITTEN = """
ANTHROPIC_API_KEY ANTHROPIC_BASE_URL CELERY_BROKER_URL DATABASE_URL GITHUB_API_URL GITHUB_APP_ID GITHUB_CLIENT_ID
GITHUB_CLIENT_SECRET GITHUB_PRIVATE_KEY GITHUB_PRIVATE_KEY_PATH GITHUB_WEBHOOK_SECRET GITHUB_WEBHOOK_SECRET_OLD HOST
PORT
COUNTERSIGN_APP_PAGE COUNTERSIGN_BOT_ID COUNTERSIGN_BOUNDS COUNTERSIGN_BOX COUNTERSIGN_BOX_CGROUP
COUNTERSIGN_BOX_LIMITS COUNTERSIGN_BOX_NAMES COUNTERSIGN_BOX_NETWORKS COUNTERSIGN_BWRAP COUNTERSIGN_DATA_DIR
COUNTERSIGN_DAY_USD COUNTERSIGN_DOCS_CA_FILE COUNTERSIGN_DOCS_HOSTS COUNTERSIGN_DOCS_NETWORKS COUNTERSIGN_EGRESS
COUNTERSIGN_EGRESS_HOSTS COUNTERSIGN_EGRESS_LISTEN COUNTERSIGN_EGRESS_NAMES COUNTERSIGN_EGRESS_NETWORKS
COUNTERSIGN_ENVIRONMENTS_GB COUNTERSIGN_EXECUTOR_MODEL COUNTERSIGN_LABEL COUNTERSIGN_LEASE_SECONDS COUNTERSIGN_LOGS
COUNTERSIGN_METRICS_TOKEN COUNTERSIGN_MINT COUNTERSIGN_MINT_CREDENTIAL COUNTERSIGN_MINT_CREDENTIAL_EXECUTOR
COUNTERSIGN_MINT_CREDENTIAL_PLANNER COUNTERSIGN_MINT_CREDENTIAL_PUBLISHER COUNTERSIGN_MINT_FD
COUNTERSIGN_MINT_LINES_FD COUNTERSIGN_MINT_LISTEN COUNTERSIGN_MIRROR_GB COUNTERSIGN_MODELS COUNTERSIGN_PAGES_PASSWORD
COUNTERSIGN_PLANNER_MODEL COUNTERSIGN_PODS_API COUNTERSIGN_PODS_CLAIM COUNTERSIGN_PODS_IMAGE
COUNTERSIGN_PODS_NAMESPACE COUNTERSIGN_PODS_RUNTIME_CLASS COUNTERSIGN_PODS_VOLUME COUNTERSIGN_PULL
COUNTERSIGN_PULL_SECRET COUNTERSIGN_PULL_TO COUNTERSIGN_REPOSITORY_DAY_USD COUNTERSIGN_SCOUT_MODEL
COUNTERSIGN_SETUP_FD COUNTERSIGN_SWEEP_SECONDS COUNTERSIGN_TEMPLATES COUNTERSIGN_TEMPLATE_CANDIDATES
COUNTERSIGN_TEMPLATE_VERSIONS COUNTERSIGN_URL COUNTERSIGN_WATCH_SECONDS
"""

NAMES = frozenset(re.findall(r"\w+", _WRITTEN)) | {f"{name}_FILE" for name in FROM_FILES}
"""Every setting that some process reads. A test holds it against the code."""

_OURS = "COUNTERSIGN_"
_NEAR = 0.9
_OTHERS = re.compile(r"(GITHUB|ANTHROPIC|CELERY|DATABASE)_")


def misspelt(given: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each name that nobody reads, and the nearest one that is read; empty where none is near.

    Names that begin as other programs' do as well are told only where they are very near to one that is not set.
    """
    there = set(given)
    for name in sorted(there - NAMES):
        if name.startswith(_OURS):
            yield name, next(iter(difflib.get_close_matches(name, NAMES, 1)), "")
        elif _OTHERS.match(name):
            near = difflib.get_close_matches(name, NAMES - there, 1, _NEAR)
            yield from ((name, one) for one in near)


def look_at_names(scene: Scene) -> Iterator[Found]:
    """Names alone: no value is read."""
    strangers = list(misspelt(scene.env))
    for name, near in strangers:
        meant = f" {near} was probably meant." if near else ""
        do = f"unset {name}; export {near}=…" if near else f"unset {name}"
        yield fault(f"{name} is set, and nothing reads it.{meant}", "What it was to say does not hold.", do)
    if not strangers:
        ours = sum(name in NAMES for name in scene.env)
        yield well(f"{ours} settings are set, and each is read")
