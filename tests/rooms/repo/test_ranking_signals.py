"""Each signal by itself: the file it must speak for, over one small tree."""

import pytest

from worker.repo.ranking.gather import gather
from worker.repo.ranking.issue import IssueText, read_issue
from worker.repo.ranking.ranking import EXECUTED, weights_by_signal
from worker.repo.ranking.store import IndexCache
from worker.repo.symbols import SymbolCache

TREE = {
    "shop/__init__.py": b"from shop.cart import Cart\n",
    "shop/cart.py": b"from shop.money import rounded\n\nclass Cart:\n    def total(self):\n        return rounded(3)\n",
    "shop/money.py": b"def rounded(amount):\n    return 'the coin was never found'\n",
    "shop/cli.py": b"add('--dry-run')\n",
    "shop/mail/letters.py": b"def envelope():\n    return 'glue'\n",
    "shop/plain.py": b"x = 1\n",
    "docs/guide.py": b"y = 2\n",
    "tests/test_letters.py": b"def test_stamps():\n    assert perforated and gummed\n",
}
TRACE = '```\nTraceback (most recent call last):\n  File "site-packages/shop/{}.py", line 1, in {}\n```\n'

CASES = {
    "words": ("Glue", "", "shop/mail/letters.py"),
    "title": ("Glue", "", "shop/mail/letters.py"),
    "chunks": ("Glue", "", "shop/mail/letters.py"),
    "names": ("x", "`glue`", "shop/mail/letters.py"),
    "defines": ("x", "`envelope`", "shop/mail/letters.py"),
    "calls": ("x", "```python\nq.envelope()\n```", "shop/mail/letters.py"),
    "methods": ("x", "`Cart.total`", "shop/cart.py"),
    "modules": ("x", "`shop.money.rounded`", "shop/money.py"),
    "paths": ("x", "see shop/money.py", "shop/money.py"),
    "frames": ("x", TRACE.format("money", "rounded"), "shop/money.py"),
    "file_words": ("x", "my letters", "shop/mail/letters.py"),
    "file_title": ("Letters", "", "shop/mail/letters.py"),
    "folder_words": ("x", "the mail", "shop/mail/letters.py"),
    "folder_title": ("Mail", "", "shop/mail/letters.py"),
    "options": ("x", "use --dry-run", "shop/cli.py"),
    "messages": ("x", "the coin was never found", "shop/money.py"),
    "alike": ("x", "umlauts", "shop/plain.py"),
    "alike_title": ("Umlauts", "", "shop/plain.py"),
    "referred": ("x", "as in #77", "shop/plain.py"),
    "reached": ("x", "```python\nc.total()\n```", "shop/money.py"),
    "reached_words": ("Total", "", "shop/money.py"),
    "tested": ("Gummed stamps are perforated", "", "shop/mail/letters.py"),
    "aside": ("x", "", "docs/guide.py"),
    "package": ("x", "", "shop/__init__.py"),
}


@pytest.fixture
def signals_for(snapshot_of, origin, tmp_path):
    def gathered(title, body):
        origin.commit({**TREE, "shop/plain.py": b"x = 0\n"}, "Start")
        origin.commit(TREE, "Umlauts survive (#77)")
        cache = IndexCache(tmp_path / "index.db", SymbolCache(tmp_path / "symbols.db"))
        return gather(read_issue(IssueText(title, body)), snapshot_of({**TREE, "NEWS": b""}), cache).signals

    return gathered


@pytest.mark.parametrize("name", CASES)
def test_a_signal_speaks_for_the_file_that_it_is_about(signals_for, name):
    title, body, path = CASES[name]
    scores = signals_for(title, body)[name].scores
    assert max(scores, key=lambda each: scores[each]) == path
    assert all(0 <= score <= 1 for score in scores.values())
    assert path == "shop/plain.py" or scores.get("shop/plain.py", 0.0) == 0.0


def test_the_deepest_frame_of_each_of_two_tracebacks_counts_in_full(signals_for):
    body = TRACE.format("cart", "total") + TRACE.format("money", "rounded")
    scores = signals_for("x", body)["frames"].scores
    assert scores["shop/cart.py"] == scores["shop/money.py"] == 1.0


def test_a_method_of_a_class_is_plain_in_code_as_well(signals_for):
    found = signals_for("x", '```python\n>>> Cart.total("3")\n```')
    assert found["methods"].scores["shop/cart.py"] > 0.6
    assert found["defines"].scores["shop/cart.py"] > 0.6


def test_every_signal_is_weighed_and_tested_here(signals_for):
    assert signals_for("x", "").keys() == CASES.keys()
    assert weights_by_signal().keys() == CASES.keys() | {EXECUTED}
