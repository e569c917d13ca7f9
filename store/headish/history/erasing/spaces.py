"""Erase a whole space: its rows are removed; its entry stays under a new name, with its receipts."""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from headish.database.query import Connection
from headish.history.erasing.places import forget_space
from headish.history.tombstones import ErasureGrounds, begin_receipt
from headish.rows.bookmarks import count_bookmarks
from headish.rows.counters import read_counter
from headish.rows.definitions import POINTER, TOOLS, list_definitions
from headish.rows.spaces import find_space, name_space
from headish.rows.streams import open_streams
from headish.rows.upkeep.erasures import empty_space
from headish.rows.upkeep.receipts import add_receipt
from headish.values.ids import Mint
from headish.values.results.erasures import SPACE, Found, Receipt


def find_in_space(connection: Connection, space: int) -> Found:
    """Count what the erasure of a space removes."""
    counted = read_counter(connection, space)
    definitions = sum(len(list_definitions(connection, space, kind)) for kind in (POINTER, TOOLS))
    return Found(
        bytes=counted.given_bytes,
        definitions=definitions,
        streams=tuple(each.id for each in open_streams(connection, space)),
        counts={"turns": counted.seq, "bookmarks": count_bookmarks(connection, space), "definitions": definitions},
    )


def erase_space(connection: Connection, space: int, said: ErasureGrounds, mint: Mint) -> tuple[Found, Receipt, str]:
    """Erase everything in a space, its name and its earlier names. The space is locked. Returns the report, the
    receipt, and the new name.

    The number is never used for another space, and readers who follow the space learn that it is gone.
    """
    report = find_in_space(connection, space)
    begun, before = begin_receipt(connection, space, SPACE, said, mint)
    forget_space(connection, space)
    # A new epoch, because the numbers begin again: an older cursor must not match what comes later.
    empty_space(connection, space, secrets.token_bytes(16))
    name = _free_name(connection, space)
    name_space(connection, space, name.encode())
    receipt = replace(
        begun,
        meta=True,
        bytes=report.bytes,
        counts={key: count for key, count in report.counts.items() if count},
        not_reached=said.not_reached,
    )
    add_receipt(connection, space, receipt, before)
    return report, receipt, name


def _free_name(connection: Connection, space: int) -> str:
    """``erased-N`` with the number of the space, and dashes after it if another space has that name."""
    name = f"erased-{space}"
    while find_space(connection, name.encode()) is not None:
        name += "-"
    return name
