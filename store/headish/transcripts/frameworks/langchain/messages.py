"""Convert LangChain's messages to blocks and back; fields that no block can express are kept beside the blocks.

``split`` takes any fields, however odd, and reads what it can. ``join`` gives the fields back. A caller that needs them
equal must compare them: this module does not look for values that JSON does not have.

Kept beside the blocks are the ``type``; how the content was spelled (``list``, and places of parts by spelling,
``layout`` and ``keys``); how many of the last blocks are calls from outside the content (``calls``, ``invalid``); what
came from ``additional_kwargs`` (``reasoning``, ``refusal``); and the ``rest``, verbatim.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from headish.content.encoding import read_block
from headish.content.forms.reading import asked_cache
from headish.transcripts.frameworks.langchain.facts import Fields, plain_kind, reply_of, role_of, speaker_of
from headish.transcripts.frameworks.langchain.own import PROVIDER, of_kind, read_call
from headish.transcripts.frameworks.langchain.parts import NEUTRAL, read_parts, write_part
from headish.values import shapes
from headish.values.blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse, join_texts, to_mapping
from headish.values.caches import Cache

APP = "langchain"
"""The key of ``meta.app`` for what the blocks do not say."""
Beside = dict[str, Any]
_EMPTY = {
    "additional_kwargs", "response_metadata", "name", "id", "tool_calls", "invalid_tool_calls", "usage_metadata",
    "artifact",
}  # fmt: skip
"""Fields that are left out if they hold nothing: every message has them."""


class Split(NamedTuple):
    """A message as a turn: its role, its blocks, what is kept beside them, the speaker, the cache that it asks for,
    and what the provider reported of an answer."""

    role: str
    blocks: list[ContentBlock]
    beside: Beside
    speaker: str | None = None
    cache: Cache = False
    reply: Mapping[str, Any] = {}


def split(kind: str, fields: Fields) -> Split:
    """Split a message into the parts of a turn. ``kind`` is its type; a field of an unexpected shape stays in the rest.

    Raises: InvalidContent, TooDeep for what no database can hold.
    """
    role, held = role_of(kind, fields), {name: each for name, each in fields.items() if name != "type"}
    content = held.pop("content", None)
    beside: Beside = {"type": kind}
    blocks = _split_content(content, _inputs_of(fields), beside)
    if role == "assistant":
        blocks = _split_answer(held, blocks, beside)
    elif role == "tool":
        blocks = [_split_result(held, blocks)]
    rest = {name: each for name, each in held.items() if name not in _EMPTY or (each is not None and each not in _NONE)}
    reply = reply_of(fields) if role == "assistant" else {}
    # The name of a provider alone says nothing of an answer.
    return Split(
        role, blocks, {**beside, **({"rest": rest} if rest else {})}, speaker_of(role, fields),
        False if isinstance(content, str) else asked_cache(content), {} if reply.keys() <= {"provider"} else reply,
    )  # fmt: skip


_NONE: tuple[Any, ...] = ({}, [])


def join(blocks: Sequence[ContentBlock], beside: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a message from its blocks, without its type and those that hold nothing.

    Raises: LookupError, TypeError, ValueError, InvalidContent for blocks that were not made of a message.
    """
    rest, content, fields = dict(beside.get("rest", {})), list(blocks), {}
    role = role_of(beside["type"], rest)
    if len(content) == 1 and isinstance(result := content[0], ToolResult) and role == "tool":
        fields, content = _join_result(plain_kind(beside["type"]), result), list(result.content)
    elif role == "assistant":
        content, fields = _join_answer(content, beside, rest)
    return {"content": _join_content(content, beside), **fields, **rest}


# Content.


def _inputs_of(fields: Fields) -> dict[str, Any]:
    """The arguments of the calls beside the content, by id."""
    calls = (each for each in _listed(fields.get("tool_calls")) if isinstance(each, Mapping))
    return {each["id"]: each["args"] for each in calls if isinstance(each.get("id"), str) and "args" in each}


def _split_content(content: Any, inputs: Mapping[str, Any], beside: Beside) -> list[ContentBlock]:
    """The blocks of content. For a list, its length and the places of its parts by spelling are put into ``beside``."""
    if isinstance(content, str):
        return [read_block(content)] if content else []
    if not isinstance(content, list | tuple):
        return []
    parts = read_parts(content, inputs)
    # ``list`` tells a list of one text from the text itself.
    beside["list"] = len(parts)
    spelled: dict[str, list[Any]] = {}
    for place, part in enumerate(parts):
        if part.spelling != NEUTRAL:
            spelled.setdefault(part.spelling, []).append(place)
    beside |= {name: spelled[name] for name in _SPELLED if name in spelled}
    further = {name: places for name, places in spelled.items() if name not in _SPELLED}
    layouts = [[place, part.layout] for place, part in enumerate(parts) if part.layout is not None]
    beside |= {name: each for name, each in (("parts", further), ("layout", layouts)) if each}
    blocks = [part.block for part in parts]
    keys = [*_find_orders(content, _join_content(blocks, beside))]
    beside |= {"keys": keys} if keys else {}
    return blocks


_SPELLED = ("texts", "media", "thinking")
"""Spellings with a key of their own beside the blocks, as stored turns have them; all others are under ``parts``."""


def _join_content(blocks: Sequence[ContentBlock], beside: Mapping[str, Any]) -> str | list[Any]:
    if "list" not in beside:
        if len(blocks) == 1 and isinstance(first := blocks[0], Text):
            return first.text
        if not all(isinstance(block, Text) for block in blocks):
            raise ValueError("content that was a text is more than that")
        return join_texts(blocks)
    if len(blocks) != beside["list"]:
        raise ValueError(f"content of {beside['list']} parts has {len(blocks)} blocks")
    by_spelling = {name: beside[name] for name in _SPELLED if name in beside} | dict(beside.get("parts", {}))
    spelled = {place: name for name, places in by_spelling.items() for place in places}
    layouts = dict(beside.get("layout", ()))
    parts = [write_part(block, spelled.get(place, NEUTRAL), layouts.get(place)) for place, block in enumerate(blocks)]
    for place, *order in beside.get("keys", ()):
        parts[place] = _in_order(parts[place], *order)
    return parts


def _find_orders(given: Sequence[Any], written: Sequence[Any]) -> Iterator[list[Any]]:
    """The parts whose keys are in another order than ``write_part`` gives them: ``[place, keys]``, and then the orders
    inside the part, by key, if some differ."""
    for place, (one, other) in enumerate(zip(given, written, strict=True)):
        order = _find_order(one, other) if one == other else None
        if order is not None:
            yield [place, *order]


def _find_order(given: Any, written: Any) -> list[Any] | None:
    if not isinstance(given, Mapping) or not isinstance(written, Mapping):
        return None
    inside = {key: order for key in given if (order := _find_order(given[key], written.get(key))) is not None}
    if [*given] == [*written] and not inside:
        return None
    return [[*given], *([inside] if inside else [])]


def _in_order(part: Mapping[str, Any], keys: Sequence[str], inside: Mapping[str, Any] = {}) -> dict[str, Any]:
    return {key: _in_order(part[key], *inside[key]) if key in inside else part[key] for key in keys}


# Answers.


def _split_answer(held: Beside, said: list[ContentBlock], beside: Beside) -> list[ContentBlock]:
    """The blocks of an answer: reasoning that the client keeps apart, the content, a refusal, then the calls that the
    content does not have."""
    additional = held.get("additional_kwargs")
    if isinstance(additional, Mapping):
        # A text that becomes a block leaves None behind, so that ``join`` puts it back in the same place.
        held["additional_kwargs"] = kwargs = dict(additional)
        thought, refusal = kwargs.get("reasoning_content"), kwargs.get("refusal")
        if _is_text(thought) and not any(isinstance(block, Thinking) for block in said):
            said, kwargs["reasoning_content"], beside["reasoning"] = [_thinking(thought), *said], None, True
        if _is_text(refusal) and not any(isinstance(block, Text) and block.text for block in said):
            said, kwargs["refusal"], beside["refusal"] = [*said, read_block(refusal)], None, True
    known = [block for block in said if isinstance(block, ToolUse)]
    return [*said, *_split_calls(held, known, beside), *_split_invalid(held, known, beside)]


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


def _thinking(text: str) -> Thinking:
    read_block(text)  # refuses what no database can hold
    return Thinking(text, provider=PROVIDER)


def _split_calls(held: Beside, known: Sequence[ToolUse], beside: Beside) -> list[ContentBlock]:
    calls = _listed(held.get("tool_calls"))
    # The field goes only if ``join`` can make exactly the same of the blocks.
    if calls and calls == [_call_of(block) for block in known]:
        beside["calls"] = "content"
        del held["tool_calls"]
        return []
    blocks = _further(calls, known)
    if blocks:
        beside["calls"] = len(blocks)
        if calls == [_call_of(block) for block in blocks]:
            del held["tool_calls"]
    return [*blocks]


def _split_invalid(held: Beside, known: Sequence[ToolUse], beside: Beside) -> list[ContentBlock]:
    """The calls whose arguments no parser could read; the errors are kept beside the blocks."""
    calls = _listed(held.get("invalid_tool_calls"))
    blocks = _further(calls, known)
    if blocks:
        beside["invalid"] = len(blocks)
        errors = [shapes.record(each).get("error") for each in calls]
        if calls == [_invalid_of(block, error) for block, error in zip(blocks, errors, strict=False)]:
            del held["invalid_tool_calls"]
            beside["invalid"] = errors
    return [*blocks]


def _further(calls: Sequence[Any], known: Sequence[ToolUse]) -> list[ToolUse]:
    """The calls as blocks, without those that the content has already."""
    ids = {block.id for block in known if block.id is not None}
    return [read_call(each) for each in calls if isinstance(each, Mapping) and not _is_in(each.get("id"), ids)]


def _is_in(id: Any, ids: set[str]) -> bool:
    return isinstance(id, str) and id in ids


def _call_of(block: ToolUse) -> dict[str, Any]:
    return {"name": block.name, "args": to_mapping(block).get("input"), "id": block.id, "type": "tool_call"}


def _invalid_of(block: ToolUse, error: Any) -> dict[str, Any]:
    named = {"name": block.name, "args": block.raw, "id": block.id, "error": error}
    return {**named, "type": "invalid_tool_call"}


def _join_answer(
    said: list[ContentBlock], beside: Mapping[str, Any], rest: Beside
) -> tuple[list[ContentBlock], dict[str, Any]]:
    """The blocks of the content, and the fields made of the other blocks. A field in ``rest`` has precedence."""
    # In the reverse order of ``_split_answer``. ``invalid`` is a number if the field itself is in the rest, else a list
    # of errors.
    invalid, calls, fields = beside.get("invalid", 0), beside.get("calls", 0), {}
    said, broken = _calls_behind(said, invalid if isinstance(invalid, int) else len(invalid))
    if not isinstance(invalid, int):
        fields["invalid_tool_calls"] = [_invalid_of(*each) for each in zip(broken, invalid, strict=True)]
    if calls == "content":
        fields["tool_calls"] = [_call_of(block) for block in said if isinstance(block, ToolUse)]
    elif calls:
        said, whole = _calls_behind(said, calls)
        fields["tool_calls"] = [_call_of(block) for block in whole]
    if beside.get("refusal"):
        rest["additional_kwargs"] = {**rest["additional_kwargs"], "refusal": of_kind(said.pop(), Text).text}
    if beside.get("reasoning"):
        rest["additional_kwargs"] = {
            **rest["additional_kwargs"],
            "reasoning_content": of_kind(said.pop(0), Thinking).text,
        }
    return said, fields


def _calls_behind(said: list[ContentBlock], count: int) -> tuple[list[ContentBlock], list[ToolUse]]:
    """Split off the last ``count`` blocks, which must be calls. Raises: ValueError."""
    calls = [block for block in said[len(said) - count :] if isinstance(block, ToolUse)]
    if len(calls) != count:
        raise ValueError(f"{count} calls are not behind the content")
    return said[: len(said) - count], calls


# Results.


def _split_result(held: Beside, said: Sequence[ContentBlock]) -> ContentBlock:
    id, name, status = held.get("tool_call_id"), held.get("name"), held.get("status")
    for field, is_said in (("tool_call_id", isinstance(id, str)), ("name", isinstance(name, str))):
        if is_said:
            del held[field]
    if status in ("success", "error"):
        del held["status"]
    return ToolResult(
        id if isinstance(id, str) else None,
        name if isinstance(name, str) else None,
        tuple(said),
        True if status == "error" else None,
    )


def _join_result(kind: str, result: ToolResult) -> dict[str, Any]:
    # A message of a function has neither an id nor a status.
    if kind != "tool":
        return {} if result.name is None else {"name": result.name}
    status = "error" if result.is_error else "success"
    return {"tool_call_id": result.tool_use_id, "name": result.name, "status": status}


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
