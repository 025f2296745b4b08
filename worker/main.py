"""The entry of every process that acts: `python -m worker.main worker BELT | mint | up | setup` and so on."""

import io
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING

from app.core.belts import Belt
from app.core.redact import learn, redact
from app.ledger.errors import LedgerError
from app.logs import set_up_logs
from app.settings import SettingsWrong, environment, made_data_dir
from worker.github.key import KeyRefused
from worker.settings import BeltSettings, MintLine, MintSettings, beat_settings, belt_settings, mint_settings

if TYPE_CHECKING:
    from worker.mint.caller import MintCaller
    from worker.mint.serve import MintServer
    from worker.telemetry.export import Export

REFUSED = 2
"""Exit code of a process that must not start as it was set up."""

USAGE = (
    "usage: countersign worker {planner,executor,publisher} | mint | beat | egress OF | up | setup | "
    "doctor | distill | rank"
)


def main(words: Sequence[str]) -> int:
    """Runs until told to stop. Exit code 2, with one sentence, for what must not start."""
    try:
        set_up_logs(_name_of(words), environment())
        match list(words):
            case ["worker", belt] if belt in set(Belt):
                return run_belt(Belt(belt))
            case ["mint"]:
                return run_mint()
            case ["beat"]:
                return run_beat()
            case ["egress", process]:
                from worker.way_out import open_way_out

                return open_way_out(process, environment())
            case ["up"]:
                from worker.up import up

                return up(environment())
            case ["setup", *rest]:
                from worker.setting_up import setup_command

                stopping = threading.Event()
                _on_stop(stopping.set)
                return setup_command(rest, environment(), stopping.wait)
            case ["doctor", *rest]:
                from worker.doctor.command import doctor_command

                return _printed(lambda words: doctor_command(words, environment()), rest)
            case ["registrar"]:
                return run_registrar()
            case ["distill", *rest]:
                from worker.evidence.distill_command import distill_command

                return _printed(distill_command, rest)
            case ["rank", *rest]:
                from worker.repo.rank_command import rank_command

                return _printed(rank_command, rest)
    except (SettingsWrong, LedgerError, KeyRefused) as refused:
        print(redact(str(refused)), file=sys.stderr)  # noqa: T201 (for the one who starts it)
        return REFUSED
    print(USAGE, file=sys.stderr)  # noqa: T201 (for the one who starts it)
    return REFUSED


def _name_of(words: Sequence[str]) -> str:
    """How the process is called in its log: a belt by its name. What else was typed is not told: an address that set-up
    is given holds GitHub's code."""
    if len(words) == 2 and words[0] in ("worker", "egress"):
        return words[1] if words[0] == "worker" else f"egress-{words[1]}"
    return "".join(words[:1])


def run_registrar() -> int:
    """The registrar: one App is registered and kept, then it ends."""
    from app.settings import data_dir
    from app.setup_settings import registrar_line
    from worker.mint.registering import answer_until_registered

    env = environment()
    return answer_until_registered(registrar_line(env), data_dir(env))


def _printed(command: Callable[[Sequence[str]], int], words: Sequence[str]) -> int:
    """The command's exit code. What the terminal has no sign for is escaped; a reader that leaves ends it quietly."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = command(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at its end, and nobody is there to read that either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    return code


def run_belt(belt: Belt) -> int:
    """One belt's worker: its own queue, its own keys, a few threads."""
    from app.ledger import open_ledger
    from app.queue import Doorbell, make_celery
    from app.queue.listening import Ears, listen
    from worker import tasks
    from worker.belts.scratch import clear_left
    from worker.ending import Ending
    from worker.late_labels import LateLabels
    from worker.rereading import Rereading
    from worker.shop import Shop
    from worker.watching import Watch

    settings = belt_settings(belt, environment())
    made_data_dir(environment())
    ledger = open_ledger(settings.ledger.url)
    celery = make_celery(settings.queue)
    ending = Ending(writes_outside=belt is Belt.PUBLISHER)
    export = _export(settings)
    mint = _mint(settings.mint, belt)
    shop = Shop(settings, ledger, Doorbell(celery), mint, ledger.clock, ending=ending, export=export)
    clear_left(time.time())
    watch = Watch(shop) if belt is Belt.PUBLISHER else None
    readers = (Rereading(shop, watch), LateLabels(shop, watch)) if watch is not None else ()
    ears = Ears(
        belt=belt,
        threads=settings.threads,
        work=lambda effect_id: tasks.work(shop, effect_id),
        sweep=lambda name: tasks.sweep(shop, watch, *readers),
        stopping=ending.stop,
    )
    code = listen(celery, ears)
    if watch is not None:
        watch.close()
    ledger.close()
    if export is not None:
        export.close()
    return code


def _export(settings: BeltSettings) -> "Export | None":
    """Nothing of OpenTelemetry is loaded where nobody asked for it."""
    if settings.telemetry is None:
        return None
    from worker.telemetry.export import Export
    from worker.telemetry.measures import Measures

    process = str(settings.belt)
    return Export(process, Measures(process) if settings.telemetry.metrics else None)


def _mint(line: MintLine, belt: Belt) -> "MintCaller":
    from worker.mint.caller import MintCaller

    if line.descriptor is not None:
        try:
            return MintCaller.inherited(line.descriptor, _end_this)
        except OSError as error:
            name = "COUNTERSIGN_MINT_FD"
            raise SettingsWrong(name, f"{name} names no socket that was inherited: {error.strerror}.") from error
    assert line.address is not None
    return MintCaller.over_network(line.address, belt.value, line.credential)


def _end_this() -> None:
    """This process ends in good order; on one machine `up` starts it again with a new line to the mint."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


def run_mint() -> int:
    """The mint: started, it answers belts and looks for missed deliveries; told to stop, it ends every token it cut."""
    from app.ledger import open_ledger
    from worker.github.app import AppIdentity
    from worker.github.asking import ConnectionSettings
    from worker.github.key import private_key_of
    from worker.mint.catching_up import CatchingUp
    from worker.mint.mint import Mint, Site
    from worker.mint.pulling import Pulling, Receiver
    from worker.mint.serve import MintServer

    settings = mint_settings(environment())
    learn([settings.private_key])
    key = private_key_of(settings.private_key, settings.key_variable)
    learn([key])
    ledger = open_ledger(settings.ledger.url)
    connections = ConnectionSettings(write_gap_seconds=0.0)
    github = settings.github
    with AppIdentity(github.api_url, settings.app_id, key, settings=connections) as identity:
        mint = Mint(ledger, identity, Site(github.api_url, connections, settings.bounds), ledger.clock)
        server = MintServer(mint)
        _on_stop(server.stop)
        _begin_to_answer(server, settings)
        over = threading.Event()
        catching_up = CatchingUp(ledger, mint, github.api_url, ledger.clock)
        if settings.pull is not None:
            catching_up = Pulling(ledger, mint, github.api_url, ledger.clock).to(Receiver(*settings.pull))
        looking = threading.Thread(target=catching_up.go_on, args=(over,), name="catching up", daemon=True)
        looking.start()
        server.run_until_stopped()
        over.set()
    ledger.close()
    return 0


def _begin_to_answer(server: "MintServer", settings: MintSettings) -> None:
    name = "COUNTERSIGN_MINT_LINES_FD"
    try:
        if settings.lines is not None:
            server.take_lines(settings.lines)
        name = "COUNTERSIGN_MINT_LISTEN"
        if settings.listen is not None:
            host, port = server.listen(settings.listen, settings.credentials)
            logging.getLogger("countersign.mint").info("answering on %s port %d", host, port)
    except OSError as error:
        raise SettingsWrong(name, f"{name} cannot be used: {error.strerror or error}.") from error


def run_beat() -> int:
    """Beat: it rings each belt's sweep at its interval, and does nothing else."""
    from app.queue import make_celery, ring_sweeps

    settings = beat_settings(environment())
    celery = make_celery(settings)
    ring_sweeps(celery)
    return 0


def _on_stop(stop: Callable[[], None]) -> None:
    def stopped(number: int, frame: FrameType | None) -> None:
        # Not within the handler itself: it may have interrupted a thread that holds a lock.
        threading.Thread(target=stop, name="stop").start()

    signal.signal(signal.SIGTERM, stopped)
    signal.signal(signal.SIGINT, stopped)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
