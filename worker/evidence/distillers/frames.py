"""Whose code a stack frame stands in."""

import re
from functools import lru_cache

_PLACES = (
    "site-packages", "dist-packages", "/lib/python", "<frozen", "node_modules", "node:", "(internal/", "java.base/",
    "/usr/lib", "/usr/local/", "/opt/", "/go/pkg/mod", "/src/runtime/", "/src/testing/", "/src/reflect/", "/rustc/",
    ".cargo/registry", "/gems/", "/rubies/", "/vendor/", "(native", "Native Method", "Unknown Source", "<anonymous>)",
    "[native code]", "webpack/", "std::", "core::", "__libc_start",
)  # fmt: skip
_PACKAGES = re.compile(
    r"\s*at (?:java|javax|jdk|sun|com\.sun|kotlinx?|scala|groovy|clojure|junit|hudson|jenkins|org\.(?:junit|testng"
    r"|apache\.(?:maven|tools)|gradle|mockito|assertj|hamcrest|opentest4j|codehaus|jenkinsci|springframework|eclipse"
    r"|hibernate|jboss|slf4j)|com\.(?:intellij|google\.common)|io\.(?:netty|reactivex)|reactor|System|Microsoft|Xunit"
    r"|NUnit)\.|.*/python\d\.\d+/"
)
_LONG = 500


def is_library(line: str) -> bool:
    """Whether the frame in this line belongs to a library, a runtime or a test runner."""
    return _belongs(line[:_LONG])


@lru_cache(maxsize=4096)
def _belongs(line: str) -> bool:
    # Frames repeat, and looking for words one by one is several times faster than for all at once.
    return any(place in line for place in _PLACES) or _PACKAGES.match(line) is not None
