"""Calls and results as each API writes them: the one place that spells their keys.

A request of a provider, a client's form of messages and the strict interchange of transcripts all write and read them
here. They differ in what they refuse, repair or keep beside, not in these keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from headish.content.forms.customs import OUTPUT
from headish.content.forms.parts import Part, keep, make_call, rest_of, text_at
from headish.values.blocks import ContentBlock, ToolResult, ToolUse


class BlockKeys(NamedTuple):
    """The keys of a call or a result in an API. ``body`` is the key of its arguments or content. ``id`` is empty if
    the id is outside the object. ``others`` are its further keys."""

    id: str
    body: str
    others: tuple[str, ...]

    @property
    def all(self) -> Mapping[str, None]:
        """Every key, as ``rest_of`` takes them."""
        return _table(self)


@cache
def _table(keys: BlockKeys) -> Mapping[str, None]:
    return dict.fromkeys((*keys.others, keys.body, *filter(None, (keys.id,))))


CHAT_CALL = ("id", "type", "function")
FUNCTION = BlockKeys("", "arguments", ("name",))
"""The function inside a call of Chat Completions, and of Cohere."""
CHAT_RESULT = BlockKeys("tool_call_id", "content", ("role", "name"))
ANTHROPIC_CALL = BlockKeys("id", "input", ("type", "name"))
ANTHROPIC_RESULT = BlockKeys("tool_use_id", "content", ("type", "is_error"))
FUNCTION_CALL = BlockKeys("call_id", "arguments", ("type", "name"))
"""The item of a call of Responses."""
FUNCTION_OUTPUT = BlockKeys("call_id", "output", ("type",))


def said_arguments(given: Any) -> Part:
    """The arguments of a call as a field of a block: a text is kept as it is; none are an empty object."""
    return {"raw": given} if isinstance(given, str) else {"input": {} if given is None else given}


def read_call(said: Mapping[str, Any], keys: BlockKeys, id: Any, opaque: Mapping[str, Any], path: str = "$") -> ToolUse:
    """Read a call whose arguments may be a text; ``opaque`` is kept beside it. Raises: InvalidContent."""
    return make_call(said.get("name"), id, opaque, path, **said_arguments(said.get(keys.body)))


def read_result(
    said: Mapping[str, Any],
    keys: BlockKeys,
    content: Callable[[Any], Sequence[ContentBlock]],
    provider: str,
    transport: Collection[str],
    path: str = "$",
) -> ToolResult:
    """Read a result. ``content`` reads what it holds; its further keys are kept for its provider.

    Raises: InvalidContent.
    """
    id, name, failed = said.get(keys.id), said.get("name"), said.get("is_error")
    return ToolResult(
        None if id is None else text_at(id, f"{path}.{keys.id}"),
        None if name is None or "name" not in keys.others else text_at(name, f"{path}.name"),
        tuple(content(said.get(keys.body))),
        is_error=failed if "is_error" in keys.others and isinstance(failed, bool) else None,
        opaque=keep(provider, rest_of(said, keys.all, transport)),
    )


def chat_call(id: str | None, name: str, arguments: str) -> Part:
    """A call of Chat Completions, and of Cohere. One without an id is of the older API, with one call per message."""
    id_field = {} if id is None else {"id": id}
    return {**id_field, "type": "function", "function": {"name": name, "arguments": arguments}}


def chat_result(id: str | None, content: Any) -> Part:
    """The message of a result of Chat Completions, and of Cohere."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def anthropic_call(id: str | None, name: str, input: Any) -> Part:
    """A call of Anthropic's."""
    id_field = {} if id is None else {"id": id}
    return {"type": "tool_use", **id_field, "name": name, "input": input}


def anthropic_result(id: str | None, content: Any, is_error: bool | None = None) -> Part:
    """A result of Anthropic's. ``content`` is None if it says nothing."""
    content_field = {} if content is None else {"content": content}
    failed = {} if is_error is None else {"is_error": is_error}
    return {"type": "tool_result", "tool_use_id": id, **content_field, **failed}


def responses_call(id: str | None, name: str, arguments: str) -> Part:
    """The item of a call of Responses."""
    return {"type": "function_call", "call_id": id, "name": name, "arguments": arguments}


def responses_output(id: str | None, output: Any, *, custom: bool = False) -> Part:
    """The item of a result of Responses; ``custom`` tools have items of their own."""
    return {"type": OUTPUT if custom else "function_call_output", "call_id": id, "output": output}
