"""Whose certificates clients in the box trust: the system's, and those that the machine's clients are told to trust."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from worker.box.mounts import MADE_INSIDE

AUTHORITIES = "authorities.pem"
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
)
_NAMED_BY = ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
AUTHORITY_VARIABLES = ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_CAFILE", "SSL_CERT_FILE", "CARGO_HTTP_CAINFO")
"""By these a client in the box finds the file; Java has a store of its own, which is the system's."""
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_LARGEST = 8 * 1024 * 1024


def authorities_of(variables: Mapping[str, str], named: Iterable[str]) -> tuple[Mapping[str, str], str]:
    """The variables for the box, and the text of a file of authorities; none where the system's own are enough.

    Of the files that are named by path, the certificates alone are taken: a key beside them stays where it is.
    """
    system = next((path for path in _BUNDLES if Path(path).is_file()), "")
    files = dict.fromkeys(path for path in (*(variables.get(name, "") for name in _NAMED_BY), *named) if path)
    further = [text for path in files if path != system for text in _certificates(path)]
    if not further:
        return (dict.fromkeys(AUTHORITY_VARIABLES, system) if system else {}), ""
    text = "\n".join(dict.fromkeys((*(_certificates(system) if system else ()), *further)))
    return dict.fromkeys(AUTHORITY_VARIABLES, f"{MADE_INSIDE}/{AUTHORITIES}"), f"{text}\n"


def _certificates(path: str) -> list[str]:
    file = Path(path)
    if not file.is_file() or file.stat().st_size > _LARGEST:
        return []
    return _CERTIFICATE.findall(file.read_text(errors="replace"))
