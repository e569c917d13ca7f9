"""The usage of runs, beside the items: an object for each run. Its key begins with the bookmark that the session had at
the time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from headish import Store, WriteTransaction
from headish.adapters.messages import USAGE
from headish.adapters.sessions import NamedSession, name_of, read

if TYPE_CHECKING:
    from agents.usage import Usage

KIND = "agents/usage"
_COUNTS = ("requests", "input_tokens", "output_tokens", "total_tokens")
_DETAILS = ("input_tokens_details", "output_tokens_details")


def store_usage(store: Store, session: NamedSession, used: Usage | None) -> None:
    """Store the usage of a run beside the last turn of its session. Does nothing if the session is empty."""
    name, turns = name_of(store, session), read(store, session)
    if name is None or not turns or used is None:
        return
    turn = turns[-1].id
    data = {
        "turn": turn,
        "user_turn_number": sum(each.role == "user" for each in turns),
        **{key: int(getattr(used, key, 0) or 0) for key in _COUNTS},
        **{key: _plain(getattr(used, key, None)) for key in _DETAILS},
    }

    def work(write: WriteTransaction) -> None:
        write.put(KIND, f"{name}\n{turn}", msgspec.json.encode(data))
        # Where ``usage`` and ``cost`` of headish look.
        write.put(USAGE, turn, msgspec.json.encode(_as_reply(used)))

    store.write(work)


def _as_reply(used: Usage) -> dict[str, Any]:
    """The usage of a run in the form of a reply, which counts input from a cache apart."""
    cached = int(getattr(used.input_tokens_details, "cached_tokens", 0) or 0)
    reasoning = int(getattr(used.output_tokens_details, "reasoning_tokens", 0) or 0)
    counts = {
        "input_tokens": max(0, used.input_tokens - cached),
        "cache_read_input_tokens": cached,
        "output_tokens": used.output_tokens,
        "reasoning_tokens": reasoning,
    }
    return {"provider": "openai_agents", **({"usage": counts} if any(counts.values()) else {})}


def list_usage(store: Store, session: NamedSession) -> list[dict[str, Any]]:
    """The usage of the runs whose last turn the session still has, in the order of the turns."""
    by_turn = {each["turn"]: each for each in _stored(store, session)}
    return [
        {key: value for key, value in by_turn[each.id].items() if key not in ("turn", "key")}
        for each in read(store, session)
        if each.id in by_turn
    ]


def total_of(listed: list[dict[str, Any]]) -> dict[str, int] | None:
    """The sum of the usage of runs; None without any."""
    if not listed:
        return None
    return {key: sum(each[key] for each in listed) for key in _COUNTS} | {"total_turns": len(listed)}


def forget_usage(store: Store, session: NamedSession) -> None:
    """Remove the stored usage of the runs of a session."""
    for each in _stored(store, session):
        store.write(partial(_forget, each))


def _forget(each: dict[str, Any], write: WriteTransaction) -> None:
    write.remove(KIND, each["key"])
    write.remove(USAGE, each["turn"])


def _stored(store: Store, session: NamedSession) -> list[dict[str, Any]]:
    name, records, after = name_of(store, session), list[dict[str, Any]](), None
    while name is not None:
        page = store.objects.list(KIND, prefix=f"{name}\n", after=after)
        records += [msgspec.json.decode(each.data) | {"key": each.key} for each in page]
        if not page:
            break
        after = page[-1].key
    return records


def _plain(details: Any) -> Any:
    dump = getattr(details, "model_dump", None)
    return dump() if callable(dump) else None
