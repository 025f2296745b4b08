"""This machine and what its belts reach from it: programs, the box, the mint, models, the way out."""

import os
import platform
import socket
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from app.core.belts import Belt
from app.doctor.finding import MACHINE, Check, Found, Scene, elsewhere, fault, unseen, well, worth_knowing
from app.doctor.names import look_at_names
from worker.box.box import Box, BoxSettings, open_box
from worker.box.command import BoxUnavailable, Command, Profile
from worker.box.remedies import INSTALL
from worker.box.tool import ToolFailure, run_tool
from worker.doctor.holding import mint_address, settings_of
from worker.mint.caller import MintUnreachable, prove_belt
from worker.model.attempts import Access
from worker.model.standing import known
from worker.model.words import ModelMisconfigured, ModelRejected, ModelUnavailable
from worker.settings import DEFAULT_BWRAP as BWRAP
from worker.settings import BeltSettings, ModelSettings, belt_settings, credential_name, model_settings

REACH_SECONDS = 10.0
OLDEST_GIT = (2, 30)
_PROFILE_SECONDS = 15.0


def look_at_versions(scene: Scene) -> Iterator[Found]:
    """The programs that are started are there, and new enough."""
    told = [f"Countersign {version('countersign')}", f"Python {platform.python_version()}"]
    git = _says("git", scene)
    if git is None:
        yield fault("There is no git.", "Repositories are read with it.", "apt-get install git")
        return
    numbers = tuple(int(word) for word in git.split()[-1].split(".")[:2] if word.isdigit())
    if numbers < OLDEST_GIT:
        why = "Older ones lack what mirrors are made with."
        yield fault(f"{git} is too old.", why, "Install git 2.30 or newer from the distribution.")
        return
    told += [git, _says(scene.env.get("COUNTERSIGN_BWRAP") or BWRAP, scene) or "no bubblewrap"]
    yield well(", ".join(told))


def _says(program: str, scene: Scene) -> str | None:
    path = {"PATH": scene.env.get("PATH", os.defpath)}
    try:
        ran = run_tool([program, "--version"], cwd=Path("/"), environment=path, timeout_seconds=5, output_limit=4096)
    except ToolFailure:
        return None
    return ran.stdout.decode(errors="replace").strip().replace(" version", "") if ran.exit_status == 0 else None


def look_at_box(scene: Scene) -> Iterator[Found]:
    """Commands can be sealed on this machine, in each profile: the worker's own probe, and a run of each."""
    settings = _belt(scene)
    if settings.box.cluster is not None:
        from worker.box.pods.probe import open_pods

        pods = open_pods(settings.box.cluster)
        yield _unboxed(pods) if isinstance(pods, BoxUnavailable) else well("A pod of the cluster holds what it has to")
        return
    terms = settings.box
    asked = BoxSettings(settings.bwrap, networks=terms.networks, names=terms.names, cgroup=terms.cgroup,
                        hard_limits=terms.hard_limits, through=terms.through)  # fmt: skip
    if scene.left.get("box") == asked:
        yield well("The same box as the one before")
        return
    box = open_box(asked)
    if isinstance(box, BoxUnavailable):
        yield _unboxed(box)
        return
    refused = _refused(box)
    if refused is not None:
        yield refused
        return
    scene.left["box"] = asked
    yield well(f"A sealed command runs in each profile: {', '.join(profile.value for profile in Profile)}")
    if box.softly:
        why = "Memory and processes of a run are bounded one by one and by looking; every draft says so."
        do = "Let its unit say Delegate=yes, or export COUNTERSIGN_BOX_CGROUP=… (an empty group of its own)"
        yield worth_knowing(f"The box's limits are soft: {box.softly}", why, do)


def _refused(box: Box) -> Found | None:
    """The first profile in which a command does not run."""
    with tempfile.TemporaryDirectory(prefix="countersign-", dir="/var/tmp") as name:
        tree, made = Path(name, "tree"), Path(name, "made")
        for place in (Path(name), tree, made):
            place.mkdir(exist_ok=True)
            place.chmod(0o711)
        for profile in Profile:
            kept = made if profile is Profile.INSTALL else None
            ran = box.run(tree, Command(("true",), _PROFILE_SECONDS, profile, made=kept))
            if isinstance(ran, BoxUnavailable):
                return _unboxed(BoxUnavailable(f"{ran.reason} (profile {profile.value})", ran.remedy))
            if ran.exit_status != 0:
                what = f"A command of the profile {profile.value} ended with {ran.exit_status}."
                return fault(what, "What runs in it fails on this machine.", INSTALL)
    return None


def _unboxed(refusal: BoxUnavailable) -> Found:
    why = "Nothing of a repository is run: no check, no reproduction, no approved plan."
    return fault(refusal.reason, why, refusal.remedy)


def _belt(scene: Scene) -> BeltSettings:
    line = {} if scene.env.get("COUNTERSIGN_MINT") else {"COUNTERSIGN_MINT_FD": "3"}
    return belt_settings(Belt(scene.of), {**scene.env, **line})


def look_at_line(scene: Scene) -> Iterator[Found]:
    """The mint answers this belt, and takes its credential."""
    belt = Belt(scene.of)
    address = mint_address(scene.env)
    if address is None:
        yield elsewhere("`countersign up` hands the belt a line to the mint when both start")
        return
    name = credential_name(belt)
    own = scene.env.get("COUNTERSIGN_MINT_CREDENTIAL", "").strip() or scene.env.get(name, "").strip()
    where = "{}:{}".format(*address)
    if not own:
        why = "The belt proves itself to the mint with it."
        do = f"export COUNTERSIGN_MINT_CREDENTIAL=…     ({name} at the mint)"
        yield fault(f"The {belt} has no credential for the mint.", why, do)
        return
    try:
        prove_belt(address, belt.value, own)
    except MintUnreachable as trouble:
        why = f"The {belt} gets no token: it can read nothing on GitHub."
        do = f"Start `countersign mint` with COUNTERSIGN_MINT_LISTEN={where} and {name} set to the {belt}'s credential."
        yield fault(f"{trouble} (at {where}, as the {belt})", why, do)
    else:
        yield well(f"The mint at {where} takes the {belt}'s credential")


def look_at_models(scene: Scene) -> Iterator[Found]:
    """The API takes the key and knows each model that is set."""
    settings = model_settings(scene.env)
    if settings is None:
        yield elsewhere("COUNTERSIGN_MODELS says none")
        return
    access = Access(settings.api_key, settings.base_url, timeout_seconds=REACH_SECONDS)
    roles = _roles(settings)
    found = dict.fromkeys(one for name, setting in roles.items() for one in _of_model(access, name, setting))
    yield from found or [well(f"The API takes the key and knows {', '.join(roles)}")]


def _roles(settings: ModelSettings) -> dict[str, str]:
    """Each model once, and the setting that names it."""
    found = dict.fromkeys(settings.others, "COUNTERSIGN_MODELS")
    for name, role in ((settings.scout, "SCOUT"), (settings.executor, "EXECUTOR"), (settings.planner, "PLANNER")):
        found[name] = f"COUNTERSIGN_{role}_MODEL"
    return found


def _of_model(access: Access, name: str, setting: str) -> Iterator[Found]:
    try:
        known(access, name)
    except ModelMisconfigured as wrong:
        own = " or your own gateway does not list models (ANTHROPIC_BASE_URL is set)" if access.base_url else ""
        if "does not know" in str(wrong):
            do = f"export {setting}=…     (its name is misspelt, it was retired{own})"
            yield fault(str(wrong), "Every run that asks for it fails.", do)
        else:
            yield fault(str(wrong), "No plan can be made.", "export ANTHROPIC_API_KEY=…     (a key of your account)")
    except (ModelUnavailable, ModelRejected) as trouble:
        yield unseen(f"{name}: {trouble}", "Look at ANTHROPIC_BASE_URL and HTTPS_PROXY, and look again later.")


def look_at_way_out(scene: Scene) -> Iterator[Found]:
    """The process' own way out answers, where it has one."""
    settings = _belt(scene)
    if settings.box.through is None:
        yield elsewhere("no way out of its own is set (COUNTERSIGN_EGRESS)")
        return
    where = "{}:{}".format(*settings.box.through)
    try:
        socket.create_connection(settings.box.through, timeout=REACH_SECONDS).close()
    except OSError as error:
        why = "Documentation and set-up commands go by it and cannot be had."
        do = f"Start `countersign egress {scene.of}` with COUNTERSIGN_EGRESS_LISTEN={where}"
        yield fault(f"The way out at {where} does not answer: {error.strerror or error}.", why, do)
    else:
        yield well(f"The way out at {where} answers")


def line_checks() -> Iterator[Check]:
    """One for each belt."""
    for belt in Belt:
        yield Check(f"mint for {belt}", belt.value, look_at_line, (settings_of(belt.value),))


NAMES_CHECK = Check("names of settings", MACHINE, look_at_names)
MACHINE_CHECKS = (
    Check("versions", MACHINE, look_at_versions),
    *(Check(f"box of {belt}", belt, look_at_box, (settings_of(belt),)) for belt in ("planner", "executor")),
    *(Check(f"models of {belt}", belt, look_at_models, (settings_of(belt),)) for belt in ("planner", "executor")),
    *(Check(f"way out of {belt}", belt, look_at_way_out, (settings_of(belt),)) for belt in ("planner", "executor")),
)
