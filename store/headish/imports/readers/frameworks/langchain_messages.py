"""Messages of LangChain as nodes, by the mapping of ``frameworks.langchain``: the fields of its message classes,
whoever has kept them.

What OpenAI's client has kept of calls and reasoning a second time, under ``additional_kwargs``, is left out.

Source: langchain-core 1.7.2, ``messages``, read and run 2026-11-22.
"""

from __future__ import annotations

from typing import Any

from headish.errors import HeadishError
from headish.frameworks.langchain.facts import OPENAI_ROLE, Fields, mapping, reply_of
from headish.frameworks.langchain.messages import split
from headish.imports.building import Node
from headish.imports.notes import Notes

_OWN = (
    "type", "content", "id", "name", "tool_calls", "invalid_tool_calls", "tool_call_id", "usage_metadata", "status",
    "additional_kwargs", "response_metadata", "example", "tool_call_chunks", "chunk_position",
)  # fmt: skip
_REPEATED = ("tool_calls", "function_call", "reasoning_content", OPENAI_ROLE)


def make_node(kind: str, fields: Fields, key: str | None, notes: Notes, where: str, **facts: Any) -> Node | None:
    """A message as a node; None, and noted as broken, where nothing can hold it."""
    try:
        said = split(kind, fields)
    except HeadishError as error:
        notes.break_off(where, str(error))
        return None
    rest = {key: value for key, value in fields.items() if key not in _OWN and value is not None}
    additional = mapping(fields.get("additional_kwargs"))
    beside = {key: value for key, value in additional.items() if key not in _REPEATED and value not in (None, {}, [])}
    further = {"additional_kwargs": beside, "response_metadata": dict(mapping(fields.get("response_metadata")))}
    rest |= {name: value for name, value in further.items() if value}
    for name in rest:
        notes.keep(where, f"{name} of a message")
    return Node(
        id=None, role=said.role, content=said.blocks or None, key=key, where=where, meta=rest, speaker=said.speaker,
        cache=said.cache, reply=reply_of(fields) if said.role == "assistant" else None, **facts,
    )  # fmt: skip
