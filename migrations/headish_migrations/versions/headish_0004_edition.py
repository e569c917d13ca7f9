"""The second edition: small payloads in the turn's row, a counter for each space, logs with a running hash.

Every table that changes is written anew beside the old one, in the order in which its rows are read, and then takes the
old one's name. Damaged rows are kept as they are: a payload without bytes, a value of another type, a link to nothing.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op
from blake3 import blake3
from sqlalchemy.exc import IntegrityError

revision = "headish_0004"
down_revision = "headish_0003"

INLINE_BYTES = 2048
PAGE = 2000
Row = Sequence[Any]


def upgrade() -> None:
    _upgrade_turns()
    _upgrade_definitions()
    _upgrade_bookmarks()
    _upgrade_payloads()
    _upgrade_spaces()
    _create_parts()
    _number_changes()
    _count()
    _make_indexes()


def downgrade() -> None:
    for table in ("erasure", "object", "conversation"):
        if _rows(f"SELECT count(*) FROM {table}")[0][0]:
            raise RuntimeError(f"the table {table} holds what headish_0003 has no place for: restore a backup")
    # Payloads before turns and definitions, which take the numbers of ``inline`` that it makes.
    _downgrade_spaces()
    _downgrade_payloads()
    _downgrade_turns()
    _downgrade_bookmarks()
    _downgrade_definitions()
    for table in ("erasure", "object", "conversation", "record_log", "counter", "space_log", "inline"):
        op.drop_table(table)


# Upgrading


def _upgrade_turns() -> None:
    _rebuild(
        "turn",
        "space N NOT NULL, chain N NOT NULL, pos N NOT NULL, seq N NOT NULL, id I NOT NULL, "
        "role T NOT NULL, type T, content_type T, cache S, attributes B, inherited B, system B, "
        "digest B NOT NULL, hash B NOT NULL, data B, seal B NOT NULL, head B, app B, erased N, key B, "
        "supersedes I",
        ["PRIMARY KEY (space, chain, pos)", *_TURN_CONSTRAINTS],
        "SELECT t.space, t.chain, t.pos, t.seq, t.id, t.role, t.type, t.content_type, t.cache, t.attributes, "
        f"t.inherited, t.system, t.digest, coalesce(p.hash, {_empty()}), "
        f"CASE WHEN length(p.data) <= {INLINE_BYTES} THEN p.data END, t.seal, t.head, t.app, NULL, NULL, NULL "
        "FROM turn t LEFT JOIN payload p ON p.space = t.space AND p.number = t.payload ORDER BY t.space, t.seq",
    )


def _upgrade_definitions() -> None:
    columns = (
        "space N NOT NULL, kind T NOT NULL, name B NOT NULL, number N NOT NULL, hash B, data B, "
        "milliseconds N NOT NULL, seq N NOT NULL, change N NOT NULL, running B NOT NULL"
    )
    sql = (
        "SELECT d.space, d.kind, d.name, d.number, p.hash, "
        f"CASE WHEN length(p.data) <= {INLINE_BYTES} THEN p.data END, d.milliseconds, 0, 0, {_empty()}, d.payload "
        "FROM definition d LEFT JOIN payload p ON p.space = d.space AND p.number = d.payload"
    )

    def complete(row: Row, before: bytes) -> tuple[bytes, list[Any]]:
        # A value whose payload is missing gets an empty address, not null: it is damaged, not removed.
        address = b"" if row[4] is None and row[10] is not None else row[4]
        running = _run(b"headish-definition-1", before, row[3], _hex(address), row[6])
        return running, [*row[:4], address, *row[5:9], running]

    keys = ("space", "kind", "name", "number")
    _rebuild_in_pages("definition", columns, keys, sql, complete)


def _upgrade_bookmarks() -> None:
    columns = (
        "space N NOT NULL, name B NOT NULL, move N NOT NULL, chain N, pos N, milliseconds N NOT NULL, "
        "seq N NOT NULL, change N, running B NOT NULL, was B"
    )
    sql = (
        "SELECT l.space, l.name, l.move, l.chain, l.pos, l.milliseconds, coalesce(t.seq, 0), "
        "CASE WHEN t.head = l.name THEN NULL ELSE 1 END, t.digest FROM bookmark_log l "
        "LEFT JOIN turn t ON t.space = l.space AND t.chain = l.chain AND t.pos = l.pos"
    )

    def complete(row: Row, before: bytes) -> tuple[bytes, list[Any]]:
        running = _run(b"headish-log-1", before, row[2], _hex(row[8]), row[5])
        return running, [*row[:8], running, None]

    _rebuild_in_pages("bookmark_log", columns, ("space", "name", "move"), sql, complete)
    # A turn moves its name only once. A later move of the name to the same turn was made by hand, so it is a change.
    op.execute(
        "UPDATE bookmark_log SET change = 1 WHERE change IS NULL AND EXISTS (SELECT 1 FROM bookmark_log e WHERE "
        "e.space = bookmark_log.space AND e.name = bookmark_log.name AND e.chain = bookmark_log.chain "
        "AND e.pos = bookmark_log.pos AND e.move < bookmark_log.move)"
    )
    _rebuild(
        "bookmark",
        "space N NOT NULL, name B NOT NULL, chain N NOT NULL, pos N NOT NULL, move N NOT NULL, "
        "recent N NOT NULL, own S NOT NULL, running B NOT NULL",
        ["PRIMARY KEY (space, name)", _BOOKMARK_TURN],
        "SELECT b.space, b.name, b.chain, b.pos, b.move, coalesce(l.milliseconds, 0), "
        f"CASE WHEN t.head = b.name THEN 1 ELSE 0 END, coalesce(l.running, {_empty()}) FROM bookmark b "
        "LEFT JOIN bookmark_log l ON l.space = b.space AND l.name = b.name AND l.move = b.move "
        "LEFT JOIN turn t ON t.space = b.space AND t.chain = b.chain AND t.pos = b.pos",
        clustered=True,
    )


def _upgrade_payloads() -> None:
    _rebuild(
        "payload",
        "space N NOT NULL, hash B NOT NULL, size N NOT NULL, data B, erased N",
        ["PRIMARY KEY (space, hash)"],
        "SELECT space, hash, size, data, NULL FROM payload "
        f"WHERE length(data) > {INLINE_BYTES} OR data IS NULL AND size > {INLINE_BYTES} ORDER BY space, number",
    )
    if _is_postgresql():
        op.execute(sa.schema.DropSequence(sa.Sequence("payload_number")))


def _upgrade_spaces() -> None:
    _create(
        "counter",
        "space N NOT NULL, seq N NOT NULL, change N NOT NULL, latest N NOT NULL, epoch B NOT NULL, state T, "
        "roots N NOT NULL, heads N NOT NULL, given_bytes N NOT NULL, bars N NOT NULL, limit_turns N, limit_bytes N",
        ["PRIMARY KEY (space)"],
    )
    _create(
        "space_log",
        "space N NOT NULL, number N NOT NULL, name B, milliseconds N NOT NULL, running B NOT NULL",
        ["PRIMARY KEY (space, number)"],
        clustered=True,
    )
    for number, name, seq in _rows("SELECT id, name, seq FROM space ORDER BY id"):
        removed = seq < 0  # the mark of a removed space in the first edition
        op.get_bind().execute(
            sa.text(
                "INSERT INTO counter (space, seq, change, latest, epoch, state, roots, heads, given_bytes, bars) "
                "VALUES (:space, :seq, 0, :seq, :epoch, :state, 0, 0, 0, 0)"
            ),
            {
                "space": number,
                "seq": max(seq, 0),
                "epoch": secrets.token_bytes(16),
                "state": "removed" if removed else None,
            },
        )
        logged = None if removed else bytes(name)
        op.get_bind().execute(
            sa.text("INSERT INTO space_log VALUES (:space, 1, :name, 0, :running)"),
            {"space": number, "name": logged, "running": _run(b"headish-space-1", b"", 1, logged or b"", 0)},
        )
    op.drop_column("space", "seq")


def _create_parts() -> None:
    _create(
        "erasure",
        "space N NOT NULL, number N NOT NULL, change N NOT NULL, seq N NOT NULL, id I NOT NULL, receipt B NOT NULL, "
        "before B NOT NULL, hash B NOT NULL, milliseconds N NOT NULL",
        ["PRIMARY KEY (space, number)"],
        clustered=True,
    )
    _create(
        "conversation",
        "space N NOT NULL, subject B NOT NULL, revision N NOT NULL, archived S NOT NULL, pinned S NOT NULL, key B, "
        "data B NOT NULL, milliseconds N NOT NULL",
        ["PRIMARY KEY (space, subject)"],
        clustered=True,
    )
    _create(
        "record_log",
        "space N NOT NULL, change N NOT NULL, seq N NOT NULL, subject B NOT NULL, milliseconds N NOT NULL",
        ["PRIMARY KEY (space, change)"],
        clustered=True,
    )
    _create(
        "object",
        "space N NOT NULL, kind T NOT NULL, key B NOT NULL, revision N NOT NULL, data B NOT NULL, "
        "milliseconds N NOT NULL",
        ["PRIMARY KEY (space, kind, key)"],
    )


def _number_changes() -> None:
    """Number old moves and definitions in the order of their times: the first edition kept no other order."""
    op.execute(
        "CREATE TEMPORARY TABLE numbered AS SELECT space, kind, name, number, "
        "row_number() OVER (PARTITION BY space ORDER BY milliseconds, kind, name, number) AS change, "
        "max(seq) OVER (PARTITION BY space ORDER BY milliseconds, kind, name, number) AS seq FROM ("
        "SELECT space, '' AS kind, name, move AS number, milliseconds, seq FROM bookmark_log WHERE change IS NOT NULL "
        "UNION ALL SELECT space, kind, name, number, milliseconds, seq FROM definition) AS changes"
    )
    op.execute("CREATE INDEX numbered_key ON numbered (space, kind, name, number)")
    for table, number, kind in (("bookmark_log", "move", "''"), ("definition", "number", "definition.kind")):
        op.execute(
            f"UPDATE {table} SET change = n.change, seq = n.seq FROM numbered AS n WHERE n.space = {table}.space "
            f"AND n.kind = {kind} AND n.name = {table}.name AND n.number = {table}.{number}"
        )
    op.execute(
        "UPDATE counter SET change = coalesce((SELECT max(change) FROM numbered n WHERE n.space = counter.space), 0)"
    )
    op.execute("DROP TABLE numbered")


def _count() -> None:
    op.execute(
        "UPDATE counter SET roots = (SELECT count(*) FROM turn t WHERE t.space = counter.space AND t.pos = 0 AND NOT "
        "EXISTS (SELECT 1 FROM link l WHERE l.space = t.space AND l.chain = t.chain)), "
        "heads = (SELECT count(*) FROM turn t WHERE t.space = counter.space "
        "AND NOT EXISTS (SELECT 1 FROM turn n WHERE n.space = t.space AND n.chain = t.chain AND n.pos = t.pos + 1) "
        "AND NOT EXISTS (SELECT 1 FROM link l WHERE l.space = t.space AND l.parent_chain = t.chain "
        "AND l.parent_pos = t.pos)), "
        "given_bytes = (SELECT coalesce(sum(coalesce(length(t.data), p.size, 0)), 0) FROM turn t LEFT JOIN payload p "
        "ON p.space = t.space AND p.hash = t.hash WHERE t.space = counter.space)"
    )


def _make_indexes() -> None:
    op.execute("CREATE INDEX turn_digest ON turn (space, substr(digest, 1, 8))")
    for name, table, columns, condition, unique in _SPARSE:
        where = sa.text(condition)
        op.create_index(name, table, columns, unique=unique, sqlite_where=where, postgresql_where=where)
    op.create_index("definition_change", "definition", ["space", "change"])
    op.create_index("erasure_change", "erasure", ["space", "change"])


_SPARSE = (
    ("turn_inherited", "turn", ["space", "chain", "pos"], "inherited IS NOT NULL", False),
    ("turn_key", "turn", ["space", "key"], "key IS NOT NULL", True),
    ("turn_supersedes", "turn", ["space", "supersedes"], "supersedes IS NOT NULL", False),
    ("conversation_key", "conversation", ["space", "key"], "key IS NOT NULL", True),
    ("bookmark_recent", "bookmark", ["space", "recent"], "recent >= 0", False),
    ("bookmark_place", "bookmark", ["space", "chain", "pos"], "own = 0", False),
    ("bookmark_log_change", "bookmark_log", ["space", "change"], "change IS NOT NULL", False),
)


# Downgrading


def _downgrade_spaces() -> None:
    op.add_column("space", sa.Column("seq", sa.BigInteger if _is_postgresql() else sa.Integer))
    op.execute(
        "UPDATE space SET seq = "
        "(SELECT CASE WHEN c.state = 'removed' THEN -1 ELSE c.seq END FROM counter c WHERE c.space = space.id)"
    )
    if _is_postgresql():
        op.execute("ALTER TABLE space ALTER COLUMN seq SET NOT NULL")
        return
    # SQLite cannot make a column NOT NULL that exists, or add one without a default, so the table is written anew.
    _create("space_new", "id N NOT NULL, name B NOT NULL, seq N NOT NULL", ["PRIMARY KEY (id)", "UNIQUE (name)"])
    op.execute("INSERT INTO space_new SELECT id, name, seq FROM space")
    op.drop_table("space")
    op.rename_table("space_new", "space")


def _downgrade_payloads() -> None:
    """Give every payload a number again. The table ``inline`` has the numbers by address, for turns and definitions."""
    # Two texts: SQLite has no DISTINCT ON, and PostgreSQL (before 18) no max() of bytes.
    op.execute(
        "CREATE TABLE inline AS SELECT space, row_number() OVER (PARTITION BY space ORDER BY first, hash) AS number, "
        "hash, size, data FROM (SELECT space, hash, min(first) AS first, max(size) AS size, max(data) AS data FROM ("
        "SELECT space, hash, seq AS first, length(data) AS size, data FROM turn UNION ALL "
        "SELECT space, hash, 1000000000000 + change, length(data), data FROM definition WHERE hash IS NOT NULL "
        "UNION ALL SELECT space, hash, 2000000000000, size, data FROM payload) AS given GROUP BY space, hash) AS known"
        if not _is_postgresql()
        else "CREATE TABLE inline AS SELECT DISTINCT ON (space, hash) space, dense_rank() OVER (PARTITION BY space "
        "ORDER BY hash) AS number, hash, coalesce(size, 0) AS size, data FROM ("
        "SELECT space, hash, length(data) AS size, data FROM turn UNION ALL "
        "SELECT space, hash, length(data), data FROM definition WHERE hash IS NOT NULL "
        "UNION ALL SELECT space, hash, size, data FROM payload) AS given ORDER BY space, hash, data NULLS LAST"
    )
    op.execute("CREATE INDEX inline_key ON inline (space, hash)")
    _rebuild(
        "payload",
        "space N NOT NULL, number N NOT NULL, hash B NOT NULL, size N NOT NULL, data B",
        ["PRIMARY KEY (space, number)", "CONSTRAINT payload_hash UNIQUE (space, hash)"],
        "SELECT space, number, hash, coalesce(size, 0), data FROM inline ORDER BY space, number",
    )
    if _is_postgresql():
        op.execute(sa.schema.CreateSequence(sa.Sequence("payload_number")))
        op.execute("SELECT setval('payload_number', greatest((SELECT max(number) FROM payload), 1))")


def _downgrade_turns() -> None:
    _rebuild(
        "turn",
        "space N NOT NULL, chain N NOT NULL, pos N NOT NULL, seq N NOT NULL, id I NOT NULL, "
        "payload N NOT NULL, digest B NOT NULL, seal B NOT NULL, role T NOT NULL, type T, "
        "content_type T, head B, cache S, attributes B, inherited B, system B, app B",
        ["PRIMARY KEY (space, chain, pos)", _PAYLOAD_NUMBER, *_TURN_CONSTRAINTS],
        "SELECT t.space, t.chain, t.pos, t.seq, t.id, p.number, t.digest, t.seal, t.role, t.type, t.content_type, "
        "t.head, t.cache, t.attributes, t.inherited, t.system, t.app FROM turn t "
        "JOIN inline p ON p.space = t.space AND p.hash = t.hash ORDER BY t.space, t.chain, t.pos",
        clustered=True,
    )
    op.create_index("turn_digest", "turn", ["space", "digest"])
    present = sa.text("inherited IS NOT NULL")
    op.create_index("turn_inherited", "turn", ["space", "chain", "pos"], sqlite_where=present, postgresql_where=present)


def _downgrade_bookmarks() -> None:
    _rebuild(
        "bookmark",
        "space N NOT NULL, name B NOT NULL, chain N NOT NULL, pos N NOT NULL, move N NOT NULL",
        ["PRIMARY KEY (space, name)", _BOOKMARK_TURN],
        "SELECT space, name, chain, pos, move FROM bookmark",
        clustered=True,
    )
    op.create_index("bookmark_place", "bookmark", ["space", "chain", "pos"])
    _rebuild(
        "bookmark_log",
        "space N NOT NULL, name B NOT NULL, move N NOT NULL, chain N, pos N, milliseconds N NOT NULL",
        ["PRIMARY KEY (space, name, move)"],
        "SELECT space, name, move, chain, pos, milliseconds FROM bookmark_log",
        clustered=True,
    )


def _downgrade_definitions() -> None:
    _rebuild(
        "definition",
        "space N NOT NULL, kind T NOT NULL, name B NOT NULL, number N NOT NULL, payload N, milliseconds N NOT NULL",
        ["PRIMARY KEY (space, kind, name, number)", _PAYLOAD_NUMBER],
        "SELECT d.space, d.kind, d.name, d.number, p.number, d.milliseconds FROM definition d "
        "LEFT JOIN inline p ON p.space = d.space AND p.hash = d.hash",
        clustered=True,
    )


# Writing a table anew

_TURN_CONSTRAINTS = (
    "CONSTRAINT turn_id UNIQUE (space, id)",
    "CONSTRAINT turn_seq UNIQUE (space, seq)",
    "CONSTRAINT turn_pos CHECK (pos >= 0)",
)
_BOOKMARK_TURN = "FOREIGN KEY (space, chain, pos) REFERENCES turn (space, chain, pos)"
_PAYLOAD_NUMBER = "FOREIGN KEY (space, payload) REFERENCES payload (space, number)"
_REFERENCES = {
    "turn": (
        ("link", "FOREIGN KEY (space, parent_chain, parent_pos) REFERENCES turn (space, chain, pos)"),
        ("bookmark", _BOOKMARK_TURN),
    )
}
_TYPES = {
    "postgresql": {"N": "BIGINT", "B": "BYTEA", "T": "VARCHAR", "I": 'VARCHAR(25) COLLATE "C"', "S": "SMALLINT"},
    "sqlite": {"N": "INTEGER", "B": "BLOB", "T": "VARCHAR", "I": "VARCHAR(25)", "S": "SMALLINT"},
}
"""The types behind the letters in the lists of columns: number, bytes, text, id, small number."""


def _rebuild(table: str, columns: str, constraints: Sequence[str], sql: str, clustered: bool = False) -> None:
    """Write a table anew from a SELECT that gives its columns in order."""
    _create_beside(table, columns, constraints, clustered)
    op.execute(f"INSERT INTO {table}_new {sql}")
    _take_name(table, constraints)


def _rebuild_in_pages(
    table: str,
    columns: str,
    keys: tuple[str, ...],
    sql: str,
    complete: Callable[[Row, bytes], tuple[bytes, list[Any]]],
) -> None:
    """Write a log anew in pages, in bounded memory. ``complete`` adds the running hash of the name to each row."""
    key = f"PRIMARY KEY ({', '.join(keys)})"
    _create_beside(table, columns, [key], True)
    names = [column.split()[0] for column in columns.split(", ")]
    insert = sa.text(f"INSERT INTO {table}_new ({', '.join(names)}) VALUES ({', '.join(f':{each}' for each in names)})")
    name, running = None, b""
    for page in _pages(sql, keys):
        completed = []
        for row in page:
            if row[: len(keys) - 1] != name:  # the next name: its log begins with an empty hash
                name, running = row[: len(keys) - 1], b""
            running, values = complete(row, running)
            completed.append(dict(zip(names, values, strict=True)))
        op.get_bind().execute(insert, completed)
    _take_name(table, [key])


def _pages(sql: str, keys: tuple[str, ...]) -> Iterator[list[Row]]:
    """The rows of a SELECT in pages, in the order of its key, which are its first columns."""
    listed = ", ".join(keys)
    after: dict[str, Any] = {}
    while True:
        where = f"WHERE ({listed}) > ({', '.join(f':{each}' for each in keys)}) " if after else ""
        found = op.get_bind().execute(
            sa.text(f"SELECT * FROM ({sql}) AS old {where}ORDER BY {listed} LIMIT {PAGE}"), after
        )
        page: list[Row] = [tuple(row) for row in found]
        if not page:
            return
        yield page
        after = dict(zip(keys, page[-1], strict=False))


def _create(table: str, columns: str, constraints: Sequence[str], clustered: bool = False) -> None:
    types = _TYPES[op.get_bind().dialect.name]
    named = (column.split(" ", 2) for column in columns.split(", "))
    typed = [" ".join([name, types[kind], *rest]) for name, kind, *rest in named]
    end = " WITHOUT ROWID" if clustered and not _is_postgresql() else ""
    op.execute(f"CREATE TABLE {table} ({', '.join([*typed, *constraints])}){end}")


def _create_beside(table: str, columns: str, constraints: Sequence[str], clustered: bool) -> None:
    """Create the table that will take the name of this one. On PostgreSQL it gets its keys once it is full, which is
    faster."""
    _create(f"{table}_new", columns, () if _is_postgresql() else constraints, clustered)


def _take_name(table: str, constraints: Sequence[str]) -> None:
    op.execute(f"DROP TABLE {table}" + (" CASCADE" if _is_postgresql() else ""))
    op.rename_table(f"{table}_new", table)
    if _is_postgresql():
        # Newer servers have a named constraint for NOT NULL. It must not keep the name of the temporary table.
        named = (
            f"SELECT conname FROM pg_constraint WHERE conrelid = '{table}'::regclass AND conname LIKE '{table}_new_%'"
        )
        for (old,) in _rows(named):
            op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {old} TO {old.replace('_new_', '_', 1)}")
        for each in constraints:
            _add(table, each)
        for other, reference in _REFERENCES.get(table, ()):
            _add(other, reference)


def _add(table: str, constraint: str) -> None:
    """Add a constraint. If rows of a damaged database break a reference, it applies only to new rows."""
    if "REFERENCES" not in constraint:
        op.execute(f"ALTER TABLE {table} ADD {constraint}")
        return
    try:
        with op.get_bind().begin_nested():
            op.execute(f"ALTER TABLE {table} ADD {constraint}")
    except IntegrityError:
        op.execute(f"ALTER TABLE {table} ADD {constraint} NOT VALID")


def _rows(sql: str) -> Sequence[Row]:
    return op.get_bind().execute(sa.text(sql)).fetchall()


def _is_postgresql() -> bool:
    return bool(op.get_bind().dialect.name == "postgresql")


def _empty() -> str:
    return "'\\x'::bytea" if _is_postgresql() else "x''"


def _run(word: bytes, before: bytes, *fields: Any) -> bytes:
    """The running hash of a log: a hash over the one before and this row."""
    # A copy of ``content.hashes.run_on`` as it was then: a migration must not change with the code.
    listed = [word, before.hex().encode(), *(_as_bytes(each) for each in fields)]
    return blake3(b"".join(b"%d:%b," % (len(each), each) for each in listed)).digest()


def _hex(address: Any) -> bytes:
    return (
        b"" if address is None else bytes(address).hex().encode() if isinstance(address, bytes) else _as_bytes(address)
    )


def _as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
