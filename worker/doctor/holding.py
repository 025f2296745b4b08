"""What each check may hold: the settings of one process, as `up` hands them to it, and no others."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.core.belts import Belt
from app.doctor.finding import MACHINE, Check, Found, Scene, well
from app.settings import web_settings
from worker.settings import address_in, beat_settings, belt_settings, credential_name, mint_settings
from worker.up import HOLDS, held_by

PROCESSES = tuple(HOLDS)

_LISTEN = "COUNTERSIGN_MINT_LISTEN"
_SPREAD: Mapping[str, tuple[str, ...]] = {
    "mint": (_LISTEN, *(credential_name(belt) for belt in Belt)),
    **{
        belt.value: ("COUNTERSIGN_MINT", _LISTEN, "COUNTERSIGN_MINT_CREDENTIAL", credential_name(belt))
        for belt in Belt
    },
}
"""What processes on several machines hold beside that: how a belt finds the mint and proves itself to it."""

_PLAIN = ("PATH", "COUNTERSIGN_BWRAP")
"""Settings that are no secrets, for checks of the machine."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The settings of this installation by process. `here`: the processes of this machine."""

    env: Mapping[str, str]
    here: tuple[str, ...] = PROCESSES

    def of(self, process: str) -> Mapping[str, str] | None:
        """What a check of this process is handed; None where the process is another machine's.

        Where one process alone is of this machine, it is handed all that is set, since it would be as well: what it
        must not hold is then told.
        """
        if process == MACHINE:
            return dict.fromkeys(self.env, "") | {name: self.env[name] for name in _PLAIN if self.env.get(name)}
        if process not in self.here:
            return None
        if len(self.here) == 1:
            return self.env
        more = {name: self.env[name] for name in _SPREAD.get(process, ()) if self.env.get(name)}
        return held_by(process, self.env) | more


_READ: Mapping[str, Callable[[Mapping[str, str]], object]] = {
    "web": web_settings,
    "beat": beat_settings,
    "mint": lambda env: mint_settings(env if env.get(_LISTEN) else {**env, "COUNTERSIGN_MINT_LINES_FD": "3"}),
    **{belt.value: lambda env, belt=belt: belt_settings(belt, _with_line(env)) for belt in Belt},  # type: ignore[misc]
}


def _with_line(env: Mapping[str, str]) -> Mapping[str, str]:
    """On one machine `up` hands the belt its line; elsewhere the settings say where the mint is."""
    return env if env.get("COUNTERSIGN_MINT") else {**env, "COUNTERSIGN_MINT_FD": "3"}


def settings_checks() -> tuple[Check, ...]:
    """For each process: whether it could read its settings as they stand."""
    return tuple(Check(settings_of(name), name, _look(name)) for name in PROCESSES)


def settings_of(process: str) -> str:
    """The name of that check."""
    return f"settings of {process}"


def _look(process: str) -> Callable[[Scene], list[Found]]:
    def look(scene: Scene) -> list[Found]:
        _READ[process](scene.env)
        return [well(f"{process} can start with them")]

    return look


def mint_address(env: Mapping[str, str]) -> tuple[str, int] | None:
    """Where the mint listens, as a belt is told, or as the mint itself is where both are here; None where `up` hands
    out lines."""
    return address_in(env, "COUNTERSIGN_MINT") or address_in(env, _LISTEN)
