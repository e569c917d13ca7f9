"""The thinnest program that stores what headish stores: the floor of each line of writing.

It encodes a turn, derives the three hashes, the seal and the id, and writes the rows, in as few statements as possible.
It checks nothing, locks nothing but the database, and serves nobody else. What it wrote is a store: ``verify`` reads it
outside the clock, and finds nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import plain
from benchmarks.canonical import Said, encode
from benchmarks.samerows import MOVE, TAKE, TAKE_NEXT
from headish import Store
from headish.bundles.records import BUNDLE, PAGE_TURNS, BundleEnd, BundleHeader, BundleKind, WirePage
from headish.content.encoding import DECODED_TOGETHER, decode_payloads
from headish.content.frames import FrameWriter, read_frames
from headish.content.hashes import MOVE_LOG, begin_digest, digest_from, hash_payload, run_on, seal_arrival, seal_turn
from headish.rows.elsewhere.arrivals import STRANGER
from headish.values.ids import IdMint, are_turn_ids
from headish.values.limits import INLINE_BYTES
from headish.values.messages import ROLES

ADD_TURN = (
    "INSERT INTO turn (space, chain, pos, seq, id, role, digest, hash, data, seal, head)"
    " VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_PAYLOAD = "INSERT INTO payload (space, hash, size, data) VALUES (1, ?, ?, ?) ON CONFLICT DO NOTHING"
ADD_LOG = (
    "INSERT INTO bookmark_log (space, name, move, chain, pos, milliseconds, seq, running)"
    " VALUES (1, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_LINK = "INSERT INTO link (space, chain, ordinal, parent_chain, parent_pos) VALUES (1, ?, 0, ?, ?)"
BEGIN = """
    SELECT c.seq, c.change, b.chain, b.pos, b.move, b.running, t.id, t.digest FROM counter c, bookmark b, turn t
    WHERE c.space = 1 AND b.space = 1 AND b.name = ? AND t.space = 1 AND t.chain = b.chain AND t.pos = b.pos
"""
PARENT = """
    SELECT chain, pos, digest, (SELECT max(pos) FROM turn AS o WHERE o.space = 1 AND o.chain = turn.chain)
    FROM turn WHERE space = 1 AND id = ?
"""
ADD_ARRIVAL = "INSERT INTO arrival (space, first, last, kind, milliseconds, seal) VALUES (1, ?, ?, ?, ?, ?)"
LEAVING = """
    SELECT id, seal, role, head, coalesce(data, (
      SELECT p.data FROM payload AS p WHERE p.space = 1 AND p.hash = turn.hash
    )) FROM turn WHERE space = 1 AND seq > ? AND seq <= ? ORDER BY seq
"""
Row = tuple[Any, ...]


class Made(NamedTuple):
    """The row of a turn, and what its bytes are."""

    row: Row
    id: str
    digest: bytes
    hash: bytes
    payload: bytes

    @property
    def large(self) -> list[Row]:
        return [] if len(self.payload) <= INLINE_BYTES else [(self.hash, len(self.payload), self.payload)]


class Thin:
    """A connection to a store's file, and where its name stands."""

    def __init__(self, path: Path, durability: str, name: bytes = b"main") -> None:
        self.connection, self._name, self._mint = plain.connect(path, durability), name, IdMint().mint
        row = self.connection.execute(BEGIN, (name,)).fetchone()
        self.seq, self._change, self._chain, self._pos, self._move, self._running, self._id, self._digest = row

    def append(self, said: Said) -> None:
        """A turn behind the name: counter, turn, name, log."""
        self.append_all([said])

    def append_all(self, batch: Sequence[Said]) -> None:
        """Turns behind the name in one transaction, each behind the one before."""
        made, execute, count = self._line(batch), self.connection.execute, len(batch)
        size_bytes = sum([len(each.payload) for each in made])
        moved, now = self._move + 1, time.time_ns() // 1_000_000
        running = run_on(MOVE_LOG, self._running, moved, made[-1].digest.hex().encode(), now)
        execute("BEGIN IMMEDIATE")
        execute(TAKE_NEXT, (self.seq + count, self.seq + count, size_bytes, self.seq, self._change))
        for large in [row for each in made for row in each.large]:
            execute(ADD_PAYLOAD, large)
        self.connection.executemany(ADD_TURN, [each.row for each in made])
        end = (self._chain, self._pos + count)
        execute(MOVE, (*end, moved, now, 1, running, self._name, self._move))
        execute(ADD_LOG, (self._name, moved, *end, now, self.seq + count, running))
        execute("COMMIT")
        self._pos, self.seq, self._move, self._running = self._pos + count, self.seq + count, moved, running
        self._id, self._digest = made[-1].id, made[-1].digest

    def fork(self, parent_and_said: tuple[str, Said]) -> None:
        """A turn behind any other, which begins a chain: read the parent; counter, turn, link."""
        parent, said = parent_and_said
        execute = self.connection.execute
        execute("BEGIN IMMEDIATE")
        chain, pos, digest, _ = execute(PARENT, (parent,)).fetchone()
        self.seq += 1
        made = self._make(said, (self.seq, 0, self.seq), digest, parent, None)
        execute(TAKE, (1, 1, 0, 1, len(made.payload)))
        for large in made.large:
            execute(ADD_PAYLOAD, large)
        execute(ADD_TURN, made.row)
        execute(ADD_LINK, (self.seq, chain, pos))
        execute("COMMIT")

    def _line(self, batch: Sequence[Said]) -> list[Made]:
        made: list[Made] = []
        parent, digest = self._id, self._digest
        for number, said in enumerate(batch, 1):
            head = self._name if number == len(batch) else None
            place = (self._chain, self._pos + number, self.seq + number)
            made.append(self._make(said, place, digest, parent, head))
            parent, digest = made[-1].id, made[-1].digest
        return made

    def _make(self, said: Said, place: Row, before: bytes, parent: str, head: bytes | None) -> Made:
        payload, turn_id = encode(said.content), self._mint()
        hash = hash_payload(payload)
        digest = digest_from(begin_digest(said.role, None, "application/json", None), b"", hash, (before,))
        seal = seal_turn(turn_id, digest, (parent,), head=head)
        data = payload if len(payload) <= INLINE_BYTES else None
        return Made((*place, turn_id, said.role, digest, hash, data, seal, head), turn_id, digest, hash, payload)


def appending(path: Path, durability: str, batches: Sequence[Sequence[Said]], name: str = "main") -> Iterator[None]:
    """One transaction for each batch, behind a name of a store."""
    thin = Thin(path, durability, name.encode())
    with closing(thin.connection):
        for batch in batches:
            thin.append_all(batch)
            yield


def write_bundle(source: Path, target: Path) -> None:
    """A bundle of the one thread of a store, without a look at what it says."""
    with closing(plain.connect(source)) as connection, target.open("wb") as file:
        frames = FrameWriter(file, BUNDLE)
        frames.write(BundleKind.HEADER, BundleHeader())
        rows: list[Row] = []
        turns, last = 0, None
        while rows := connection.execute(LEAVING, (turns, turns + PAGE_TURNS)).fetchall():
            before = [() if last is None else (last,), *[(at,) for at in range(len(rows) - 1)]]
            ids, seals, roles, heads, payloads = zip(*rows, strict=True)
            none, false, places = [None] * len(rows), [False] * len(rows), range(len(rows))
            columns = (ids, before, places, seals, roles, none, none, false, none, none, none, none, heads)
            frames.write(BundleKind.PAGE, {"payloads": payloads, "turns": [*zip(*columns, strict=True)]})
            turns, last = turns + len(rows), ids[-1]
        frames.write(BundleKind.END, BundleEnd(turns, 0))


def apply_bundle(bundle: Path, target: Path, *, checked: bool) -> None:
    """The turns of such a bundle into an empty store: each hash is proven, and with ``checked`` each id, role and
    payload is looked at, too."""
    with closing(plain.connect(target)) as connection, bundle.open("rb") as file:
        seq, last, digest = 0, "", b""
        for page in (value for kind, value in read_frames(file, "", BUNDLE) if kind is BundleKind.PAGE):
            if checked:
                _check(page)
            rows: list[Row] = []
            for turn, payload in zip(page.turns, page.payloads, strict=True):
                hash = hash_payload(payload)
                said = begin_digest(turn.role, None, "application/json", None)
                digest = digest_from(said, b"", hash, (digest,) if seq else ())
                if seal_turn(turn.id, digest, (last,) if seq else (), head=turn.head) != turn.seal:
                    raise SystemExit("a turn is not as its seal says")
                data = payload if len(payload) <= INLINE_BYTES else None
                rows.append((1, seq, seq + 1, turn.id, turn.role, digest, hash, data, turn.seal, turn.head))
                seq, last = seq + 1, turn.id
            connection.execute("BEGIN IMMEDIATE")
            size_bytes = sum(map(len, page.payloads))
            connection.execute(TAKE, (len(rows), len(rows), int(seq == len(rows)), int(seq == len(rows)), size_bytes))
            large = [(row[6], len(data), data) for row, data in zip(rows, page.payloads, strict=True) if row[7] is None]
            connection.executemany(ADD_PAYLOAD, large)
            connection.executemany(ADD_TURN, rows)
            first, now = seq - len(rows) + 1, time.time_ns() // 1_000_000
            seal = seal_arrival(first, seq, STRANGER, None, None, None, now)
            connection.execute(ADD_ARRIVAL, (first, seq, STRANGER, now, seal))
            connection.execute("COMMIT")


def _check(page: WirePage) -> None:
    ids, roles = [each.id for each in page.turns], {each.role for each in page.turns}
    parts = range(0, len(page.payloads), DECODED_TOGETHER)
    if not are_turn_ids(ids) or not roles <= {*ROLES}:
        raise SystemExit("a turn has no id, or another role")
    if None in [decode_payloads(page.payloads[at : at + DECODED_TOGETHER]) for at in parts]:
        raise SystemExit("a payload does not decode")


def rows_alone(path: Path, store_path: Path) -> Path:
    """A database with the rows of a store's turns and of its large payloads, without any index, key or other table."""
    with closing(plain.connect(path)) as connection:
        connection.execute("ATTACH ? AS store", (str(store_path),))
        for table in ("turn", "payload"):
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM store.{table}")
    return path


def check_whole(path: Path, turns: int) -> None:
    """What was written is a store that headish finds whole, outside the clock. Raises: SystemExit."""
    with Store.open(path) as store:
        found = store.stats().turns
        problems = store.verify().problems
    if problems or found != turns:
        raise SystemExit(f"the thinnest program wrote no store: {found} turns, not {turns}; {problems[:1]}")
