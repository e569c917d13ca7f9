"""The statements of ``rows/upkeep/searches``."""

from __future__ import annotations

from sqlalchemy import BindParameter, bindparam, select, text, update
from sqlalchemy.dialects.postgresql import insert

from headish.database.file.fulltext import SEQ_BITS
from headish.database.schema import payload, search, turn
from headish.database.schema import space as spaces
from headish.rows.payloads import PORTION
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.searches import (
    ADD,
    AFTER,
    AT,
    BEFORE,
    BEGIN,
    CAN_INDEX,
    CHANGED,
    CONFIGURE,
    COUNT_MATCHING,
    EMPTIED,
    EMPTY,
    FIRST_WORD,
    FORGET_POSITION,
    FOUND,
    IS_SHARED,
    IS_WIPED,
    KEEP_FREED,
    LARGE,
    LAST,
    MATCHING,
    MERGE,
    MERGE_SOME,
    PAGE,
    POSITION,
    REMOVE,
    RESTART,
    SORT_IN,
    SPACES,
    STATE,
    SUBJECTS,
    SUMS,
    TAKE,
    WIPE_FREED,
    WORDS,
    Source,
)
from headish.statements.compiling import define
from headish.statements.elements import spelled
from headish.statements.payloads import OF_TURN

_space: BindParameter[int] = bindparam("space")

_ROWID = f"(CAST(:space AS INTEGER) << {SEQ_BITS})"

_SEQ = f"& {LAST}"

_ASKED = (
    "CAST(replace(replace(replace(replace(CAST(:question AS text), ' AND ', ' & '), ' OR ', ' | '), '\" *', ''':*'), "
    "'\"', '''') AS tsquery)"
)


define(
    CAN_INDEX,
    spelled(
        sqlite="SELECT count(*) FROM sqlite_master WHERE name = 'search_text' "
        "AND EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5')",
        postgresql="SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('search_text')",
    ),
)

# Whether the index is switched off is not asked: that row has another space, so it may lie on another server.
define(
    STATE,
    spelled(
        sqlite="SELECT c.seq, s.seq, s.version, EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'search_text') "
        "AND EXISTS (SELECT 1 FROM pragma_module_list WHERE name = 'fts5') FROM counter AS c "
        "LEFT JOIN search AS s ON s.space = :space WHERE c.space = :space",
        postgresql="SELECT c.seq, s.seq, s.version, 1 FROM counter AS c LEFT JOIN search AS s ON s.space = :space "
        "WHERE c.space = :space",
    ),
)

define(
    POSITION,
    select(search.c.seq, search.c.version, search.c.emptied).where(search.c.space == _space),
)

_new = insert(search).values({column.name: bindparam(column.name) for column in search.c})

define(BEGIN, _new.on_conflict_do_nothing())

define(
    TAKE,
    update(search)
    .where(search.c.space == _space, search.c.seq == bindparam("known"), search.c.emptied == bindparam("known_emptied"))
    .values(seq=bindparam("to_seq")),
)

# FTS5 would write a large fill anew three times while it goes on. Whoever fills merges instead, once it is done. A
# thousand segments are merged by FTS5 itself, which takes two thousand at most.
define(
    CONFIGURE,
    spelled(
        sqlite="INSERT INTO search_text(search_text, rank) VALUES ('automerge', 0), ('crisismerge', 1000)",
        postgresql="SELECT 1",
    ),
)

define(
    EMPTIED,
    update(search).where(search.c.space == _space).values(emptied=search.c.emptied + 1),
)

define(
    FORGET_POSITION,
    spelled(sqlite="DELETE FROM search WHERE space = :space", postgresql="DELETE FROM search WHERE space = :space"),
)

define(
    # SQLite can empty its index, and not a part of it: every space begins anew, at its next search.
    RESTART,
    spelled(
        sqlite="UPDATE search SET seq = 0, version = :version, emptied = emptied + 1 WHERE seq >= 0",
        postgresql="UPDATE search SET seq = 0, version = :version, emptied = emptied + 1 WHERE space = :space",
    ),
)

define(
    EMPTY,
    spelled(
        sqlite="INSERT INTO search_text(search_text) VALUES ('delete-all')",
        postgresql="DELETE FROM search_text WHERE space = :space",
    ),
)

define(
    ADD,
    spelled(
        sqlite=f"INSERT INTO search_text(rowid, words) VALUES ({_ROWID} + :seq, :words)",
        postgresql="INSERT INTO search_text (space, seq, words) "
        "VALUES (:space, :seq, array_to_tsvector(string_to_array(:words, ' ')))",
    ),
)

# GIN looks how long its list is when a row is added, and 64 KB is the shortest that a server takes. It holds for the
# transaction, and needs no right to the index, as its own setting or gin_clean_pending_list would.
define(
    SORT_IN,
    spelled(sqlite="SELECT 1", postgresql="SELECT set_config('gin_pending_list_limit', '64', true)"),
)

define(
    REMOVE,
    spelled(
        sqlite=f"INSERT INTO search_text(search_text, rowid, words) VALUES ('delete', {_ROWID} + :seq, :words)",
        postgresql="DELETE FROM search_text WHERE space = :space AND seq = :seq",
    ),
)

# Without it, words that were taken out stay in the file until FTS5 happens to merge what holds them.
define(
    MERGE,
    spelled(sqlite="INSERT INTO search_text(search_text) VALUES ('optimize')", postgresql="SELECT 1"),
)

# Up to 250 pages of a level that has four segments or more.
define(
    MERGE_SOME,
    spelled(sqlite="INSERT INTO search_text(search_text, rank) VALUES ('merge', 250)", postgresql="SELECT 1"),
)

define(CHANGED, spelled(sqlite="SELECT total_changes()", postgresql="SELECT 0"))

define(IS_SHARED, spelled(sqlite="SELECT 1", postgresql="SELECT 0"))

define(IS_WIPED, spelled(sqlite="PRAGMA secure_delete", postgresql="SELECT 1"))

define(WIPE_FREED, spelled(sqlite="PRAGMA secure_delete = ON", postgresql="SELECT 1"))

define(KEEP_FREED, spelled(sqlite="PRAGMA secure_delete = OFF", postgresql="SELECT 1"))

# OFFSET keeps the server from reading the space backwards until enough turns match.
_matching = {
    "sqlite": f"SELECT rowid {_SEQ} AS seq FROM search_text WHERE search_text MATCH :question "
    f"AND rowid > {_ROWID} + :low AND rowid < {_ROWID} + :high ORDER BY rowid DESC LIMIT :limit",
    "postgresql": f"SELECT seq FROM (SELECT seq FROM search_text WHERE space = :space AND words @@ {_ASKED} "
    "AND seq > :low AND seq < :high OFFSET 0) AS found ORDER BY seq DESC LIMIT :limit",
}

define(MATCHING, spelled(**_matching))

_sources = ", ".join(f"t.{name}" for name in Source._fields)

_turns = f"SELECT f.seq, {_sources} FROM (%s) AS f LEFT JOIN turn AS t ON t.space = :space AND t.seq = f.seq"

define(FOUND, spelled(sqlite=_turns % _matching["sqlite"], postgresql=_turns % _matching["postgresql"]))

_count = "SELECT count(*), coalesce(min(seq), 0) FROM (%s) AS found"

define(COUNT_MATCHING, spelled(**{database: _count % sql for database, sql in _matching.items()}))

define(
    WORDS,
    spelled(
        sqlite="SELECT term, doc FROM search_word WHERE term > :after AND term < :end ORDER BY term LIMIT :limit",
        postgresql="SELECT w.lexeme, count(*) FROM search_text AS s, unnest(s.words) AS w WHERE s.space = :space "
        'AND w.lexeme COLLATE "C" > :after AND w.lexeme COLLATE "C" < :end '
        'GROUP BY w.lexeme ORDER BY w.lexeme COLLATE "C" LIMIT :limit',
    ),
)

define(
    SUMS,
    spelled(
        sqlite=f"SELECT count(*), coalesce(sum(doc {_SEQ}), 0) FROM search_entry WHERE term > :after AND term < :end "
        f"AND doc > {_ROWID} AND doc < {_ROWID} + {LAST}",
        postgresql="SELECT coalesce(sum(length(words)), 0), coalesce(sum(length(words) * seq), 0) FROM search_text "
        "WHERE space = :space",
    ),
)

# Meant for the whole database, as what it finds belongs to no space.
define(
    FIRST_WORD,
    spelled(
        sqlite="SELECT term FROM search_word WHERE term > :after ORDER BY term LIMIT 1",
        postgresql="SELECT min(space) || '.' FROM search_text WHERE space > CAST(:number AS bigint)",
    ),
)

_columns = [turn.c[name] for name in Source._fields]

define(
    AFTER,
    select(*_columns)
    .where(turn.c.space == _space, turn.c.seq > bindparam("seq"))
    .order_by(turn.c.seq)
    .limit(bindparam("limit")),
)

define(
    BEFORE,
    select(*_columns)
    .where(turn.c.space == _space, turn.c.seq > bindparam("low"), turn.c.seq < bindparam("high"))
    .order_by(turn.c.seq.desc())
    .limit(bindparam("limit")),
)

define(
    AT,
    select(*_columns).where(turn.c.space == _space, turn.c.seq.in_([bindparam(each) for each in PORTION])),
)

define(
    LARGE,
    select(payload.c.data)
    .select_from(turn.join(payload, OF_TURN))
    .where(turn.c.space == _space, turn.c.chain == bindparam("chain"), turn.c.pos == bindparam("pos")),
)

_columns_of = ", ".join('%s."key"' if name == "key" else f"%s.{name}" for name in StoredTurn._fields)

# What is compared are columns, and none is computed there: under a policy an index answers nothing else. The outer
# joins fix the order: left to itself, SQLite begins with every turn of the space.
_page = (
    "WITH w(seq) AS (%s), t AS (SELECT " + _columns_of.replace("%s", "found") + ", found.pos - 1 AS earlier "
    "FROM w LEFT JOIN turn AS found ON found.space = :space AND found.seq = w.seq) "
    "SELECT " + _columns_of.replace("%s", "t") + ", p.id AS before, "
    "t.pos = 0 AND EXISTS (SELECT 1 FROM link AS l WHERE l.space = :space AND l.chain = t.chain) "
    "FROM t LEFT JOIN turn AS p ON p.space = :space AND p.chain = t.chain AND p.pos = t.earlier"
)

define(
    PAGE,
    spelled(
        sqlite=_page % "SELECT value FROM json_each(:seqs)",
        postgresql=_page % "SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(:seqs AS json))",
    ),
)

define(SPACES, select(spaces.c.id).order_by(spaces.c.id))

define(
    SUBJECTS,
    text(
        "SELECT subject, data FROM conversation WHERE space = :space AND subject > :after ORDER BY subject LIMIT :limit"
    ),
)
