"""What every process may look at: its ledger, its broker, the data folder and the disk below it, the templates."""

import os
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from app.core.shelf import Shelf, Standing, doubts
from app.core.template import TemplateUnreadable, read_template
from app.doctor.finding import Check, Found, Scene, fault, well, worth_knowing
from app.ledger.errors import LedgerBehind, LedgerError, LedgerForbids
from app.registration import FOLDER
from app.settings import data_dir, ledger_url, queue_settings, template_settings, whole_number

LEAST_FREE = 2**30
LEAST_FILES = 10_000
OTHERS = 0o077
FAR = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs", "fuse.glusterfs", "lustre", "virtiofs")
"""Kinds of file system that reach over a network, where SQLite's shared memory and locks do not hold."""

PROVES = ("web", "mint")
"""Processes whose role may record that it can record."""

_NO_LEDGER = "Nothing is recorded without the ledger: deliveries are refused, and no run begins."


def look_at_ledger(scene: Scene) -> Iterator[Found]:
    """The database answers, has this version's schema and takes what is written to it."""
    from app.ledger.engine import RESTORE
    from app.ledger.probing import ledger_file, probe, prove

    url = ledger_url(scene.env)
    file = ledger_file(url)
    if file is not None and not file.exists():
        do = "countersign migrate     (`countersign up` does it by itself)"
        yield fault(f"There is no ledger at {file} yet.", _NO_LEDGER, do)
        return
    try:
        standing = probe(url)
        if scene.of in PROVES:
            prove(url, datetime.now(UTC))
    except LedgerBehind as behind:
        yield fault(str(behind), "A process of this version does not start on it.", "countersign migrate")
        return
    except LedgerForbids as forbids:
        do = "countersign roles | psql …     (as the tables' owner), and grant the role to this account"
        yield fault(str(forbids), _NO_LEDGER, do)
        return
    except LedgerError as trouble:
        yield fault(str(trouble), _NO_LEDGER, _mending(file))
        return
    taken = ", and something was recorded in it" if scene.of in PROVES else ""
    yield well(f"{standing.server}, schema {standing.schema}{taken}")
    for sentence in standing.corrupt:
        why = "That run is left aside: nothing of it goes on, and nobody is told so on its issue."
        yield fault(sentence, why, RESTORE)
    yield from _beside(file, standing.journal, standing.roles, standing.unserved)


def _mending(file: Path | None) -> str:
    if file is None:
        return "Start the database, and look at DATABASE_URL: psql \"$DATABASE_URL\" -c 'select 1'"
    return f"ls -l {file}*     (this account has to own them); sqlite3 {file} 'pragma integrity_check'"


def _beside(file: Path | None, journal: str, roles: tuple[str, ...], unserved: tuple[str, ...]) -> Iterator[Found]:
    if journal and journal != "wal":
        why = "Readers then wait for writers, and a delivery may take longer than GitHub waits."
        yield fault(f"SQLite's journal is {journal} and not WAL.", why, "Put the data folder on a local disk.")
    if file is not None:
        yield from private(file, "The ledger holds what issues and people said, and the key of our markers.")
    if unserved:
        more = f" and {len(unserved) - 3} tables more" if len(unserved) > 3 else ""
        what = f"Not every role of ours ({', '.join(roles)}) can read {', '.join(unserved[:3])}{more}."
        why = "A migration made that since `countersign roles` was run; processes with these roles fail at it."
        yield fault(what, why, "countersign roles | psql …     (as the tables' owner)")
    if not journal and not roles:
        why = "Each process could then write what is another's, such as an approval."
        do = "countersign roles | psql …     (as the tables' owner), and give each process an account of its own"
        yield worth_knowing("The database knows no role of ours.", why, do)


def private(path: Path, why: str) -> Iterator[Found]:
    """A fault where others than this account can reach the file or folder."""
    seen = path.stat()
    if stat.S_IMODE(seen.st_mode) & OTHERS:
        kind = "700" if path.is_dir() else "600"
        mode = f"{stat.S_IMODE(seen.st_mode):03o}"
        yield fault(f"{path} can be reached by others (mode {mode}).", why, f"chmod {kind} {path}")


def look_at_broker(scene: Scene) -> Iterator[Found]:
    """A bell can be rung, and is not thrown away."""
    from app.queue import VISIBILITY_SECONDS, broker_standing, broker_trouble, make_celery

    celery = make_celery(queue_settings(scene.env))
    trouble = broker_trouble(celery)
    if trouble:
        why = "No belt hears that work is there; the sweep cannot be rung either, so nothing goes on."
        do = "Start the broker and look at CELERY_BROKER_URL: redis-cli -u \"$CELERY_BROKER_URL\" set probe 1"
        read_only = "ReadOnly" in trouble or "read only" in trouble.lower()
        if read_only:
            do = 'redis-cli -u "$CELERY_BROKER_URL" replicaof no one     (or name the primary in CELERY_BROKER_URL)'
        yield fault(trouble, why, do)
        return
    standing = broker_standing(celery)
    again = f"; one that nobody answers is given again after {VISIBILITY_SECONDS // 3600} hours"
    yield well(f"{standing.server} takes bells{again if standing.server.startswith('Redis') else ''}")
    if standing.evicts:
        what = f"Redis throws bells away when it is full (maxmemory-policy {standing.evicts})."
        why = "What is thrown away is found by a sweep: it costs time."
        yield worth_knowing(what, why, 'redis-cli -u "$CELERY_BROKER_URL" config set maxmemory-policy noeviction')


def look_at_folder(scene: Scene) -> Iterator[Found]:
    """The data folder is this account's, on a disk of this machine, and what is private in it is."""
    place = data_dir(scene.env)
    if not place.is_dir():
        why = "Ledger, mirrors and the App's files are kept there."
        do = f"install -d -m 711 {place}     (as the account that runs Countersign; `countersign up` makes it too)"
        yield fault(f"There is no data folder at {place}.", why, do)
        return
    if not os.access(place, os.W_OK | os.X_OK):
        why = "Nothing can be kept."
        yield fault(f"This account cannot write to {place}.", why, f"sudo chown -R {os.geteuid()} {place}")
        return
    found = [*_shared(place), *_registered(place), *far(place, kind_of(place))]
    yield from found or [well(f"{place} is this account's, on {kind_of(place) or 'a disk'}")]


def _shared(place: Path) -> Iterator[Found]:
    mode = stat.S_IMODE(place.stat().st_mode)
    if mode & 0o022:
        why = "Who can write there can put another ledger or another key in its place."
        yield fault(f"{place} can be written to by others (mode {mode:03o}).", why, f"chmod 711 {place}")


def _registered(place: Path) -> Iterator[Found]:
    folder = place / FOLDER
    if folder.is_dir():
        why = "Whoever reads the App's key can act as the App in every repository where it is installed."
        for path in (folder, *sorted(folder.iterdir())):
            yield from private(path, why)


def far(place: Path, kind: str) -> Iterator[Found]:
    """A fault where that kind of file system reaches over a network."""
    if kind in FAR:
        why = "SQLite's locks do not hold there: the ledger may be damaged. PostgreSQL has no such need."
        do = "Put COUNTERSIGN_DATA_DIR on a disk of this machine, or set DATABASE_URL to a PostgreSQL."
        yield fault(f"{place} lies on a network's file system ({kind}).", why, do)


def kind_of(place: Path, mounts: Path = Path("/proc/mounts")) -> str:
    """The kind of the file system that holds a place; empty where the machine does not tell."""
    try:
        lines = [line.split() for line in mounts.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    real = place.resolve()
    over = [(len(words[1]), words[2]) for words in lines if len(words) > 2 and real.is_relative_to(words[1])]
    return max(over)[1] if over else ""


def look_at_disk(scene: Scene) -> Iterator[Found]:
    """There is room below the data folder, in bytes and in files."""
    place = data_dir(scene.env)
    free, seen = shutil.disk_usage(place).free, os.statvfs(place)
    gigabytes = sum(
        whole_number(scene.env, name, most, (1, 100_000)) or 0
        for name, most in (("COUNTERSIGN_MIRROR_GB", 20), ("COUNTERSIGN_ENVIRONMENTS_GB", 10))
    )
    yield from room(place, free, seen.f_favail if seen.f_files else None, gigabytes)


def room(place: Path, free: int, files: int | None, gigabytes: int) -> Iterator[Found]:
    """How `free` bytes stand, and so many further files (None where the file system has no bound of them), where
    mirrors and environments may take so many gigabytes."""
    why = "Without room nothing is recorded, and a delivery is refused."
    few = files is not None and files < LEAST_FILES
    if free < LEAST_FREE:
        yield fault(f"{_size(free)} are free below {place}.", why, f"df -h {place}")
    if few:
        yield fault(f"{files} further files can be made below {place}.", why, f"df -i {place}")
    if LEAST_FREE <= free < gigabytes * 10**9:
        do = f"export COUNTERSIGN_MIRROR_GB=… COUNTERSIGN_ENVIRONMENTS_GB=…     (together below {free // 10**9})"
        what = f"{_size(free)} are free below {place}; mirrors and environments may take {gigabytes} GB."
        yield worth_knowing(what, "What was used longest ago goes only once they have taken that much.", do)
    elif free >= LEAST_FREE and not few:
        yield well(f"{_size(free)} are free below {place}")


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


def look_at_templates(scene: Scene) -> Iterator[Found]:
    """Every template that may be chosen can be read."""
    shelf = Shelf(template_settings(scene.env).folder)
    count, complaints = 0, []
    for name in shelf.versions():
        for folder in shelf.folders(name):
            try:
                template = read_template(folder)
            except TemplateUnreadable as error:
                complaints.append((folder, " ".join(str(error).split())))
                continue
            count += 1
            own = shelf.standing(folder) is not Standing.RELEASED
            complaints += [(folder, doubt) for doubt in doubts(template)] if own else []
    for folder, said in complaints:
        why = "A run that asks for this template has no plan."
        yield fault(said, why, f"countersign templates validate {folder}")
    if not complaints:
        yield well(f"{count} templates can be read")


def checks_here(of: str) -> tuple[Check, ...]:
    """These checks with the settings of one process."""
    return (
        Check("data folder", of, look_at_folder),
        Check("disk", of, look_at_disk, ("data folder",)),
        Check("ledger", of, look_at_ledger, ("data folder",)),
        Check("broker", of, look_at_broker, ("data folder",)),
    )

