"""The statements of ``rows/upkeep/erasures``."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BindParameter,
    LargeBinary,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    null,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from headish.database.schema import (
    bookmark,
    bookmark_log,
    counter,
    definition,
    erasure,
    link,
    metadata,
    payload,
    space_log,
    turn,
)
from headish.rows.payloads import PORTION
from headish.rows.upkeep.erasures import (
    ADD_RECEIPT,
    ALL_SAYING,
    BAR,
    BARRED,
    COPIES,
    COUNT_DEFINED,
    COUNT_ERASED_IN,
    DISOWN,
    DROP_PAYLOAD,
    EMPTY,
    EMPTY_TABLES,
    EMPTY_WHOLE,
    END_COUNTER,
    ERASABLE,
    ERASED_AT,
    FORGET_NAMES,
    GIVE_BACK,
    HAS_RECEIPTS,
    LAST_RECEIPT,
    LAST_SEQ,
    LINKS_INTO,
    LOGGED_IN,
    OVERLAYS,
    RECEIPT_AT,
    RECEIPT_BY_ID,
    RECEIPTS_AFTER,
    SAYING,
    UNNAMED,
)
from headish.statements.compiling import define
from headish.statements.elements import holds
from headish.statements.payloads import OF_TURN
from headish.statements.threads.places import wanted_places
from headish.statements.turns import COLUMNS
from headish.values.turns import OVERLAY

_space: BindParameter[int] = bindparam("space")

_number: BindParameter[int] = bindparam("number")

_at = (turn.c.space == _space, turn.c.chain == bindparam("chain"), turn.c.pos == bindparam("pos"))

_hashes: list[BindParameter[bytes]] = [bindparam(each) for each in PORTION]

_row = counter.c.space == _space

_wanted = wanted_places()

define(ADD_RECEIPT, insert(erasure).values({each.name: bindparam(each.name) for each in erasure.c}))

define(
    LAST_RECEIPT,
    select(erasure.c.number, erasure.c.hash, erasure.c.receipt)
    .where(erasure.c.space == _space)
    .order_by(erasure.c.number.desc())
    .limit(1),
)

define(
    LAST_SEQ,
    select(erasure.c.seq).where(erasure.c.space == _space).order_by(erasure.c.number.desc()).limit(1),
)

define(HAS_RECEIPTS, select(erasure.c.number).where(erasure.c.space == _space).limit(1))

define(RECEIPT_AT, select(erasure.c.receipt).where(erasure.c.space == _space, erasure.c.number == _number))

define(RECEIPT_BY_ID, select(erasure.c.number).where(erasure.c.space == _space, erasure.c.id == bindparam("id")))

define(
    RECEIPTS_AFTER,
    select(*erasure.c)
    .where(erasure.c.space == _space, erasure.c.number > _number)
    .order_by(erasure.c.number)
    .limit(bindparam("limit")),
)

define(
    ERASABLE,
    select(*COLUMNS, func.coalesce(func.length(turn.c.data), payload.c.size, literal_column("0")))
    .select_from(turn.outerjoin(payload, OF_TURN & turn.c.data.is_(None)))
    .where(
        turn.c.space == _space,
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
    )
    .order_by(turn.c.pos),
)

define(
    SAYING,
    select(turn.c.seq, turn.c.chain, turn.c.pos, turn.c.hash).where(
        turn.c.space == _space, turn.c.hash.in_(_hashes), turn.c.erased.is_(None)
    ),
)

define(
    ALL_SAYING,
    select(turn.c.seq, turn.c.chain, turn.c.pos, turn.c.hash)
    .where(turn.c.space == _space, turn.c.seq > bindparam("seq"), turn.c.erased.is_(None))
    .order_by(turn.c.seq)
    .limit(bindparam("limit")),
)

define(
    COUNT_DEFINED,
    select(definition.c.hash, func.count())
    .where(definition.c.space == _space, definition.c.hash.in_(_hashes))
    .group_by(definition.c.hash),
)

define(
    ERASED_AT,
    select(_wanted.c.chain, _wanted.c.pos, turn.c.erased).select_from(
        _wanted.outerjoin(
            turn, and_(turn.c.space == _space, turn.c.chain == _wanted.c.chain, turn.c.pos == _wanted.c.pos)
        )
    ),
)

define(
    COUNT_ERASED_IN,
    select(func.count()).where(
        turn.c.space == _space,
        turn.c.chain == bindparam("chain"),
        turn.c.pos.between(bindparam("low"), bindparam("high")),
        turn.c.erased.is_not(None),
    ),
)

define(
    LINKS_INTO,
    select(link.c.parent_pos, link.c.chain).where(
        link.c.space == _space, link.c.parent_chain == bindparam("chain"), link.c.parent_pos <= bindparam("pos")
    ),
)

define(
    LOGGED_IN,
    select(bookmark_log.c.name, bookmark_log.c.pos)
    .where(bookmark_log.c.space == _space, bookmark_log.c.chain == bindparam("chain"))
    .where(bookmark_log.c.pos <= bindparam("pos"))
    .distinct(),
)

define(
    OVERLAYS, select(turn.c.id, turn.c.attributes).where(turn.c.space == _space, turn.c.type == bindparam("overlay"))
)

define(
    COPIES,
    select(turn.c.id, turn.c.system).where(
        turn.c.space == _space, turn.c.system.is_not(None), holds(turn.c.system, bindparam("says", type_=LargeBinary))
    ),
)

define(EMPTY, update(turn).where(*_at).values(erased=_number, data=null()))

_without_meta: dict[str, Any] = {name: null() for name in ("data", "inherited", "system", "app", "head")}
# What an overlay does and what it covers is no content: it goes on hiding (rule R34, overlays).
_without_meta["attributes"] = case((turn.c.type == literal_column(f"'{OVERLAY}'"), turn.c.attributes), else_=null())

define(
    EMPTY_WHOLE,
    update(turn).where(*_at).values(**_without_meta, erased=_number, key=bindparam("key_hash")),
)
# The turn no longer says that it moved the name: from now on the name is found by its place.
define(
    DISOWN,
    update(bookmark)
    .where(
        bookmark.c.space == _space,
        bookmark.c.name == bindparam("head"),
        bookmark.c.chain == bindparam("chain"),
        bookmark.c.pos == bindparam("pos"),
    )
    .values(own=literal_column("0")),
)

define(
    DROP_PAYLOAD,
    delete(payload).where(payload.c.space == _space, payload.c.hash == bindparam("hash"), payload.c.erased.is_(None)),
)

_barred = upsert(payload).values(
    space=_space, hash=bindparam("hash"), size=bindparam("size"), data=null(), erased=bindparam("erased")
)

define(
    BAR,
    _barred.on_conflict_do_update(
        index_elements=[payload.c.space, payload.c.hash], set_={"data": null(), "erased": _barred.excluded.erased}
    ),
)

define(
    BARRED,
    select(payload.c.hash, payload.c.size, payload.c.erased).where(
        payload.c.space == _space, payload.c.erased.is_not(None)
    ),
)

define(
    GIVE_BACK,
    update(counter)
    .where(_row)
    .values(bars=counter.c.bars + bindparam("more_bars"), given_bytes=counter.c.given_bytes - bindparam("less_bytes")),
)

define(
    UNNAMED,
    text(
        "SELECT p.hash, p.size FROM payload AS p WHERE p.space = :space AND p.erased IS NULL AND NOT EXISTS ("
        "SELECT 1 FROM turn AS t WHERE t.space = :space AND t.hash = p.hash AND t.erased IS NULL) AND NOT EXISTS ("
        "SELECT 1 FROM definition AS d WHERE d.space = :space AND d.hash = p.hash)"
    ),
)

for _name, _query in EMPTY_TABLES.items():
    _table = metadata.tables[_name]
    define(_query, delete(_table).where(_table.c.space == _space))

define(FORGET_NAMES, delete(space_log).where(space_log.c.space == _space))

define(
    END_COUNTER,
    update(counter)
    .where(_row)
    .values(
        seq=literal_column("0"),
        latest=literal_column("0"),
        roots=literal_column("0"),
        heads=literal_column("0"),
        given_bytes=literal_column("0"),
        bars=literal_column("0"),
        limit_turns=null(),
        limit_bytes=null(),
        epoch=bindparam("random"),
        state=bindparam("became"),
    ),
)
