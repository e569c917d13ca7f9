"""Read messages in the values of channels: messages, short ways to write one, removals, and overwrites of the whole
list.

A program may write a message as a mapping (``{"role": …, "content": …}``), a pair or a text; LangGraph makes messages
of them when it reads them.

``frameworks.langchain`` maps the fields of LangChain's message classes, for this reader as for the adapters. What
OpenAI's client keeps a second time of calls and reasoning, under ``additional_kwargs``, is left out.

Source: langgraph 1.2.22, ``graph/message.py``, ``types.py``; langchain-core 1.7.2, ``messages``; read and run
2026-11-22.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headish.errors import HeadishError
from headish.imports.notes import ImportNotes
from headish.imports.reader import SourceMessage
from headish.imports.readers.frameworks.langgraph.checkpoint_values import Revivable
from headish.transcripts.frameworks.langchain.facts import OPENAI_ROLE, ROLES, Fields, kind_of_message, reply_of
from headish.transcripts.frameworks.langchain.messages import split
from headish.values import shapes

_OVERWRITE = "__overwrite__"
_OWN = (
    "type", "content", "id", "name", "tool_calls", "invalid_tool_calls", "tool_call_id", "usage_metadata", "status",
    "additional_kwargs", "response_metadata", "example", "tool_call_chunks", "chunk_position",
)  # fmt: skip
_REPEATED = ("tool_calls", "function_call", "reasoning_content", OPENAI_ROLE)


def as_message(value: Any) -> tuple[str, Mapping[str, Any]] | None:
    """Return the kind and the fields of a message; None if it is not a message."""
    fields = _fields(value)
    if fields is None:
        return None
    kind = kind_of_message(value.name, fields)
    return None if kind is None else (kind, fields)


def holds_messages(value: Any) -> bool:
    """Whether a value is a list with a message in it."""
    return isinstance(value, list) and any(as_message(each) for each in value)


def written_in(value: Any) -> list[Any]:
    """Return what a write adds to a list: its items, or itself."""
    if isinstance(value, Revivable) and (value.module, value.name) == ("builtins", "list"):
        value = value.value
    return list(value) if isinstance(value, list) else [] if value is None else [value]


def overwritten(value: Any) -> tuple[bool, Any]:
    """Return whether a write replaces all before it, and by what."""
    if isinstance(value, Revivable) and value.name == "Overwrite" and isinstance(value.value, Mapping):
        return True, value.value.get("value")
    if isinstance(value, Mapping):
        if len(value) == 1 and _OVERWRITE in value:
            return True, value[_OVERWRITE]
        if value.get("type") == _OVERWRITE and "value" in value:
            return True, value["value"]
    return False, None


def merged(items: Iterable[Any], added: Iterable[Any]) -> list[Any]:
    """Return a list of messages after a write, as LangGraph's reducer makes it: a message with a known id replaces the
    other, any other goes to the end, and a removal removes one."""
    result: list[Any] = [*map(coerced, items)]
    index = {id: at for at, each in enumerate(result) if (id := id_of(each)) is not None}
    for each in map(coerced, added):
        id = id_of(each)
        if id is None:
            result.append(each)
        elif _is_removal(each):
            if id in index:
                # Marked, not deleted: the places in ``index`` must stay right.
                result[index.pop(id)] = _GONE
        elif id in index:
            result[index[id]] = each
        else:
            index[id] = len(result)
            result.append(each)
    return [each for each in result if each is not _GONE]


def id_of(value: Any) -> str | None:
    """Return the id of a message, or of its removal."""
    fields = _fields(value)
    return shapes.name(None if fields is None else fields.get("id"))


def coerced(value: Any) -> Any:
    """Return the message that a short form stands for; any other value unchanged."""
    # LangGraph writes a tuple as an object of that class.
    if isinstance(value, Revivable) and value.name == "tuple":
        value = value.value
    if isinstance(value, str):
        return _made("human", {"content": value})
    if isinstance(value, list | tuple) and len(value) == 2 and value[0] in ROLES and not isinstance(value, Revivable):
        return _made(value[0], {"content": value[1]})
    if isinstance(value, Mapping) and "content" in value:
        kind = next((value[key] for key in ("role", "type") if value.get(key) in ROLES), None)
        if kind is not None:
            return _made(kind, {key: each for key, each in value.items() if key not in ("role", "type")})
    return value


def make_node(
    kind: str, fields: Fields, key: str | None, notes: ImportNotes, where: str, **facts: Any
) -> SourceMessage | None:
    """Make the node of a message; None if nothing can hold it, which is noted as broken."""
    try:
        entry = split(kind, fields)
    except HeadishError as error:
        notes.break_off(where, str(error))
        return None
    rest = {key: value for key, value in fields.items() if key not in _OWN and value is not None}
    additional = shapes.record(fields.get("additional_kwargs"))
    beside = shapes.rest(additional, _REPEATED)
    further = {"additional_kwargs": beside, "response_metadata": dict(shapes.record(fields.get("response_metadata")))}
    rest |= {name: value for name, value in further.items() if value}
    for name in rest:
        notes.keep(where, f"{name} of a message")
    return SourceMessage(
        id=None, role=entry.role, content=entry.blocks or None, key=key, where=where, meta=rest, speaker=entry.speaker,
        cache=entry.cache, reply=reply_of(fields) if entry.role == "assistant" else None, **facts,
    )  # fmt: skip


def _made(kind: str, fields: Mapping[str, Any]) -> Revivable:
    return Revivable("langchain_core.messages", kind, {"type": kind, **fields})


def _fields(value: Any) -> Mapping[str, Any] | None:
    if not isinstance(value, Revivable) or not isinstance(value.value, Mapping) or "langchain" not in value.module:
        return None
    inner = value.value.get("data")
    return inner if isinstance(inner, Mapping) else value.value


def _is_removal(value: Any) -> bool:
    fields = _fields(value)
    return value.name == "RemoveMessage" or (fields is not None and fields.get("type") == "remove")


_GONE = object()
