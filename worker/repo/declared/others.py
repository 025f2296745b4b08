"""JavaScript, Go, Rust, Ruby, PHP and .NET: what each manifest declares."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from worker.repo.declared.words import Found, Need, Unread

_NPM = {
    "dependencies": "", "devDependencies": "dev", "peerDependencies": "peer", "optionalDependencies": "optional",
    "engines": "engine", "resolutions": "resolution", "overrides": "override",
}  # fmt: skip
_CARGO = {"dependencies": "", "dev-dependencies": "dev", "build-dependencies": "build"}
_GEM = re.compile(r"""^\s*gem[\s(]+(['"])([\w.-]+)\1((?:\s*,\s*(['"])[^'"]*\4)*)""", re.MULTILINE)
_GEMSPEC = re.compile(
    r"""\.add_(runtime_|development_)?dependency[\s(]+(['"])([\w.-]+)\2((?:\s*,\s*(['"])[^'"]*\5)*)"""
)
_REFERENCE = re.compile(r"<Package(?:Reference|Version)\b([^<>]{0,2000}?)/?>(?:\s*<Version>([^<]*)</Version>)?")


def package_json(text: str) -> Found:
    """npm, yarn and pnpm."""
    loaded = _object(text)
    for key, group in _NPM.items():
        for name, value in _table(loaded.get(key)).items():
            yield Need(name, value if isinstance(value, str) else json.dumps(value)[:200], group)


def composer(text: str) -> Found:
    """PHP's Composer."""
    loaded = _object(text)
    for key, group in (("require", ""), ("require-dev", "dev")):
        for name, value in _table(loaded.get(key)).items():
            yield Need(name, str(value), group)


def go_mod(text: str) -> Found:
    """A Go module: what it requires, and what stands in its place."""
    block = ""
    for raw in text.splitlines():
        line, _, remark = raw.partition("//")
        words = line.split()
        if words[:1] == [")"]:
            block = ""
        elif len(words) >= 2 and words[1] == "(":
            block = words[0]
        elif words:
            yield from _go_line([block, *words] if block else words, remark.strip())


def _go_line(words: list[str], remark: str) -> Iterator[Need]:
    match words:
        case ["go" | "toolchain", version]:
            yield Need(words[0], version, "language")
        case ["require", name, version, *_]:
            yield Need(name, version, "indirect" if remark.startswith("indirect") else "")
        case ["replace", name, *rest] if "=>" in rest:
            yield Need(name, " ".join(rest), "replaced")
        case ["exclude", name, version, *_]:
            yield Need(name, version, "excluded")
        case ["tool", name]:
            yield Need(name, "", "tool")


def cargo(text: str) -> Found:
    """A Rust crate or workspace."""
    loaded = tomllib.loads(text)
    version = _table(loaded.get("package")).get("rust-version")
    if isinstance(version, str):
        yield Need("rust", version, "language")
    places = [("", loaded), ("workspace ", _table(loaded.get("workspace")))]
    places += [(f"target {name} ", _table(inside)) for name, inside in _table(loaded.get("target")).items()]
    for where, place in places:
        for key, group in _CARGO.items():
            for name, value in _table(place.get(key)).items():
                yield Need(name, _cargo_range(value), f"{where}{group}".strip())


def _cargo_range(value: Any) -> str:
    if isinstance(value, str):
        return value
    table = _table(value)
    if table.get("workspace") is True:
        return "as the workspace says"
    told = (f"{key} {table[key]}" for key in ("version", "git", "path") if table.get(key))
    return " ".join(told).removeprefix("version ")


def gemfile(text: str) -> Found:
    """Ruby's Bundler, as far as gems are named by literals."""
    yield from (Need(found[2], _ruby_ranges(found[3])) for found in _GEM.finditer(text))
    if re.search(r"^\s*gemspec\b", text, re.MULTILINE):
        yield Unread("it includes the needs of the gemspec, which are told by themselves")
    if re.search(r"^\s*(eval_gemfile|gem\s+[^'\"\s(])", text, re.MULTILINE):
        yield Unread("some gems are named by code")


def gemspec(text: str) -> Found:
    """A gem's own needs."""
    groups = {"development_": "development", "runtime_": "", None: ""}
    yield from (Need(found[3], _ruby_ranges(found[4]), groups[found[1]]) for found in _GEMSPEC.finditer(text))


def _ruby_ranges(text: str) -> str:
    return ", ".join(re.findall(r"""['"]([^'"]*)['"]""", text))


def dotnet(text: str) -> Found:
    """Package references of a .NET project, or the versions that a solution sets for all."""
    for found in _REFERENCE.finditer(text):
        name = re.search(r"""\b(?:Include|Update)\s*=\s*["']([^"']+)["']""", found[1])
        version = re.search(r"""\bVersion\s*=\s*["']([^"']+)["']""", found[1])
        if name:
            yield Need(name[1], version[1] if version else (found[2] or "").strip())


def _object(text: str) -> Mapping[str, Any]:
    loaded = json.loads(text)
    if not isinstance(loaded, dict):
        raise ValueError("it is no object")
    return loaded


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
