"""The one way to run git: fixed arguments, an empty configuration, no hooks, filters, prompts or other transports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from worker.box.tool import ToolFailure, ToolMissing, ToolOutputTooLong, ToolTimedOut, run_tool

_PATH = "/usr/local/bin:/usr/bin:/bin"

_SETTINGS = {
    "advice.detachedHead": "false",
    "core.askPass": "",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.quotePath": "false",
    "credential.helper": "",
    "fetch.fsckObjects": "true",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "filter.lfs.smudge": "",
    "gc.auto": "0",
    "grep.threads": "2",
    "http.cookieFile": "",
    # A redirect would carry the credentials to another address; renames are found through the API instead.
    "http.followRedirects": "false",
    # A server that packs a large history sends some bytes in five seconds and no more, for minutes.
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "120",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "transfer.fsckObjects": "true",
}

# Old histories of honest projects hold these; they harm nobody who does not check them out.
_OLD_SINS = (
    "badDate", "badDateOverflow", "badEmail", "badTimezone", "missingEmail", "missingNameBeforeEmail",
    "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTaggerEntry", "multipleAuthors", "nulInCommit",
    "zeroPaddedDate", "zeroPaddedFilemode",
)  # fmt: skip


class GitError(Exception):
    """A git command did not do what was asked. The text is git's own; it may name a remote."""


class GitMissing(GitError):
    """There is no git on this machine."""


class GitTooSlow(GitError):
    """The command was stopped at its time limit."""


class GitTooLong(GitError):
    """The command wrote more than the limit and was stopped."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one command may take: seconds, and bytes of output."""

    seconds: float = 60.0
    output_bytes: int = 64 * 1024 * 1024


QUICK = Bounds()


@dataclass(frozen=True, slots=True)
class Git:
    """Git on one bare repository.

    `environment` is added for transports (proxy, certificates, the askpass program); `folder` is where the command
    runs, and its work tree, where that is not the repository itself.
    """

    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None

    def run(self, *words: str, input: bytes | None = None, bounds: Bounds = QUICK) -> bytes:
        """Standard output of a command that succeeded. Raises GitError."""
        status, out, said = self.ask(words, input, bounds)
        if status != 0:
            raise GitError(said.strip() or f"git {words[0]} ended with status {status}")
        return out

    def ask(self, words: Sequence[str], input: bytes | None = None, bounds: Bounds = QUICK) -> tuple[int, bytes, str]:
        """Exit status, standard output and error text. Raises GitError only where the command did not end."""
        tree = [] if self.folder is None else [f"--work-tree={self.folder}"]
        argv = ["git", "--no-pager", f"--git-dir={self.directory}", *tree, *_settings(self.directory), *words]
        try:
            ran = run_tool(
                argv,
                cwd=self.folder or self.directory,
                environment=self._environment(),
                input=input,
                timeout_seconds=bounds.seconds,
                output_limit=bounds.output_bytes,
            )
        except ToolMissing as error:
            raise GitMissing("git is not installed") from error
        except ToolTimedOut as error:
            raise GitTooSlow(f"git {words[0]} took longer than {bounds.seconds:g} seconds") from error
        except ToolOutputTooLong as error:
            raise GitTooLong(f"git {words[0]} wrote more than {bounds.output_bytes:,} bytes") from error
        except ToolFailure as error:
            raise GitError(f"git {words[0]} did not end by itself") from error
        return ran.exit_status, ran.stdout, ran.stderr.decode("utf-8", "replace")

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": _PATH,
            "HOME": "/nonexistent",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_LFS_SKIP_SMUDGE": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            **self.environment,
        }


def _settings(directory: Path) -> list[str]:
    pairs = {**_SETTINGS, **{f"fetch.fsck.{sin}": "ignore" for sin in _OLD_SINS}, "safe.directory": str(directory)}
    return [word for key, value in pairs.items() for word in ("-c", f"{key}={value}")]
