"""Erase turns: find them, empty them and write the receipt, in one transaction that holds the lock of the space."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from headish.content.hashes import hash_key
from headish.database.query import Connection
from headish.history.erasing.choosing import Chosen, Wish, barrable, choose, names_gone, sift, with_equals
from headish.history.erasing.places import forget_turns
from headish.history.erasing.repeating import TITLE, repeats_of, take_records, take_titles, turns_of_repeats
from headish.history.reading.decode import mapping_in, read_mapping
from headish.history.tombstones import ErasureGrounds, as_erased, begin_receipt
from headish.rows.keys import turns_by_keys
from headish.rows.signatures import forget_signatures
from headish.rows.spaces import space_numbers
from headish.rows.streams import open_streams
from headish.rows.threads.names import names_of_segments
from headish.rows.threads.places import count_continuing, parents_of_turns
from headish.rows.turns import StoredTurn
from headish.rows.upkeep.erasures import (
    Erasable,
    bar,
    barred,
    count_defined,
    count_gone,
    count_living,
    drop_payloads,
    empty_turns,
    places_saying,
)
from headish.rows.upkeep.receipts import add_receipt
from headish.values.ids import Mint, TurnId
from headish.values.limits import INLINE_BYTES
from headish.values.names import stored_name
from headish.values.places import Place, Segment
from headish.values.results.erasures import Barred, Found, Receipt, Repeat
from headish.values.turns import reply_of

_WORDS_OF_A_SOURCE = ("header", "header_raw", "pending", "tail")


class ErasurePlan(NamedTuple):
    """The plan of an erasure: the turns, the large payloads that nothing else needs, the new bars (sizes by hash), and
    the repeats to erase. ``found`` is the report for the caller."""

    turns: list[Erasable]
    payloads: list[bytes]
    bars: dict[bytes, int]
    repeats: list[Repeat]
    found: Found


def plan(connection: Connection, space: int, ends: Sequence[Place], wish: Wish) -> ErasurePlan:
    """Find what a wish erases and what it leaves, without changing anything.

    Cost: that of ``choose``; reads the space three times, and takes a few statements for each 64 turns.
    Raises: CorruptTurn, CorruptRecord.
    """
    chosen = choose(connection, space, ends, wish)
    related = repeats_of(connection, space, chosen.named)
    more = sift(connection, space, turns_of_repeats(connection, space, related.found), wish)
    to_erase = {each.turn.id for each in more.turns}
    repeats = [each for each in related.found if each.kind == TITLE or each.subject in to_erase]
    if wish.repeats:
        chosen = chosen._replace(turns=[*chosen.turns, *more.turns], barring=[*chosen.barring, *more.barring])
    # After the repeats are added: a bar on their content erases turns with equal content, too.
    chosen = with_equals(connection, space, chosen)
    held = {each.turn.hash: each.size for each in chosen.turns if each.turn.erased is None}
    saying = Counter(hash for _, hash in places_saying(connection, space, held))
    defined = count_defined(connection, space, held)
    going = Counter(each.turn.hash for each in chosen.turns if each.turn.erased is None)
    # All turns with the same large payload share one row: it stays while a turn outside of the wish, or a definition,
    # needs it.
    needed = {hash for hash in held if saying[hash] > going[hash] or hash in defined}
    large = {hash for hash, size in held.items() if size > INLINE_BYTES}
    bars = _new_bars(connection, space, chosen)
    around = _around(connection, space, [each.turn for each in chosen.turns])
    gone = names_gone(connection, space, ends, chosen, wish) if wish.names else ()
    found = Found(
        turns=tuple(each.turn.id for each in chosen.turns),
        bytes=sum(each.size for each in chosen.turns),
        kept_bytes=sum(held[hash] for hash in large & needed),
        already=chosen.already,
        equal_turns=sum(saying[hash] - going[hash] for hash in held),
        definitions=sum(defined.values()),
        barred=len(bars),
        kept_turns=chosen.kept_turns,
        kept=chosen.kept,
        beside=0 if wish.meta else sum(map(_keeps_words, chosen.turns)),
        repeats=() if wish.repeats else tuple(repeats),
        titles=tuple(each.subject for each in repeats if each.kind == TITLE) if wish.repeats else (),
        uncompared_titles=related.uncompared,
        elsewhere=_elsewhere(connection, space, {each.turn.id for each in (*chosen.named, *chosen.turns)}),
        options=_options(chosen.turns) if wish.meta else (),
        children=around.children,
        names=tuple(name for name in around.names if name not in gone),
        names_gone=gone,
        streams=around.streams,
    )
    return ErasurePlan(chosen.turns, sorted(large - needed), bars, repeats if wish.repeats else [], found)


def erase(
    connection: Connection, space: int, ends: Sequence[Place], wish: Wish, said: ErasureGrounds, mint: Mint
) -> tuple[Found, Receipt | None]:
    """Erase what a wish names. The space is locked. Without anything to erase there is no receipt.

    Cost: that of ``plan``, and about eight statements; one for each turn on SQLite.
    Raises: as ``plan``.
    """
    planned = plan(connection, space, ends, wish)
    if not (planned.turns or planned.bars or planned.repeats):
        return planned.found, None
    begun, before = begin_receipt(connection, space, wish.scope, said, mint)
    # Before the turns are emptied: the search index finds the words to remove by reading the payloads.
    forget_turns(connection, space, [each.turn.id for each in planned.turns])
    emptied = _keys_after(connection, space, [each.turn for each in planned.turns], wish.meta)
    empty_turns(connection, space, begun.number, emptied, meta=wish.meta)
    if wish.meta:
        forget_signatures(connection, space, [each.turn.id for each in planned.turns])
    drop_payloads(connection, space, planned.payloads)
    bar(connection, space, begun.number, planned.bars)
    count_gone(connection, space, bytes=planned.found.bytes, bars=len(planned.bars))
    counts = {"titles": take_titles(connection, space, planned.repeats)}
    counts["records"] = (
        take_records(connection, space, [each.turn.place for each in planned.turns]) if wish.names else 0
    )
    receipt = replace(
        begun,
        meta=wish.meta,
        content=wish.content,
        bytes=planned.found.bytes,
        turns=tuple(as_erased(replace(turn, key=key), meta=wish.meta) for turn, key in emptied),
        barred=tuple(Barred(hash.hex(), size) for hash, size in sorted(planned.bars.items())),
        counts={name: count for name, count in counts.items() if count},
        stays=_stays(planned.found),
        not_reached=(*_copies_elsewhere(planned.found), *said.not_reached),
    )
    # In the same transaction: content that is gone without a receipt would read as damage.
    add_receipt(connection, space, receipt, before)
    return planned.found, receipt


def _keys_after(
    connection: Connection, space: int, turns: Sequence[StoredTurn], meta: bool
) -> list[tuple[StoredTurn, bytes | None]]:
    """The turns with their keys after the erasure: hashes if the meta is erased, so that an import still recognises the
    turns. A hash that another turn has is left out, as keys are (rule R45, shadowed keys)."""
    hashes = {each.key: hash_key(each.key) for each in turns if each.key is not None} if meta else {}
    taken = turns_by_keys(connection, space, hashes.values())
    keys: dict[bytes | None, bytes | None] = {key: None if hash in taken else hash for key, hash in hashes.items()}
    return [(each, keys.get(each.key, each.key)) for each in turns]


def _new_bars(connection: Connection, space: int, chosen: Chosen) -> dict[bytes, int]:
    """The hashes to bar that are not barred yet, each with the size of its payload."""
    if not chosen.barring:
        return {}
    # A bar keeps the number of the erasure that set it; a second one must not take it over.
    already = barred(connection, space)
    new = {each.turn.hash: each.size for each in chosen.barring if each.turn.hash not in already}
    return barrable(connection, space, new)


def _elsewhere(connection: Connection, space: int, ids: Collection[TurnId]) -> dict[str, int]:
    """The other spaces with copies of these turns that are not erased there, each with the number of copies.

    Cost: one statement for each other space of the database and 64 turns.
    """
    others = [(number, name) for number, name in space_numbers(connection) if number != space and ids]
    counted = ((name, count_living(connection.within(number), number, ids)) for number, name in others)
    return {stored_name(name): count for name, count in counted if count}


def _copies_elsewhere(found: Found) -> tuple[str, ...]:
    """A line for the receipt about copies in other spaces. Receipts name no space: the name may be a person's."""
    spaces = len(found.elsewhere)
    return (f"copies of these turns in other spaces of this database ({spaces:,})",) if spaces else ()


def _stays(found: Found) -> dict[str, int]:
    counts = {"bytes": found.kept_bytes, "equal_turns": found.equal_turns, "definitions": found.definitions}
    counts |= {"children": found.children, "repeats": len(found.repeats), "kept_turns": found.kept_turns}
    return {name: count for name, count in counts.items() if count}


def _keeps_words(each: Erasable) -> bool:
    """Whether the system keys of a turn may contain words of its source."""
    system = read_mapping(each.turn, "system")
    return any(key in system for key in _WORDS_OF_A_SOURCE) or "details" in reply_of(system)


def _options(turns: Sequence[Erasable]) -> tuple[str, ...]:
    set_here = (read_mapping(each.turn, "inherited") for each in turns if each.turn.inherited is not None)
    return tuple(dict.fromkeys(name for options in set_here for name in options))


class Around(NamedTuple):
    """What is around the turns to erase: the number of turns that continue them, the bookmarks that point at them, and
    the streams that answer them."""

    children: int
    names: tuple[str, ...]
    streams: tuple[TurnId, ...]


def _around(connection: Connection, space: int, turns: Sequence[StoredTurn]) -> Around:
    places = {each.place for each in turns}
    parents = parents_of_turns(connection, space, places)
    ids = {each.id for each in turns}
    inside = sum(parent in ids for each in parents.values() for parent in each)
    children = sum(count_continuing(connection, space, places).values()) - inside
    names_at = names_of_segments(connection, space, [Segment(chain, pos, pos) for chain, pos in places])
    names = tuple(sorted(stored_name(name) for place, at in names_at.items() if place in places for name in at))
    arriving = tuple(each.id for each in open_streams(connection, space) if ids & set(_answered(each.about)))
    return Around(children, names, arriving)


def _answered(about: bytes) -> list[str]:
    turns = mapping_in(about).get("turns")
    return [each for each in turns if isinstance(each, str)] if isinstance(turns, list) else []
