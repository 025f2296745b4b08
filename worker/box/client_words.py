"""What package clients say when they fail, read by kind: whose fault it is, and whether it may pass."""

import re

from worker.box.environment import EnvironmentUnavailable

_PIP_AWAY = ("Failed to establish a new connection", "NewConnectionError", "Max retries", "after connection broken")
_NPM_AWAY = re.compile(r"\b(ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ECONNRESET|code E(429|5\d\d))\b")
_MOST = 400


def explained(kind: str, said: str) -> EnvironmentUnavailable:
    """Why a client of this kind could not bring what the tests need."""
    if kind == "python":
        return _pip(said)
    if kind == "node":
        return _npm(said)
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("$ ")]
    reason = " ".join(" ".join(lines).split())[-_MOST:] or "it said nothing"
    return EnvironmentUnavailable(f"What the tests need could not be fetched: {reason}.", "")


def _pip(said: str) -> EnvironmentUnavailable:
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    reason = " ".join(errors or said.split()[-40:])[:_MOST] or "it said nothing"
    if any(sign in said for sign in _PIP_AWAY):
        remedy = "Check the network and pip's own configuration."
        return EnvironmentUnavailable(f"The package index cannot be reached: {reason}.", remedy, passing=True)
    if "(from versions: none)" in said:
        return EnvironmentUnavailable(
            f"The package index gave nothing: {reason}.",
            "Can it be reached, and does it have wheels for this Python?",
            unsure=True,
        )
    remedy = "The checks of this repository cannot be run here."
    return EnvironmentUnavailable(f"pip found no wheels for what the tests need: {reason}.", remedy)


def _npm(said: str) -> EnvironmentUnavailable:
    lines = [line.removeprefix("npm error").strip() for line in said.splitlines() if not line.startswith("$ ")]
    reason = " ".join(line for line in lines if line and "complete log of this run" not in line)[:_MOST]
    if "EUSAGE" in reason:
        return EnvironmentUnavailable(
            f"The lock file does not fit package.json: {reason}.", "Write the lock file anew."
        )
    if _NPM_AWAY.search(reason):
        remedy = "Check the network and npm's settings."
        return EnvironmentUnavailable(f"The package registry cannot be reached: {reason}.", remedy, passing=True)
    return EnvironmentUnavailable(f"npm could not install what the tests need: {reason}.", "")
