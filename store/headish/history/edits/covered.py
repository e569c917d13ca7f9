"""Overlays among the turns that an edit keeps: they name the turns that they cover by digests, and copies have others.

So the copy of an overlay covers the copies. What it covers that did not grow from the edited turn keeps its digest.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from headish.database.query import Connection
from headish.rows.payloads import LOOKED_UP
from headish.rows.turns import places_by_digest, turn_by_seq
from headish.values.places import Place

_DIGEST = re.compile(rb'(?<=")[0-9a-f]{64}(?=")')


def cover_copies(
    connection: Connection, space: int, attributes: bytes | None, seq_of: Callable[[Place], int | None]
) -> bytes | None:
    """The attributes of an overlay, each digest in them as that of the copy. ``seq_of`` gives the commit number of the
    copy of the turn at a place, None where it has none.

    Cost: one statement for each 64 turns that are covered, and one for each copy.
    """
    if attributes is None:
        return None
    named = [bytes.fromhex(each.decode()) for each in dict.fromkeys(_DIGEST.findall(attributes))]
    renamed: dict[bytes, bytes] = {}
    for start in range(0, len(named), LOOKED_UP):
        for at in places_by_digest(connection, space, named[start : start + LOOKED_UP]):
            seq = seq_of(at.place)
            copy = None if seq is None else turn_by_seq(connection, space, seq)
            if copy is not None:
                renamed[at.digest.hex().encode()] = copy.digest.hex().encode()
    return _DIGEST.sub(lambda found: renamed.get(found[0], found[0]), attributes)
