"""Where cargo and Maven look: read from their own files, since neither has a command that would say it.

What goes into the box is written anew from addresses alone, so that no password of those files is in it.
"""

import re
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

_MAVEN_HOME = Path("/usr/share/maven")
_MAVEN_SETTINGS = Path("/etc/maven/settings.xml")
_SUPER_POM = "org/apache/maven/model/pom-4.0.0.xml"
_MIRROR = re.compile(r"<mirror>(.*?)</mirror>", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ADDRESS = re.compile(r"<url>\s*([^<\s]+)\s*</url>")
_LARGEST = 1024 * 1024


def cargos_settings(variables: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The addresses that stand for the usual registry, and a configuration that names them; nothing where none does."""
    sources = _cargo_sources(variables)
    name, seen = "crates-io", set[str]()
    while isinstance(source := sources.get(name), dict) and isinstance(source.get("replace-with"), str):
        if name in seen:
            return (), ""
        seen.add(name)
        name = source["replace-with"]
    address = source.get("registry") if isinstance(source, dict) else None
    if not isinstance(address, str) or not re.fullmatch(r"(sparse\+)?https?://[\x21-\x7e]+", address) or '"' in address:
        return (), ""
    text = f'[source.crates-io]\nreplace-with = "mirror"\n\n[source.mirror]\nregistry = "{address}"\n'
    return (address.removeprefix("sparse+"),), text


def _cargo_sources(variables: Mapping[str, str]) -> Mapping[str, object]:
    home = variables.get("CARGO_HOME") or (f"{variables['HOME']}/.cargo" if variables.get("HOME") else "")
    for name in ("config.toml", "config") if home else ():
        text = _text(Path(home, name))
        if text:
            try:
                sources = tomllib.loads(text).get("source")
            except tomllib.TOMLDecodeError:
                return {}
            return sources if isinstance(sources, dict) else {}
    return {}


def mavens_settings(variables: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The addresses of the mirrors, and settings that name them and nothing else; where none stands for all, also
    what Maven itself asks."""
    files = [_MAVEN_SETTINGS, *([Path(variables["HOME"], ".m2/settings.xml")] if variables.get("HOME") else [])]
    found = [one for file in files for one in _MIRROR.findall(_COMMENT.sub("", _text(file)))]
    # The one that Maven ships stands for addresses without TLS and leads nowhere.
    mirrors = [one for one in found if not _part(one, "mirrorOf").startswith("external:http:")]
    addresses = [_part(one, "url") for one in mirrors]
    if not any({"*", "external:*", "central"} & set(_part(one, "mirrorOf").split(",")) for one in mirrors):
        addresses += _built_in()
    told = "".join(f"<mirror>{''.join(_parts(one))}</mirror>" for one in mirrors)
    return tuple(addresses), f"<settings><mirrors>{told}</mirrors></settings>\n" if mirrors else ""


def _part(mirror: str, name: str) -> str:
    found = re.search(rf"<{name}>\s*([^<]*?)\s*</{name}>", mirror)
    return found[1] if found else ""


def _parts(mirror: str) -> Iterator[str]:
    for name in ("id", "url", "mirrorOf"):
        yield f"<{name}>{_part(mirror, name)}</{name}>"


def _built_in() -> Iterator[str]:
    """What the model that every project inherits from names; it lies in Maven's own library."""
    for jar in sorted((_MAVEN_HOME / "lib").glob("maven-model-builder*.jar"))[:1]:
        with zipfile.ZipFile(jar) as archive:
            yield from dict.fromkeys(_ADDRESS.findall(archive.read(_SUPER_POM).decode(errors="replace")))


def _text(path: Path) -> str:
    if not path.is_file() or path.stat().st_size > _LARGEST:
        return ""
    return path.read_text(errors="replace")
