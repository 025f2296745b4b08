"""Secrets that are handed over as files: Compose and Kubernetes mount them, and a variable says where."""

from collections.abc import Mapping
from pathlib import Path

FROM_FILES = (
    "DATABASE_URL",
    "CELERY_BROKER_URL",
    "ANTHROPIC_API_KEY",
    "GITHUB_WEBHOOK_SECRET",
    "GITHUB_WEBHOOK_SECRET_OLD",
    "COUNTERSIGN_PAGES_PASSWORD",
    "GITHUB_CLIENT_SECRET",
    "COUNTERSIGN_MINT_CREDENTIAL",
    "COUNTERSIGN_MINT_CREDENTIAL_PLANNER",
    "COUNTERSIGN_MINT_CREDENTIAL_EXECUTOR",
    "COUNTERSIGN_MINT_CREDENTIAL_PUBLISHER",
)
"""What may also be given as a file's path, in a variable of this name with `_FILE` behind it."""

MAY_BE_EMPTY = ("GITHUB_CLIENT_SECRET", "GITHUB_WEBHOOK_SECRET_OLD")
"""Settings that an installation may do without: their file is mounted all the same, and when empty sets nothing."""


class HandedWrong(Exception):
    """A file cannot stand for a setting; the message is one sentence for the operator. `name` is the setting."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name


def with_files(env: Mapping[str, str]) -> Mapping[str, str]:
    """The same, and for each `NAME_FILE` of `FROM_FILES` the content of that file as `NAME`, without the line end.

    Raises `HandedWrong`; no sentence holds what stands in a file.
    """
    found = dict(env)
    for name in FROM_FILES:
        path = found.pop(f"{name}_FILE", "").strip()
        if not path:
            continue
        if found.get(name, "").strip():
            raise HandedWrong(name, f"Both {name} and {name}_FILE are set; unset one of them.")
        try:
            found[name] = Path(path).expanduser().read_text("utf-8").removesuffix("\n")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            raise HandedWrong(name, f"The file that {name}_FILE names cannot be read: {reason}.") from None
        if not found[name].strip() and name not in MAY_BE_EMPTY:
            raise HandedWrong(name, f"The file that {name}_FILE names is empty.")
    return found
