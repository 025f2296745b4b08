"""Which values of an environment are secrets, so that no line, trace or comment tells them."""

import re
from collections.abc import Mapping
from urllib.parse import unquote

_SECRET_NAME = re.compile(r"SECRET|PASSWORD|PASSWD|TOKEN|CREDENTIAL|_KEY(_|$)|AUTH|HEADERS")
_NO_VALUE = re.compile(r"(_PATH|_FILE|_DIR|_SOCK|_FD|_URL|XAUTHORITY)$")


def secrets_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """Every value in the environment that is a secret: by its variable's name, or as the password in an address."""
    found: list[str] = []
    for name, value in env.items():
        if _SECRET_NAME.search(name.upper()) and not _NO_VALUE.search(name.upper()):
            found.append(value)
        if name.upper().endswith("_HEADERS"):
            pairs = (part.partition("=")[2].strip() for part in value.split(","))
            found += [form for pair in pairs for form in (pair, unquote(pair), unquote(pair).rpartition(" ")[2])]
        for password in re.findall(r"\w://[^\s/:@]*:([^\s/@]+)@", value):
            found += [password, unquote(password)]
    return tuple(dict.fromkeys(each for each in found if each.strip()))
