"""What is read out of an issue, a traceback, a path and a file."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.repo.ranking.frames import frames_in
from worker.repo.ranking.issue import IssueText, read_issue
from worker.repo.ranking.places import PathFinder, place_of
from worker.repo.ranking.record import record_of
from worker.repo.ranking.words import parts, stem
from worker.repo.symbols import extract


@pytest.mark.parametrize(("text", "deepest_first"), [
    ('Traceback (most recent call last):\n  File "a/x.py", line 3, in main\n    f()\n  File "a/y.py", line 9, in f\n',
     [("a/y.py", "f", 9), ("a/x.py", "main", 3)]),
    ("File ~/code/a/x.py:3, in Plot.plot(self)\n      2 go\n----> 3 f()\n\nFile ~/code/a/y.py:9, in f(x)\n",
     [("~/code/a/y.py", "f", 9), ("~/code/a/x.py", "Plot.plot", 3)]),
    ("a/x.py:3: in test\n    f()\na/y.py:9: ValueError\n", [("a/y.py", "", 9), ("a/x.py", "test", 3)]),
    ("Error: no\n    at f (/srv/a/y.js:9:1)\n    at main (/srv/a/x.js:3:7)\n",
     [("/srv/a/y.js", "f", 9), ("/srv/a/x.js", "main", 3)]),
    ("Exception in thread\n\tat org.shop.Cart.add(Cart.java:9)\n\tat org.shop.Main.main(Main.java:3)\n",
     [("org/shop/Cart.java", "org.shop.Cart.add", 9), ("org/shop/Main.java", "org.shop.Main.main", 3)]),
    ("panic: no\n\nmain.f()\n\t/go/src/a/y.go:9 +0x1d\nmain.main()\n\t/go/src/a/x.go:3 +0x2f\n",
     [("/go/src/a/y.go", "", 9), ("/go/src/a/x.go", "", 3)]),
    ("lib/y.rb:9:in `f': no (RuntimeError)\n\tfrom lib/x.rb:3:in `main'\n",
     [("lib/y.rb", "f", 9), ("lib/x.rb", "main", 3)]),
    ("thread 'main' panicked at src/y.rs:9:5:\nno\n", [("src/y.rs", "", 9)]),
])  # fmt: skip
def test_frames_of_each_language_are_read_from_where_the_error_was_raised(text, deepest_first):
    found = sorted(frames_in(text), key=lambda frame: frame.depth)
    assert [(frame.path.strip(), frame.function, frame.line) for frame in found] == deepest_first


def test_a_second_traceback_is_counted_anew():
    text = 'File "a.py", line 1, in f\nDuring handling of the above exception\nFile "b.py", line 2, in g\n'
    assert [frame.depth for frame in frames_in(text)] == [0, 0]


BODY = """<!-- `commented` is for the author -->
Calling `Cart.add_all` at https://github.com/acme/shop/blob/0123abc/shop/cart.py#L3 fails, see #41 and 1f2e3d4c5.
The option --dry-run does nothing.

```python
from shop.cart import Basket
def mine(x):
    return Basket(limit=3).fill_up(x)
```

### Versions
numpy==1.2.3
`in_versions`
"""


def test_an_issue_is_read_by_where_things_stand():
    asked = read_issue(IssueText("Cart loses items", BODY))
    assert asked.names["add_all"] > asked.names["fill_up"] > 0
    assert "commented" not in asked.names and "in_versions" not in asked.names
    assert {"Basket", "fill_up"} <= set(asked.calls) and "mine" not in asked.calls
    assert {"Cart.add_all", "shop.cart.Basket"} <= set(asked.dotted)
    assert "shop/cart.py" in asked.paths
    assert "dry-run" in asked.options
    assert (asked.numbers, asked.commits) == ({41}, {"1f2e3d4c5"})
    assert set(asked.title) == {"cart", stem("loses"), "item"}
    assert asked.spelled[stem("loses")] == "loses"


def test_an_open_fence_and_an_open_comment_end_with_the_text():
    asked = read_issue(IssueText("x", "before_it\n```python\nfill_up()\n"))
    assert {"before_it", "fill_up"} <= set(asked.names)
    assert "after_it" not in read_issue(IssueText("x", "<!-- after_it")).names


@given(st.text(max_size=300), st.text(alphabet="`~#<!->*\n aA.:/\\'\"(=1_", max_size=400))
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_the_reading(title, body):
    asked = read_issue(IssueText(title, body))
    assert all(weight > 0 for weight in [*asked.words.values(), *asked.names.values()])


@pytest.mark.parametrize("piece", [
    "a", " ", "\n", "`", "<!--", "a.", "a/", "-", "(", "```\n", "#", "a b ", "\\", '"', "1", "a-", "x = (", "a\n", "=",
    'File "', "at ", "a.py:1: ", ">", "https://a/", "a(",
])  # fmt: skip
def test_a_hostile_issue_takes_no_longer_than_an_honest_one(piece):
    began = time.process_time()
    read_issue(IssueText("x", piece * (60_000 // len(piece))))
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "piece", [b"a", b" ", b"\n", b"'", b'"""', b"from x import (", b"\\", b"`", b"{", b"import a\n"]
)
@pytest.mark.parametrize("language", ["python", "javascript", "rust", None])
def test_a_hostile_file_takes_no_longer_than_an_honest_one(piece, language):
    began = time.process_time()
    record_of(piece * (200_000 // len(piece)), language, ())
    assert time.process_time() - began < 5


@pytest.mark.parametrize(("same", "other"), [
    (("caching", "cached", "caches", "cache"), "catch"),
    (("skipping", "skipped", "skips", "skip"), "ship"),
    (("serialization", "serialize", "serialized", "serializable", "serializer"), "serial"),
    (("configuration", "configure", "configured"), "figure"),
    (("queries", "query"), "quarry"),
])  # fmt: skip
def test_words_that_are_one_have_one_stem(same, other):
    assert len({stem(word) for word in same}) == 1
    assert stem(other) != stem(same[0])


@pytest.mark.parametrize(("name", "stems"), [
    ("getMark_names", ("get", "mark", "nam", "getmark_nam")), ("HTTPServer", ("http", "server", "httpserver")),
    ("_x", ()), ("cart", ("cart",)), ("größe", ("größe",)),
])  # fmt: skip
def test_a_name_is_cut_into_its_parts_and_kept_whole(name, stems):
    assert parts(name) == stems


@pytest.mark.parametrize(("path", "place"), [
    ("src/shop/cart.py", "source"), ("shop/testing/plugin.py", "source"), ("django/test/client.py", "source"),
    ("shop/contest.py", "source"), ("shop/latest.py", "source"), ("tests/cart.py", "test"), ("testing/a.py", "test"),
    ("shop/test_cart.py", "test"), ("shop/cart_test.go", "test"), ("a/Cart.test.ts", "test"), ("conftest.py", "test"),
    ("src/test/java/A.java", "test"), ("src/main/java/CartTest.java", "test"), ("spec/a_spec.rb", "test"),
    ("docs/conf.py", "aside"), ("examples/a.py", "aside"), ("setup.py", "aside"), ("a/_vendor/b.py", "aside"),
    ("requests/packages/urllib3/a.py", "aside"), ("packages/core/src/a.ts", "source"), ("README.md", "other"),
])  # fmt: skip
def test_a_path_says_what_a_file_is_for(path, place):
    assert place_of(path) == place


FINDER = PathFinder(["src/shop/cart.py", "src/shop/__init__.py", "src/shop/cli/main.py", "src/shop/pathlib.py", "x.py"])


@pytest.mark.parametrize(("path", "found"), [
    ("/usr/lib/python3.11/site-packages/shop/cart.py", ("src/shop/cart.py",)),
    ("C:\\Python38\\Lib\\site-packages\\shop\\cart.py", ("src/shop/cart.py",)),
    ("/usr/lib/python3.11/site-packages/pandas/cart.py", ()),
    ("/usr/lib/python3.11/pathlib.py", ()),
    ("~/code/shop/cart.py", ("src/shop/cart.py",)),
    ("cart.py", ("src/shop/cart.py",)),
    ("elsewhere/main.py", ()),
    ("", ()),
])  # fmt: skip
def test_a_path_of_another_machine_means_a_file_or_none(path, found):
    assert FINDER.foreign(path) == found


@pytest.mark.parametrize(("dotted", "files", "left"), [
    ("shop.cart.Cart.add", ("src/shop/cart.py",), "Cart.add"), ("shop.cli.main", ("src/shop/cli/main.py",), ""),
    ("shop.Cart", ("src/shop/__init__.py",), "Cart"), ("cart.add", (), "cart.add"),
    ("shop::cart", ("src/shop/cart.py",), ""),
])  # fmt: skip
def test_a_dotted_name_leads_to_a_module_and_what_is_left(dotted, files, left):
    assert FINDER.module(dotted) == (files, left)


@pytest.mark.parametrize(("name", "found"), [
    (".cart.Cart", ("src/shop/cart.py",)), ("..cart", ("src/shop/cart.py",)), (".nothing.at.all", ()),
])  # fmt: skip
def test_a_relative_import_is_followed(name, found):
    importer = "src/shop/cli/main.py" if name.startswith("..") else "src/shop/x.py"
    assert FINDER.beside(importer, name) == found


def test_a_record_knows_each_chunk():
    source = b'''import os
from shop import (
    cart,
    money as m,
)


class Cart:
    """Holds what is bought."""

    def add(self, item):
        raise KeyError(f"the item {item} is not for sale today")
'''
    record = record_of(source, "python", extract("python", source))
    assert [symbol.name for symbol in record.symbols] == ["Cart", "Cart.add"]
    assert record.imports == ("os", "shop.cart", "shop.money")
    assert record.names["item"][::2] == (2,)
    assert record.names["Cart"] == (1, 1)
    assert sum(record.lengths) == sum(sum(postings[1::2]) for postings in record.names.values())
    asked = read_issue(IssueText("KeyError", "It says the item 3 is not for sale today."))
    assert asked.phrases & set(record.phrases)


@pytest.mark.parametrize(("language", "source", "imports"), [
    ("typescript", b"import { a } from './money'\nconst b = require('../x/y')\n", ("./money", "../x/y")),
    ("go", b'import (\n\t"fmt"\n\tm "acme.test/shop/money"\n)\n', ("fmt", "acme.test/shop/money")),
    ("java", b"import static org.shop.Money.rounded;\n", ("org.shop.Money.rounded",)),
    ("rust", b"use crate::money::rounded;\nmod till;\n", ("money::rounded", "till")),
    ("ruby", b"require_relative 'money'\n", ("money",)),
    ("c", b'#include "shop/money.h"\n', ("shop/money.h",)),
    (None, b"import money\n", ()),
])  # fmt: skip
def test_imports_of_each_language_are_read(language, source, imports):
    assert record_of(source, language, ()).imports == imports
