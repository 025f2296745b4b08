"""What the scripts beside the Compose file hand to each process: secrets of its own, and an account with its role."""

import os
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from app.ledger import migrate
from app.ledger.roles import roles_sql
from tests.infra.reading import ROOT, compose

COMPOSE = ROOT / "infra/compose"
YOURS = ("web/GITHUB_WEBHOOK_SECRET", "mint/GITHUB_PRIVATE_KEY", "planner/ANTHROPIC_API_KEY",
         "executor/ANTHROPIC_API_KEY")  # fmt: skip


def made(folder: Path) -> subprocess.CompletedProcess[str]:
    """The script has run in a folder of its own."""
    shutil.copy(COMPOSE / "secrets.sh", folder)
    return subprocess.run([folder / "secrets.sh"], capture_output=True, text=True, check=False, timeout=60)


def every(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder / "secrets")): path.read_text() for path in (folder / "secrets").rglob("*")
            if path.is_file()}  # fmt: skip


def test_what_can_be_made_by_chance_is_made_once_and_the_rest_is_named(tmp_path: Path) -> None:
    first = made(tmp_path)
    assert first.returncode != 0 and all(name in first.stderr for name in YOURS)
    for name in YOURS:
        (tmp_path / "secrets" / name).write_text("what only you have")
    before = every(tmp_path)
    again = made(tmp_path)
    assert (again.returncode, again.stderr) == (0, "") and every(tmp_path) == before
    assert {f"secrets/{name}" for name in before} == {one["file"] for one in compose()["secrets"].values()}
    for belt in ("planner", "executor", "publisher"):
        mine = before[f"{belt}/COUNTERSIGN_MINT_CREDENTIAL"]
        assert mine == before[f"mint/COUNTERSIGN_MINT_CREDENTIAL_{belt.upper()}"] and len(mine.strip()) == 64
    words = [before[name] for name in before if name.startswith("accounts/") or name.endswith("PASSWORD")]
    assert len(words) == len(set(words)) == 7
    assert (tmp_path / "secrets").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_each_process_has_an_account_with_its_role_and_no_other(tmp_path: Path, postgres_url: str) -> None:
    made(tmp_path)
    migrate(postgres_url)
    url, secrets = make_url(postgres_url), tmp_path / "handed"
    shutil.copytree(tmp_path / "secrets/accounts", secrets / "accounts")
    (secrets / "PASSWORD").write_text(f"{url.password}\n")
    (tmp_path / "roles.sql").write_text(roles_sql())
    env = {
        "PATH": os.environ["PATH"], "SECRETS": str(secrets), "ROLES": str(tmp_path / "roles.sql"),
        "PGHOST": str(url.host), "PGPORT": str(url.port), "PGUSER": str(url.username), "PGDATABASE": str(url.database),
    }  # fmt: skip
    for _ in range(2):
        done = subprocess.run(
            ["sh", COMPOSE / "accounts.sh"], env=env, capture_output=True, text=True, check=False, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, ""), done
    try:
        for process in ("web", "mint", "planner", "executor", "publisher"):
            word = (secrets / "accounts" / process).read_text().strip()
            own = url.set(drivername="postgresql", username=f"countersign_{process}_account", password=word)
            with psycopg.connect(own.render_as_string(hide_password=False)) as mine:
                held = mine.execute(
                    "SELECT rolname FROM pg_roles WHERE pg_has_role(current_user, oid, 'member') AND NOT rolcanlogin"
                ).fetchall()
                assert held == [(f"countersign_{process}",)]
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    mine.execute("DELETE FROM facts")
    finally:
        with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as owner:
            for process in ("web", "mint", "planner", "executor", "publisher"):
                owner.execute(f"DROP ROLE IF EXISTS countersign_{process}_account".encode())
