"""``make sql``: compile every statement into the words of each database, in ``headish/database/sql``.

A test compares these modules with what would be written now.
"""

from __future__ import annotations

import sys
from pathlib import Path

from headish.database.query import Compiled
from headish.statements.compiling import DIALECTS, compile_for, defined

FOLDER = Path(__file__).parents[1] / "database" / "sql"


def module_of(database: str) -> str:
    """The module with the texts of a database."""
    texts = "".join(
        f"    {name!r}: {spelled(compile_for(database, statement))},\n" for name, statement in defined().items()
    )
    return (
        f'"""Every statement in the words of {NAMES[database]}.\n\n'
        'Written by ``make sql`` from ``headish.statements``.\n"""\n\n'
        "from __future__ import annotations\n\nfrom headish.database.query import Compiled, Texts\n\n"
        f"TEXTS: Texts = {{\n{texts}}}\n"
    )


def spelled(compiled: Compiled) -> str:
    """A statement as Python; its lines as SQLAlchemy breaks them."""
    sql = repr(compiled.sql) if "\\" in compiled.sql or compiled.sql.endswith('"') else f'"""{compiled.sql}"""'
    constants = f", {dict(sorted(compiled.constants.items()))!r}" if compiled.constants else ""
    return f"Compiled({sql}, {compiled.names!r}{constants})"


NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def main() -> None:
    """Write the modules that changed, and say which."""
    for database in DIALECTS:
        path, text = FOLDER / f"{database}.py", module_of(database)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.name}", file=sys.stderr)


if __name__ == "__main__":
    main()
