"""`python -m infra.docs`: the tables of the pages, and the schemas beside them, stand as the code has it."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from app.cli import SCHEMAS, schema_text
from infra.docs import keys, settings

HERE = Path(__file__).parent
PAGES = ("configuration.md", "runbook.md", "threat-model.md")
TABLES: Mapping[str, Callable[[], str]] = {
    "settings": settings.page,
    "policy": keys.policy_table,
    "bounds": keys.bounds_table,
}
_PLACE = re.compile(r"(<!-- written: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def written() -> dict[str, str]:
    """The text of each file by its name in this folder; a place with a name that no table has is an error."""
    pages = {name: filled((HERE / name).read_text("utf-8")) for name in PAGES}
    return pages | {f"{of}.schema.json": f"{schema_text(of)}\n" for of in SCHEMAS}


def filled(page: str) -> str:
    """The page, with each table in its place."""
    return _PLACE.sub(lambda place: f"{place[1]}\n{TABLES[place[2]]()}\n\n{place[3]}", page)


def main() -> None:
    """Every file stands as it is to be."""
    for name, text in written().items():
        (HERE / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
