"""What the pages of set-up may know: where they are, where GitHub is, and their line to the registrar; no secret."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.settings import (
    APP_KEYS,
    DEFAULT_HOST,
    DEFAULT_PORT,
    MODEL_KEY,
    WEB_KEYS,
    SettingsMissing,
    api_url,
    data_dir,
    local_url,
    public_url,
    refuse_strangers,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class SetupSettings:
    """What the set-up pages may know: nothing that is secret. `fixed_api`: `GITHUB_API_URL` where it is set."""

    data_dir: Path
    line: int
    address: str
    public_url: str
    fixed_api: str
    host: str
    port: int


def setup_settings(env: Mapping[str, str]) -> SetupSettings:
    """The settings of the web process while nothing is set up."""
    refuse_strangers("set-up pages", env, (*APP_KEYS, *WEB_KEYS, MODEL_KEY))
    return SetupSettings(
        data_dir=data_dir(env),
        line=setup_line(env),
        address=public_url(env) or local_url(env),
        public_url=public_url(env),
        fixed_api=api_url(env) if env.get("GITHUB_API_URL", "").strip() else "",
        host=env.get("HOST", "").strip() or DEFAULT_HOST,
        port=whole_number(env, "PORT", DEFAULT_PORT, (0, 65535)) or 0,
    )


def setup_line(env: Mapping[str, str]) -> int:
    """The descriptor of the socket between the set-up pages and the registrar."""
    name = "COUNTERSIGN_SETUP_FD"
    found = whole_number(env, name, None, (3, 65_535))
    if found is None:
        raise SettingsMissing(name, "Type `countersign setup`, which starts this process.")
    return found


def registrar_line(env: Mapping[str, str]) -> int:
    """The descriptor over which the registrar is asked. It holds nobody's keys: it gets one."""
    refuse_strangers("registrar", env, (*APP_KEYS, *WEB_KEYS, MODEL_KEY))
    return setup_line(env)
