"""What is two in git and one on a forgiving disk is not made; what only gets another case is no twin of itself."""

from app.core.verdict import Allowed, Refused
from tests.fakes.plans import plan
from worker.repo.standing import step_faults
from worker.repo.twins import no_twins, twins_of

THERE = ("app.py", "Src/a.py", "caf\u00e9.py", "lib/x.c", "lib/X.c")


def test_case_and_composed_letters_make_twins_of_files_and_of_the_folders_above_them() -> None:
    new = frozenset({"App.py", "src/b.py", "cafe\u0301.py", "APP.PY/x", "lib/y.c", "Src/b.py", "one/A.py", "one/a.py"})
    assert twins_of((*THERE, *new), new) == {
        "APP.PY/x": "app.py", "App.py": "app.py", "src/b.py": "Src", "cafe\u0301.py": "caf\u00e9.py",
        "one/a.py": "one/A.py",
    }  # fmt: skip


def test_twins_that_stood_before_and_what_takes_the_place_of_its_twin_are_let_be() -> None:
    assert no_twins((*THERE, "lib/new.c"), ("lib/new.c",)) == Allowed()
    assert no_twins(("App.py", "src/a.py"), ("App.py", "src/a.py")) == Allowed()
    refused = no_twins(THERE, ("lib/X.c",))
    assert isinstance(refused, Refused) and "lib/X.c and lib/x.c" in refused.reason


def test_a_plan_that_makes_a_twin_is_sent_back_and_one_that_changes_the_case_is_not(tree_of) -> None:
    tree = tree_of(dict.fromkeys(THERE, b"x\n"))
    test = {"id": 2, "kind": "change", "path": "lib/x.c", "intent": "i", "done_when": "d"}
    made = {"id": 1, "kind": "create", "path": "App.py", "intent": "i", "done_when": "d"}
    assert "App.py and app.py" in " ".join(map(str, step_faults(plan(steps=[made, test]), tree)))
    moved = made | {"kind": "move", "path": "app.py", "to": "App.py"}
    assert step_faults(plan(steps=[moved, test]), tree) == []
