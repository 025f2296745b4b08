"""Java and its kin: Maven, Gradle as far as modules are named by literals, and Gradle's version catalogues."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from worker.repo.declared.words import Found, Need, Unread

_CONFIGURATIONS = (
    "implementation|api|compile|compileOnly|runtimeOnly|runtime|annotationProcessor|kapt|ksp|classpath|"
    r"(?:test|androidTest|debug|release|integrationTest)(?:Implementation|Compile|CompileOnly|RuntimeOnly|Api)"
)
_MODULE = re.compile(
    rf"""\b({_CONFIGURATIONS})\b[\s(]*(?:platform\s*\(\s*|enforcedPlatform\s*\(\s*)?(['"])([\w.-]+:[\w.-]+)(?::([^'"@]*))?[^'"]*\2"""
)
_PARTS = re.compile(
    rf"""\b({_CONFIGURATIONS})\b[\s(]*group\s*[:=]\s*(['"])([^'"]+)\2\s*,\s*name\s*[:=]\s*(['"])([^'"]+)\4"""
    r"""(?:\s*,\s*version\s*[:=]\s*(['"])([^'"]*)\6)?"""
)
_OTHERWISE = re.compile(rf"\b({_CONFIGURATIONS})\b[\s(]+(?:libs\.|project\s*\(|deps\.|\"?\$)")
_PLUGIN = re.compile(r"""\bid[\s(]+(['"])([\w.-]+)\1\)?\s+version\s*\(?\s*(['"])([^'"]+)\3""")


def pom(text: str) -> Found:
    """Maven's project: dependencies, managed ones, the parent, with the file's own properties put in."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("it declares entities, which are not read")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 (it holds no entity that could grow)
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    properties = {_bare(one.tag): (one.text or "").strip() for one in root.iterfind("./{*}properties/*")}
    for parent in root.iterfind("./{*}parent"):
        yield _maven(parent, properties, "parent")
    managed = list(root.iterfind("./{*}dependencyManagement/{*}dependencies/{*}dependency"))
    yield from (_maven(one, properties, "managed") for one in managed)
    yield from (_maven(one, properties, "") for one in root.iterfind("./{*}dependencies/{*}dependency"))
    for profile in root.iterfind("./{*}profiles/{*}profile"):
        name = _child(profile, "id")
        for one in profile.iterfind("./{*}dependencies/{*}dependency"):
            yield _maven(one, properties, f"profile {name}")


def _maven(element: ElementTree.Element, properties: Mapping[str, str], group: str) -> Need:
    def told(name: str) -> str:
        return re.sub(r"\$\{([^}]+)\}", lambda found: properties.get(found[1], found[0]), _child(element, name))

    scope = told("scope")
    return Need(f"{told('groupId')}:{told('artifactId')}", told("version"), " ".join(filter(None, (group, scope))))


def _child(element: ElementTree.Element, name: str) -> str:
    return (element.findtext(f"./{{*}}{name}") or "").strip()


def _bare(tag: str) -> str:
    return tag.rpartition("}")[2]


def gradle(text: str) -> Found:
    """A build file in Groovy or Kotlin. It is a program: what it computes is not known."""
    plain = re.sub(r"(?m)(?<!:)//.*$", "", text)
    yield from (Need(found[3], found[4] or "", found[1]) for found in _MODULE.finditer(plain))
    yield from (Need(f"{found[3]}:{found[5]}", found[7] or "", found[1]) for found in _PARTS.finditer(plain))
    yield from (Need(found[2], found[4], "plugin") for found in _PLUGIN.finditer(plain))
    if _OTHERWISE.search(plain):
        yield Unread("some modules come from a version catalogue, another project or code")


def catalogue(text: str) -> Found:
    """Gradle's version catalogue."""
    loaded = tomllib.loads(text)
    versions = _table(loaded.get("versions"))
    for key, group in (("libraries", ""), ("plugins", "plugin")):
        for entry in _table(loaded.get(key)).values():
            yield from _catalogued(entry, versions, group)


def _catalogued(entry: Any, versions: Mapping[str, Any], group: str) -> Iterator[Need]:
    if isinstance(entry, str):
        name, _, version = entry.rpartition(":")
        yield Need(name, version, group)
        return
    table = _table(entry)
    name = str(table.get("module") or table.get("id") or f"{table.get('group')}:{table.get('name')}")
    told: Any = table.get("version")
    if isinstance(told, Mapping):
        told = versions.get(str(told.get("ref")), told)
    yield Need(name, str(told or ""), group)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
