"""Seals over the rows that no seal of a turn covers: objects, records of conversations, and the log of records.

A damaged row is sealed as it is: a seal proves only what the row was when it was sealed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from blake3 import blake3

revision = "headish_0006_seals"
down_revision = "headish_0005_search"

PAGE = 2000
TABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "object": (("kind", "key"), ("kind", "key", "revision", "milliseconds", "data")),
    "conversation": (("subject",), ("subject", "revision", "milliseconds", "data")),
    "record_log": (("change",), ("change", "seq", "subject", "milliseconds")),
}
"""For each table, its key inside of a space, and the columns that its seal covers, in order."""
WORDS = {"object": b"headish-object-1", "conversation": b"headish-record-1", "record_log": b"headish-record-log-1"}


def upgrade() -> None:
    for table in TABLES:
        # Null at first, because the existing rows have no seal yet.
        op.add_column(table, sa.Column("seal", sa.LargeBinary, nullable=True))
        _seal_all(table)
        _alter(table, lambda batch: batch.alter_column("seal", existing_type=sa.LargeBinary, nullable=False))


def downgrade() -> None:
    for table in TABLES:
        _alter(table, lambda batch: batch.drop_column("seal"))


def _alter(table: str, change: Callable[[Any], None]) -> None:
    # On SQLite, Alembic writes the table anew. Without this, its rows would no longer be in the order of the key.
    options = {"sqlite_with_rowid": False} if table != "object" else {}
    with op.batch_alter_table(table, table_kwargs=options) as batch:
        change(batch)


def _seal_all(table: str) -> None:
    keys, fields = TABLES[table]
    key = ("space", *keys)
    update = sa.text(f"UPDATE {table} SET seal = :seal WHERE " + " AND ".join(f"{each} = :{each}" for each in key))
    page = _page(table, key, fields, None)
    while page:
        op.get_bind().execute(update, [_sealed(table, key, fields, row) for row in page])
        page = _page(table, key, fields, page[-1])


def _page(table: str, key: Sequence[str], fields: Sequence[str], after: Any) -> Sequence[Any]:
    columns = ", ".join(dict.fromkeys((*key, *fields)))
    behind = "" if after is None else f" WHERE ({', '.join(key)}) > ({', '.join(f':{each}' for each in key)})"
    values = {} if after is None else {each: after._mapping[each] for each in key}
    sql = f"SELECT {columns} FROM {table}{behind} ORDER BY {', '.join(key)} LIMIT {PAGE}"
    return op.get_bind().execute(sa.text(sql), values).fetchall()


def _sealed(table: str, key: Sequence[str], fields: Sequence[str], row: Any) -> dict[str, Any]:
    values = row._mapping
    encoded = [WORDS[table], *(_bytes(values[each]) for each in fields)]
    seal = blake3(b"".join(b"%d:%b," % (len(each), each) for each in encoded)).digest()
    return {"seal": seal, **{each: values[each] for each in key}}


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
