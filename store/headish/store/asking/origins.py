"""Find out where turns came from, before servers, keys, options and calls that they name take effect here.

Anybody may have made a bundle, or written to a remote that is not encrypted: these authors are *strangers*. Turns from
an encrypted remote were put there by one of the user's own devices, which has the key; but what that device got from a
stranger stays a stranger's. The arrival of a turn records how it came, whatever becomes of the remote later. Only the
devices of a remote without a key can be declared trusted by the user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from headish.content import strictjson
from headish.database.query import Connection
from headish.history.reading.decode import decode_mapping
from headish.history.reading.options import fold_options
from headish.history.reading.walk import walk_inherited
from headish.rows.elsewhere.arrivals import OWN, PLAIN, arrivals_among, arrived, arrived_with
from headish.rows.keys import turns_by_ids
from headish.rows.threads.walks import Walked
from headish.rows.turns import turn_by_id
from headish.store.space import Headishes, Space
from headish.values.ids import TurnId
from headish.values.messages import Note
from headish.values.places import Place

SAMPLING = frozenset((
    "frequency_penalty", "max_tokens", "presence_penalty", "seed", "stop_sequences", "temperature", "top_k", "top_p",
))  # fmt: skip
"""The only options of strangers that take effect: they name no server and no tool, and disclose nothing."""


def has_arrived(space: Space, turn_id: TurnId) -> bool:
    """Whether a turn came from elsewhere, by a bundle or a remote. Cost: two statements."""
    number = space._number
    turn = space._read(lambda connection: turn_by_id(connection, number, turn_id))
    return turn is not None and space._read(lambda connection: arrived(connection, number, turn.seq))


def is_strangers(space: Space, turn_id: TurnId) -> bool:
    """Whether a turn came from a stranger. Cost: two statements, three where it came over a remote without a key."""
    number = space._number

    def work(connection: Connection) -> bool:
        turn = turn_by_id(connection, number, turn_id)
        return turn is not None and bool(_strangers_among(connection, number, [turn.seq]))

    return space._read(work)


def acting_walk(
    connection: Connection, space: int, walked: Sequence[Walked]
) -> tuple[Sequence[Walked], tuple[Note, ...]]:
    """Remove the options of strangers that must not take effect here from a walk; return it with a note for each such
    turn.

    Cost: nothing if no turn sets options; else one statement, or two.
    """
    strangers = _strangers_among(connection, space, [turn.seq for turn in walked if turn.inherited])
    if not strangers:
        return walked, ()
    acting: list[Walked] = []
    notes: list[Note] = []
    for turn in walked:
        if turn.inherited and turn.seq in strangers:
            in_effect, barred = _acting(decode_mapping(turn.inherited, turn.id, "inherited"))
            turn = replace(turn, inherited=strictjson.encode(in_effect) if in_effect else None)
            if barred:
                notes.append(Note(f"options from elsewhere are left out: {', '.join(barred)}", turn.id))
        acting.append(turn)
    return acting, tuple(notes)


def acting_options(space: Space, headishes: Headishes) -> dict[str, Any]:
    """The options that a thread hands down, without those of strangers that must not take effect here."""
    number = space._number

    def work(connection: Connection, places: list[Place]) -> dict[str, Any]:
        inherited = walk_inherited(connection, number, places)
        if not inherited:
            return {}
        turns = turns_by_ids(connection, number, [TurnId(turn) for turn, _ in inherited])
        strangers = _strangers_among(connection, number, [each.seq for each in turns.values()])
        barred = {id for id, each in turns.items() if each.seq in strangers}
        return fold_options((turn, _only_acting(turn, data) if turn in barred else data) for turn, data in inherited)

    return space._read_from(headishes, work)


def _only_acting(turn: str, inherited: bytes) -> bytes:
    return strictjson.encode(_acting(decode_mapping(inherited, turn, "inherited"))[0])


def _acting(options: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Split a stranger's options into those that may take effect and the paths of the others."""
    params = options.get("params")
    settings = params if isinstance(params, Mapping) else {}
    sampling = {key: value for key, value in settings.items() if key in SAMPLING}
    barred = [key for key in options if key != "params" or not isinstance(params, Mapping)]
    barred += [f"params.{key}" for key in settings if key not in SAMPLING]
    return ({"params": sampling} if sampling else {}), barred


def _strangers_among(connection: Connection, space: int, seqs: Sequence[int]) -> set[int]:
    """The commit numbers among ``seqs`` whose turns came from a stranger."""
    if not seqs:
        return set()
    foreign = [each for each in arrivals_among(connection, space, min(seqs), max(seqs)) if each.kind != OWN]
    # Only turns from a remote without a key depend on whom the user trusts; without such turns the statement is spared.
    trusted = _trusted_devices(connection, space) if any(each.kind == PLAIN for each in foreign) else ()
    foreign = [each for each in foreign if each.kind != PLAIN or (each.remote, each.device) not in trusted]
    return arrived_with(foreign, seqs)


def _trusted_devices(connection: Connection, space: int) -> set[tuple[bytes | None, str | None]]:
    """The devices of remotes without a key that the user trusts, each with the name of its remote."""
    from headish.syncing.remotes import read_remotes  # late: most stores have none

    trusted = (each for each in read_remotes(connection, space) if each.settings.trust)
    return {(each.name, device) for each in trusted for device in each.state.seen}
