"""Tracebacks of the major languages stay in a view, wherever they stand."""

import pytest

from worker.evidence.distill import distill


def many(line: str, count: int = 150) -> str:
    return "".join(line.replace("#", str(number)) + "\n" for number in range(count))


TRACES = {
    "python": (
        'Traceback (most recent call last):\n  File "/srv/app/cart.py", line 3, in load\n'
        "    return row[\"qty\"]\nKeyError: 'qty'\n\n"
        "During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/site-packages/x.py", line 9, in run\n    f()\nRuntimeError: no cart\n',
        ('File "/srv/app/cart.py", line 3, in load', "KeyError: 'qty'", "During handling of", "RuntimeError: no cart"),
    ),
    "java": (
        'Exception in thread "main" java.lang.IllegalStateException: closed\n\tat shop.Cart.total(Cart.java:12)\n'
        "\tat java.base/java.lang.Thread.run(Thread.java:833)\nCaused by: java.io.IOException: no disk\n\t... 3 more\n",
        (
            "IllegalStateException: closed",
            "at shop.Cart.total(Cart.java:12)",
            "Caused by: java.io.IOException: no disk",
        ),
    ),
    "node": (
        "Error: no database given\n    at load (/srv/app/src/config.js:14:11)\n"
        "    at Module._compile (node:internal/modules/cjs/loader:1105:14)\n",
        ("Error: no database given", "/srv/app/src/config.js:14:11"),
    ),
    "go": (
        "panic: runtime error: index out of range [-1]\n\ngoroutine 1 [running]:\nmain.last(...)\n"
        "\t/srv/ledger.go:12 +0x1c\n",
        ("panic: runtime error: index out of range [-1]", "/srv/ledger.go:12"),
    ),
    "rust": (
        "thread 'main' panicked at src/main.rs:3:5:\ncalled `Option::unwrap()` on a `None` value\n",
        ("panicked at src/main.rs:3:5", "called `Option::unwrap()` on a `None` value"),
    ),
    "ruby": (
        "lib/cart.rb:8:in `fetch': key not found: :qty (KeyError)\n\tfrom bin/run:3:in `<main>'\n",
        ("lib/cart.rb:8:in `fetch': key not found: :qty (KeyError)", "from bin/run:3"),
    ),
    "php": (
        "PHP Fatal error:  Uncaught Exception: no qty in /srv/Cart.php:8\nStack trace:\n#0 /srv/run.php(3): load()\n",
        ("Uncaught Exception: no qty in /srv/Cart.php:8", "#0 /srv/run.php(3): load()"),
    ),
    "dotnet": (
        "Unhandled exception. System.InvalidOperationException: closed\n"
        "   at Shop.Cart.Total() in /srv/Cart.cs:line 12\n",
        ("System.InvalidOperationException: closed", "/srv/Cart.cs:line 12"),
    ),
    "c": (
        "==42==ERROR: AddressSanitizer: heap-use-after-free on address 0x602\n"
        "    #0 0x4f5b20 in total /srv/src/cart.c:17:12\n"
        "SUMMARY: AddressSanitizer: heap-use-after-free /srv/src/cart.c:17:12 in total\n",
        ("ERROR: AddressSanitizer: heap-use-after-free", "in total /srv/src/cart.c:17:12", "SUMMARY: AddressSanitizer"),
    ),
    "gcc": (
        "src/a.c: In function ‘main’:\nsrc/a.c:2:9: error: expected ‘;’ before ‘}’ token\n"
        "/usr/bin/ld: main.o: in function `main':\n"
        "main.c:(.text+0x5): undefined reference to `missing'\nmake: *** [Makefile:4: prog] Error 1\n",
        (
            "src/a.c:2:9: error: expected ‘;’",
            "undefined reference to `missing'",
            "make: *** [Makefile:4: prog] Error 1",
        ),
    ),
}


@pytest.mark.parametrize("language", TRACES)
def test_a_traceback_in_the_midst_of_anything_stays(language):
    trace, facts = TRACES[language]
    view = distill("", many("[#] INFO heartbeat ok") + trace + many("[#] INFO more"), 800)
    for fact in facts:
        assert fact in view.text


def test_of_frames_that_repeat_one_stays():
    deep = many("\tat shop.Cart.walk(Cart.java:40)", 900)
    view = distill("", f"java.lang.StackOverflowError: deep\n{deep}\tat shop.Main.main(Main.java:3)\n", 1_500)
    assert view.text.count("Cart.java:40") == 1
    assert "Main.java:3" in view.text and "StackOverflowError: deep" in view.text
