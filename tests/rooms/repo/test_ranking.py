"""The list as a whole, over real git objects: order, reasons, definitions, and what is read again."""

import os
import subprocess

import pytest

from worker.main import main
from worker.repo.clone import Clone, NoClone
from worker.repo.rank_command import issue_in
from worker.repo.ranking.issue import IssueText
from worker.repo.ranking.places import is_code
from worker.repo.ranking.ranking import rank, weights_by_signal
from worker.repo.ranking.store import IndexCache
from worker.repo.snapshot import Snapshot
from worker.repo.symbols import SymbolCache

SHOP = {
    "shop/__init__.py": b"from shop.cart import Cart\n",
    "shop/cart.py": b"""from shop import money


class Cart:
    def add(self, item):
        self.items.append(item)

    def total_price(self):
        return money.rounded(sum(item.price for item in self.items))
""",
    "shop/money.py": b"""class NotMoney(Exception):
    pass


def rounded(amount):
    if amount is None:
        raise NotMoney("an amount is missing from the basket")
    return round(amount, 2)
""",
    "shop/cli.py": b"def main():\n    parser.add_argument('--dry-run')\n",
    "shop/mail.py": b"def send(letter):\n    return letter\n",
    "shop/vendor/cart.py": b"class Cart:\n    def total_price(self):\n        return 0\n",
    "docs/cart.py": b"from shop import Cart\nCart().total_price()\n",
    "tests/test_cart.py": b"from shop.cart import Cart\n\ndef test_total_price():\n    Cart().total_price()\n",
    "README.md": b"Cart, total_price, and more.\n",
}


@pytest.fixture
def cache(tmp_path):
    return IndexCache(tmp_path / "kept" / "index.db", SymbolCache(tmp_path / "kept" / "symbols.db"))


@pytest.fixture
def listed(snapshot_of, cache):
    def ask(title, body="", top=10, files=SHOP, executed=None):
        return rank(IssueText(title, body), snapshot_of(files), cache, top, executed)

    return ask


def test_the_file_that_defines_what_is_named_comes_first_with_its_reason(listed):
    first = listed("`total_price` is wrong for an empty cart")[0]
    assert first.path == "shop/cart.py"
    assert first.reason == "defines `total_price`, named in the issue"
    assert first.symbols[0] == "Cart.total_price"


def test_tests_and_texts_are_never_on_the_list(listed):
    paths = {place.path for place in listed("test_cart README total_price", top=100)}
    assert paths == {path for path in SHOP if path.endswith(".py") and path != "tests/test_cart.py"}


def test_a_copy_of_others_and_an_example_come_after_the_source(listed):
    order = [place.path for place in listed("Cart.total_price rounds twice", top=100)]
    assert order.index("shop/cart.py") < min(order.index("shop/vendor/cart.py"), order.index("docs/cart.py"))


def test_the_deepest_frame_of_this_package_comes_first_and_says_so(listed):
    body = """It stops.

```
Traceback (most recent call last):
  File "/home/runner/x.py", line 3, in <module>
    cart.total_price()
  File "/usr/lib/python3.11/site-packages/shop/cart.py", line 9, in total_price
    return money.rounded(None)
  File "/usr/lib/python3.11/site-packages/shop/money.py", line 7, in rounded
    raise NotMoney()
shop.money.NotMoney
```
"""
    first, second = listed("It stops", body)[:2]
    assert (first.path, first.reason) == ("shop/money.py", "the deepest frame of the traceback")
    assert "rounded" in first.symbols
    assert second.path == "shop/cart.py"


def test_an_option_of_the_command_line_leads_to_where_it_stands_in_quotes(listed):
    first = listed("Nothing happens", "```\n$ shop --dry-run now\n```")[0]
    assert (first.path, first.reason) == ("shop/cli.py", "holds the text “dry-run”")


def test_a_message_leads_to_the_file_that_holds_it(listed):
    first = listed("What is this?", "It says: an amount is missing from the basket")[0]
    assert (first.path, first.reason) == ("shop/money.py", "holds a message that the issue shows")


def test_a_call_in_a_snippet_lifts_what_is_used_one_step_below_it(listed):
    places = {place.path: place.score for place in listed("Wrong", "```python\nCart().total_price()\n```", top=100)}
    assert places["shop/money.py"] > places["shop/mail.py"]


def test_a_file_that_a_reproduction_went_through_is_lifted(listed):
    plain = [place.path for place in listed("Something is wrong")]
    lifted = listed("Something is wrong", executed={"shop/mail.py": 3, "not/there.py": 1})
    assert plain[0] != "shop/mail.py" == lifted[0].path
    assert lifted[0].reason == "the reproduction went through it"


def test_an_earlier_commit_with_the_same_words_or_number_is_a_hint(snapshot_of, origin, cache):
    before = {**SHOP, "shop/mail.py": b"def send(letter):\n    return [letter]\n"}
    origin.commit(before, "Start")
    origin.commit({**SHOP}, "Umlauts survive the postman (#77)")
    snapshot = snapshot_of({**SHOP, "NEWS": b"1"})
    assert rank(IssueText("Umlauts: the postman again", ""), snapshot, cache)[0].path == "shop/mail.py"
    referred = rank(IssueText("Same again", "As in #77."), snapshot, cache)[0]
    assert (referred.path, referred.reason) == ("shop/mail.py", "changed by a commit that the issue refers to")


def test_the_same_input_gives_the_same_list_and_top_cuts_it(listed):
    whole = listed("Cart and money", top=100)
    assert listed("Cart and money", top=100) == whole
    assert listed("Cart and money", top=2) == whole[:2]
    assert listed("Anything", files={"README.md": b"no code"}) == ()


def test_an_unchanged_file_is_read_once_whatever_is_asked(snapshot_of, cache):
    snapshot = snapshot_of(SHOP)
    code = [entry for entry in snapshot.list() if is_code(entry.path)]
    assert len(dict(cache.records(snapshot, code))) == len(code)

    class Unreadable:
        commit = snapshot.commit
        list = snapshot.list

        def read_many(self, entries):
            raise AssertionError(f"read again: {[entry.path for entry in entries]}")

    again = dict(cache.records(Unreadable(), code))
    assert {entry.path for entry in again} == {entry.path for entry in code}
    moved = snapshot_of({**SHOP, "shop/basket.py": SHOP["shop/cart.py"]})
    fresh = [entry for entry in moved.list() if entry.path == "shop/basket.py"]
    assert len(dict(cache.records(Unreadable(), fresh))) == 1


def test_what_the_ranking_parsed_the_symbols_tool_does_not_parse_again(snapshot_of, cache, tmp_path):
    snapshot = snapshot_of(SHOP)
    rank(IssueText("cart", ""), snapshot, cache)
    known = SymbolCache(tmp_path / "kept" / "symbols.db").known(snapshot.list())
    assert [symbol.name for symbol in known["shop/cart.py"]] == ["Cart", "Cart.add", "Cart.total_price"]


def test_a_cache_that_is_damaged_is_made_anew(snapshot_of, tmp_path):
    (tmp_path / "index.db").write_bytes(b"no database" * 100)
    cache = IndexCache(tmp_path / "index.db", SymbolCache(tmp_path / "symbols.db"))
    assert rank(IssueText("`rounded`", ""), snapshot_of(SHOP), cache)[0].path == "shop/money.py"


OTHERS = {
    "src/cart.ts": b"export class Cart {\n  totalPrice(): number { return rounded(1) }\n}\n",
    "src/money.ts": b"export function rounded(x: number) { return x }\n",
    "pkg/store.go": b"package pkg\n\nfunc OpenStore() {}\n",
    "app/Basket.java": b"package app;\nclass Basket { void emptyAll() {} }\n",
    "lib/till.rb": b"class Till\n  def count_coins; end\nend\n",
    "core/price.rs": b"pub fn tax_of(x: u32) -> u32 { x }\n",
    "core/sum.kt": b"fun addUp(x: Int): Int {\n  return x\n}\n",
    "core/nothing.php": b"<?php\nfunction idle() {}\n",
}


@pytest.mark.parametrize(("name", "path"), [
    ("totalPrice", "src/cart.ts"), ("OpenStore", "pkg/store.go"), ("emptyAll", "app/Basket.java"),
    ("count_coins", "lib/till.rb"), ("tax_of", "core/price.rs"), ("addUp", "core/sum.kt"),
])  # fmt: skip
def test_other_languages_are_ranked_in_the_same_way(listed, name, path):
    first = listed(f"`{name}` fails", files=OTHERS)[0]
    assert (first.path, first.reason) == (path, f"defines `{name}`, named in the issue")


def test_the_command_prints_the_list(origin, tmp_path, capsys):
    commit = origin.commit(SHOP)
    issue = tmp_path / "issue.md"
    issue.write_text("# `total_price` is wrong\n\nFor an empty cart.\n")
    words = ["rank", "--repo", str(origin.directory), "--commit", commit, "--issue", str(issue), "--top", "2"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "shop/cart.py  defines `total_price`, named in the issue  [Cart.total_price" in lines[0]


@pytest.mark.parametrize("refusal", [
    ({"--repo": "nowhere"}, 1, "nowhere is no git repository."),
    ({"--commit": "f" * 40}, 1, "has no commit"),
    ({"--commit": "--help"}, 1, "has no commit"),
    ({"--issue": "nowhere.md"}, 1, "nowhere.md cannot be read"),
    ({"--top": "0"}, 2, "--top is between"),
])  # fmt: skip
def test_the_command_refuses_with_a_sentence(origin, tmp_path, capsys, refusal):
    change, code, said = refusal
    (tmp_path / "issue.md").write_text("Title\n")
    given = {
        "--repo": str(origin.directory),
        "--commit": origin.commit(SHOP),
        "--issue": str(tmp_path / "issue.md"),
        "--top": "3",
    } | change
    assert main(["rank", *(f"{key}={value}" for key, value in given.items())]) == code
    assert said in capsys.readouterr().err


def test_a_working_folder_is_a_clone_too_and_other_folders_are_none(origin, tmp_path):
    commit = origin.commit(SHOP)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".git").symlink_to(origin.directory)
    clone = Clone(tmp_path / "work")
    assert clone.commit("main") == clone.commit(commit[:10]) == commit
    with Snapshot(clone, commit) as snapshot:
        assert snapshot.read("shop/cli.py") == SHOP["shop/cli.py"]
    with pytest.raises(NoClone):
        Clone(tmp_path)


def test_names_and_messages_of_any_bytes_are_ranked_and_told_in_one_line(origin, tmp_path, capsys):
    odd = os.fsdecode(b"shop/\xff\xfe\x1b[31m.py")
    commit = origin.commit({odd: b"def odd(): pass\n"}, "\x01\udcff\x02odd\x02odd")
    (tmp_path / "issue.md").write_text("odd is wrong")
    words = ["--repo", str(origin.directory), "--commit", commit, "--issue", str(tmp_path / "issue.md")]
    assert main(["rank", *words]) == 0
    assert "shop/\\xff\\xfe\\u001b[31m.py" in capsys.readouterr().out
    assert main(["rank", *words, "--cache", str(tmp_path / "issue.md")]) == 1
    assert capsys.readouterr().err.endswith(" cannot hold a cache: File exists.\n")


def test_a_linked_work_tree_is_a_clone_with_a_head_of_its_own(origin, tmp_path):
    first, second = origin.commit(SHOP), origin.commit(SHOP | {"new.py": b"pass\n"})
    words = ["git", "-C", str(origin.directory), "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), first]
    subprocess.run(words, check=True)
    clone = Clone(tmp_path / "linked")
    assert (clone.commit("HEAD"), clone.commit("main")) == (first, second)
    with Snapshot(clone, second) as snapshot:
        assert snapshot.read("new.py") == b"pass\n"
    (tmp_path / "linked" / ".git").write_text("gitdir: ../nowhere\n")
    with pytest.raises(NoClone):
        Clone(tmp_path / "linked")


def test_the_first_line_of_a_file_is_the_title():
    assert issue_in("\n## A title \nBody\n") == IssueText("A title", "Body\n")


def test_every_signal_has_a_weight_and_none_counts_against_its_meaning():
    weights = weights_by_signal()
    assert {name for name, weight in weights.items() if weight < 0} <= {"aside", "package"}
    assert weights["executed"] > 0
