"""Lock files: for each name the version that was settled on."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from worker.repo.declared.words import Found, Need

_PNPM = re.compile(r"""  ['"]?/?((?:@[^/@\s'"]+/)?[^/@\s'"]+)[@/](\d[^\s:'"(_]*)[:'"(_]""")


def toml_packages(text: str) -> Found:
    """Poetry, uv, PDM and Cargo: a list of packages."""
    for package in tomllib.loads(text).get("package", []):
        if isinstance(package, Mapping) and package.get("name"):
            yield Need(str(package["name"]), str(package.get("version", "")))


def pipfile_lock(text: str) -> Found:
    """Pipenv."""
    loaded = json.loads(text)
    for key, group in (("default", ""), ("develop", "dev")):
        for name, package in _table(_table(loaded).get(key)).items():
            yield Need(name, str(_table(package).get("version", "")).removeprefix("=="), group)


def package_lock(text: str) -> Found:
    """npm, in each of its three forms."""
    loaded = _table(json.loads(text))
    packages = _table(loaded.get("packages"))
    for place, package in packages.items():
        if place:
            name = place.rpartition("node_modules/")[2]
            yield Need(name, str(_table(package).get("version", "")), "dev" if _table(package).get("dev") else "")
    if not packages:
        yield from _nested(_table(loaded.get("dependencies")))


def _nested(packages: Mapping[str, Any]) -> Iterator[Need]:
    for name, package in packages.items():
        table = _table(package)
        yield Need(name, str(table.get("version", "")), "dev" if table.get("dev") else "")
        yield from _nested(_table(table.get("dependencies")))


def yarn_lock(text: str) -> Found:
    """Yarn, in both of its forms."""
    name = ""
    for line in text.splitlines():
        if line and not line[0].isspace() and line.rstrip().endswith(":") and not line.startswith("#"):
            first = line.strip().rstrip(":").split(",")[0].strip().strip('"')
            name = first[: first.rfind("@")] if first.rfind("@") > 0 else ""
        elif name and (found := re.match(r'\s+version:?\s+"?([^"\s]+)"?', line)):
            yield Need(name, found[1])
            name = ""


def pnpm_lock(text: str) -> Found:
    """pnpm: the keys of its packages, old and new."""
    for line in text.splitlines():
        found = _PNPM.match(line) if line.endswith(":") else None
        if found:
            yield Need(found[1], found[2])


def gemfile_lock(text: str) -> Found:
    """Bundler: the names with four blanks before them; those with six are what they need."""
    yield from (Need(found[1], found[2]) for found in re.finditer(r"(?m)^ {4}([\w.-]+) \(([^)]+)\)$", text))


def composer_lock(text: str) -> Found:
    """Composer."""
    loaded = _table(json.loads(text))
    for key, group in (("packages", ""), ("packages-dev", "dev")):
        for package in loaded.get(key) or []:
            yield Need(str(_table(package).get("name", "")), str(_table(package).get("version", "")), group)


def go_sum(text: str) -> Found:
    """Go's checksums name every version that was looked at; go.mod says which one is used."""
    yield from (Need(found[1], found[2]) for found in re.finditer(r"(?m)^(\S+) (v[^\s/]+) h1:\S+$", text))


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
