"""The usage of runs, beside the items: an object for each run. Its key begins with the name of the conversation's key,
which stays when the bookmark is renamed. Without a key, and for what was stored before, it begins with the bookmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from headish import Object, ReadTransaction, Store, WriteTransaction
from headish.adapters.messages import USAGE
from headish.adapters.naming import safe_name
from headish.adapters.sessions import NamedSession, find_session, read

if TYPE_CHECKING:
    from agents.usage import Usage

KIND = "agents/usage"
_COUNTS = ("requests", "input_tokens", "output_tokens", "total_tokens")
_DETAILS = ("input_tokens_details", "output_tokens_details")


def store_usage(store: Store, session: NamedSession, used: Usage | None) -> None:
    """Store the usage of a run beside the last turn of its session. Does nothing if the session is empty."""
    turns = read(store, session)
    if not turns or used is None:
        return
    turn = turns[-1].id
    data = {
        "turn": turn,
        "user_turn_number": sum(each.role == "user" for each in turns),
        **{key: int(getattr(used, key, 0) or 0) for key in _COUNTS},
        **{key: _plain(getattr(used, key, None)) for key in _DETAILS},
    }

    def work(write: WriteTransaction) -> None:
        names = _names(write, session)
        if not names:  # it was cleared meanwhile
            return
        write.put(KIND, f"{names[-1]}\n{turn}", msgspec.json.encode(data))
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
    stored = store.read(lambda read: _stored(read, _names(read, session)))
    by_turn = {data.pop("turn"): data for data in (msgspec.json.decode(each.data) for each in stored)}
    return [by_turn[each.id] for each in read(store, session) if each.id in by_turn]


def total_of(listed: list[dict[str, Any]]) -> dict[str, int] | None:
    """The sum of the usage of runs; None without any."""
    if not listed:
        return None
    return {key: sum(each[key] for each in listed) for key in _COUNTS} | {"total_turns": len(listed)}


def forget_usage(store: Store, session: NamedSession) -> None:
    """Remove the stored usage of the runs of a session, also of a removed one."""

    def work(write: WriteTransaction) -> None:
        names = _names(write, session, removed=True)
        # After a rename another conversation may have the old name: the usage of its turns stays.
        others = {turn.id for name in names[1:] for turn in write.thread(name)}
        for each in _stored(write, names):
            turn = msgspec.json.decode(each.data)["turn"]
            if turn not in others:
                write.remove(KIND, each.key)
                write.remove(USAGE, turn)

    store.write(work)


def _names(read: ReadTransaction, session: NamedSession, *, removed: bool = False) -> list[str]:
    """What the keys of a session's usage may begin with: its bookmark, then the name of its conversation's key if that
    is another one. Empty if there is no session."""
    name = find_session(read, session, removed=removed)
    if name is None:
        return []
    key = read.key_of(name)
    return [name] if key is None or safe_name(key) == name else [name, safe_name(key)]


def _stored(read: ReadTransaction, names: list[str]) -> list[Object]:
    return [each for name in names for each in read.objects(KIND, f"{name}\n")]


def _plain(details: Any) -> Any:
    dump = getattr(details, "model_dump", None)
    return dump() if callable(dump) else None
