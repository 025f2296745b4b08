"""`countersign backup`, `restore` and `prune` as they are typed, on SQLite in the data folder."""

import pytest

from app.cli import main
from app.ledger import open_ledger
from tests.fakes.deliveries import Told


@pytest.fixture
def ledger_of(tmp_path, monkeypatch):
    """Points the command line at a data folder and opens its ledger."""

    def use(name):
        monkeypatch.setenv("COUNTERSIGN_DATA_DIR", str(tmp_path / name))
        monkeypatch.delenv("DATABASE_URL", raising=False)
        return open_ledger(f"sqlite:///{tmp_path / name / 'ledger.db'}")

    monkeypatch.setenv("COUNTERSIGN_DATA_DIR", str(tmp_path / "first"))
    assert main(["migrate"]) == 0
    return use


def test_a_ledger_is_backed_up_and_restored_on_another_machine_and_never_over_one(ledger_of, tmp_path, capsys):
    first = ledger_of("first")
    Told(first).proposed()
    file = tmp_path / "ledger.backup"
    assert main(["backup", str(file)]) == 0
    assert "1 runs with" in capsys.readouterr().out
    assert main(["backup", str(file)]) == 2
    assert "nothing is written over it" in capsys.readouterr().err
    assert main(["restore", str(file)]) == 2
    assert "holds a ledger already" in capsys.readouterr().err
    with pytest.raises(Exception, match="database"):
        ledger_of("second")
    assert main(["restore", str(file)]) == 0
    assert "asks GitHub for what was delivered since" in capsys.readouterr().out
    assert ledger_of("second").run("r-000001") == first.run("r-000001")
    assert main(["restore", str(tmp_path / "nowhere")]) == 2


def test_what_would_go_is_said_before_it_goes(ledger_of, capsys):
    ledger = ledger_of("first")
    Told(ledger).proposed()
    bodies = len(ledger.deliveries())
    assert main(["prune", "--days", "1", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "would go" in told and f"bodies of {bodies} deliveries" in told
    assert main(["prune", "--days", "1"]) == 0
    assert "are gone" in capsys.readouterr().out
    assert main(["prune", "--days", "1", "--dry-run"]) == 0
    assert "bodies of 0 deliveries" in capsys.readouterr().out
    assert ledger.run("r-000001") is not None


@pytest.mark.parametrize("words", [("prune", "--days", "0"), ("prune", "--days", "many"), ("backup",), ("restore",)])
def test_what_is_not_understood_of_upkeep_is_answered_with_the_usage(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and "usage:" in capsys.readouterr().err
