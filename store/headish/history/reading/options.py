"""Merge the options that the turns of a walk hand down, and find which turn set each. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headish.content import strictjson
from headish.content.inherited import fold
from headish.history.reading.decode import decode_mapping
from headish.rows.threads.walks import Walked
from headish.values.ids import TurnId


def resolve_options(walked: Sequence[Walked]) -> dict[str, Any]:
    """Merge the options of walked turns in walk order (rule I8, options merge)."""
    return fold_options((turn.id, turn.inherited) for turn in walked if turn.inherited)


def fold_options(inherited: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
    """Merge the options of ``(turn id, inherited)`` pairs in order."""
    return fold(decode_mapping(encoded, turn_id, "inherited") for turn_id, encoded in inherited)


def param_of(options: Mapping[str, Any], name: str) -> Any:
    """What a thread's options name as this parameter of its requests; None if nothing."""
    params = options.get("params")
    return params.get(name) if isinstance(params, Mapping) else None


def option_origins(walked: Sequence[Walked]) -> dict[str, TurnId]:
    """The turn that set each option, by path (``params.max_tokens``), in walk order.

    A key with a dot or a quote, or an empty key, is written in a path as a JSON string (``"a.b".c``), so that no two
    options have the same path.
    """
    origins: dict[str, TurnId] = {}
    for turn in walked:
        if turn.inherited:
            _note_origins(origins, decode_mapping(turn.inherited, turn.id, "inherited"), "", turn.id)
    return origins


def _note_origins(origins: dict[str, TurnId], patch: Mapping[str, Any], prefix: str, turn_id: TurnId) -> None:
    """As in a merge patch (RFC 7396): a record merges key by key, any other value replaces all that was below."""
    for key, value in patch.items():
        path = f"{prefix}{_as_step(key)}"
        if isinstance(value, Mapping):
            origins.pop(path, None)
            _note_origins(origins, value, f"{path}.", turn_id)
            continue
        for below in [each for each in origins if each == path or each.startswith(f"{path}.")]:
            del origins[below]
        if value is not None:
            origins[path] = turn_id


def _as_step(key: str) -> str:
    """A key as a step of a path; quoted if it could be read as more than one step."""
    return strictjson.encode(key).decode() if not key or "." in key or '"' in key else key
