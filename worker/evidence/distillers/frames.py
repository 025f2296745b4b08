"""Whose code a stack frame stands in."""

import re

_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python\d|/python\d\.\d+/|<frozen"
    r"|node_modules|node:|\binternal/"
    r"|java\.base/|\bat (?:java|javax|jdk|sun|com\.sun|kotlinx?|scala|groovy|clojure|junit|hudson|jenkins|org\.(?:junit"
    r"|testng|apache\.(?:maven|tools)|gradle|mockito|assertj|hamcrest|opentest4j|codehaus|jenkinsci|springframework"
    r"|eclipse|hibernate|jboss|slf4j)|com\.(?:intellij|google\.common)|io\.(?:netty|reactivex)|reactor|System|Microsoft"
    r"|Xunit|NUnit)\."
    r"|/usr/lib|/usr/local/|/opt/|/go/pkg/mod|/src/(?:runtime|testing|reflect)/|/rustc/|\.cargo/registry"
    r"|/gems/|/rubies/"
    r"|/vendor/|\(native|Native Method|Unknown Source|<anonymous>\)|\[native code\]|webpack/|std::|core::|__libc_start"
)


def is_library(line: str) -> bool:
    """Whether the frame in this line belongs to a library, a runtime or a test runner."""
    return _LIBRARY.search(line) is not None
