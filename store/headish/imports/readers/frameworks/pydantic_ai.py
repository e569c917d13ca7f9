"""Message histories of pydantic-ai, as ``all_messages_json()`` and ``ModelMessagesTypeAdapter`` write them.

A file holds one history (a JSON list of messages), a list of histories, or one on each line. A request becomes a turn
for each role in it: the instructions, the user's words, the results of tools; a response is one turn. Histories are
lists, so one that grew out of another shares its turns with it. A conversation's id is its key; turns have no keys, and
are recognised by what they say and what leads to them.

Source: pydantic-ai-slim 2.68.0, ``messages.py``, read and run 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.branching import fingerprint
from headish.imports.readers.shared.json_records import read_values
from headish.imports.readers.shared.make import Block
from headish.values import shapes
from headish.values.caches import Cache, longest

FORMAT = "pydantic-ai"
Part = Mapping[str, Any]
_ROLES = {"system-prompt": "system", "instruction": "system", "user-prompt": "user", "tool-return": "tool"}
_LISTS = ("messages", "message_history", "all_messages", "new_messages")
_MEDIA_URLS = {"image-url": "image/*", "audio-url": "audio/*", "video-url": "video/*", "document-url": None}
_STANDARD = str.maketrans("-_", "+/")
_MESSAGE = ("parts", "kind", "timestamp", "usage", "model_name", "provider_name", "finish_reason")


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the histories of a file. Raises: InvalidImport for a file that is not JSON."""
    for where, history in _histories(given):
        yield _History(history, where, given).conversation()


def _histories(given: ImportSource) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of messages; single messages, one after another in the file, are one list."""
    loose: list[Any] = []
    for where, value in read_values(given):
        held = value if isinstance(value, list) else shapes.first(shapes.record(value), _LISTS, list)
        if held is not None:
            yield where, held
        elif isinstance(value, Mapping) and isinstance(value.get("parts"), list):
            loose.append(value)
        else:
            given.notes.break_off(where, "a history is a list of messages, each with `kind` and `parts`")
    if loose:
        yield "", loose


class _History:
    def __init__(self, messages: list[Any], where: str, given: ImportSource) -> None:
        self._messages, self._where, self._given, self._notes = messages, where, given, given.notes
        self._nodes: list[SourceMessage] = []
        self._title: str | None = None

    def conversation(self) -> SourceConversation:
        """Return the history with its messages."""
        ids: dict[str, None] = {}
        for number, message in enumerate(self._messages, 1):
            where = ", ".join(filter(None, (self._where, f"message {number}")))
            parts = shapes.record(message).get("parts")
            if not isinstance(parts, list) or message.get("kind") not in ("request", "response"):
                self._notes.break_off(where, "a message has `kind` (request or response) and `parts`")
                continue
            if isinstance(message.get("conversation_id"), str):
                ids[message["conversation_id"]] = None
            self._take(message, parts, where)
        # A history without an id is recognised by the time and the words of its first message.
        id = next(reversed(ids), None) or (fingerprint(self._messages[0]).hex() if self._messages else None)
        return SourceConversation(format=FORMAT, id=id, title=self._title, tags=[FORMAT], messages=self._nodes)

    def _take(self, message: Part, parts: Sequence[Any], where: str) -> None:
        meta = shapes.rest(message, _MESSAGE)
        for role, run in _runs(parts, message["kind"] == "response"):
            self._say(role, run, message, meta, where)
            # What a message says of itself is kept once, with its first turn.
            meta = {}
        if meta:
            self._notes.leave_out(where, "message without parts")

    def _say(self, role: str, run: Sequence[Part], message: Part, meta: Block, where: str) -> None:
        """Make the turn of the parts that one role says in a row."""
        blocks = [block for part in run for block in self._blocks(part, where)]
        time = next((part["timestamp"] for part in run if part.get("timestamp")), message.get("timestamp"))
        rest = [kept for part in run if (kept := _part_rest(part))]
        if role == "user" and self._title is None:
            texts = (block["text"] for block in blocks if block["type"] == "text")
            self._title = make.title(next(texts, "")) or None
        number = len(self._nodes)
        self._nodes.append(
            SourceMessage(
                id=str(number), parent=str(number - 1) if number else None, role=role, content=blocks or None,
                said_at=time, meta=meta | ({"parts": rest} if rest else {}), where=where,
                reply=_reply(message) if role == "assistant" else None, cache=longest(map(_asked_cache, run)),
            )
        )  # fmt: skip

    def _blocks(self, part: Part, where: str) -> list[Block]:
        read = _READERS.get(str(part.get("part_kind")))
        blocks = None if read is None else read(part)
        if blocks is None:
            self._notes.keep(where, f"part of kind {part.get('part_kind')!s:.60}")
            return [make.own(FORMAT, part)]
        return blocks


def _runs(parts: Sequence[Any], is_answer: bool) -> list[tuple[str, list[Part]]]:
    """Group the parts of a message that one role says in a row."""
    runs: list[tuple[str, list[Part]]] = []
    for part in parts:
        part = part if isinstance(part, Mapping) else {"part_kind": "unknown", "value": part}
        role = "assistant" if is_answer else _role(part)
        if runs and runs[-1][0] == role:
            runs[-1][1].append(part)
        else:
            runs.append((role, [part]))
    return runs


def _role(part: Part) -> str:
    kind = str(part.get("part_kind"))
    # Without a tool, pydantic-ai sends it as a user's message.
    if kind == "retry-prompt":
        return "tool" if isinstance(part.get("tool_name"), str) else "user"
    return _ROLES.get(kind, "user")


def _text(part: Part) -> list[Block] | None:
    content = part.get("content")
    if not isinstance(content, str):
        return None
    rest = _rest(part, "content", "part_kind", "timestamp", "dynamic_ref")
    return [{**make.text(content), **_opaque(rest)}] if content else []


def _system(part: Part) -> list[Block] | None:
    content = part.get("content")
    return [make.text(content)] if isinstance(content, str) else None


def _prompt(part: Part) -> list[Block] | None:
    content = part.get("content")
    if isinstance(content, str):
        return [make.text(content)]
    if not isinstance(content, list):
        return None
    return [_item(item) for item in content if not _is_cache_point(item)]


def _item(item: Any) -> Block:
    """Convert a piece of what a user says: a text, or a medium."""
    if isinstance(item, str):
        return make.text(item)
    kind = shapes.record(item).get("kind")
    if kind == "text-content" and isinstance(item.get("content"), str):
        return {**make.text(item["content"]), **_opaque(_rest(item, "content", "kind"))}
    document = _document(item) if isinstance(item, Mapping) else None
    return document or make.own(FORMAT, item if isinstance(item, Mapping) else {"value": item})


def _document(item: Part) -> Block | None:
    kind, media_type = item.get("kind"), item.get("media_type")
    source: Block
    if kind == "binary" and isinstance(item.get("data"), str):
        # pydantic-ai writes base64 in the alphabet for URLs; blocks have the standard one.
        usual = media_type if isinstance(media_type, str) else "application/octet-stream"
        source = make.base64(usual, item["data"].translate(_STANDARD))
    elif isinstance(kind, str) and kind in _MEDIA_URLS and isinstance(item.get("url"), str):
        known = media_type if isinstance(media_type, str) else _MEDIA_URLS[kind]
        source = make.url(item["url"], known)
    elif kind == "uploaded-file" and isinstance(item.get("file_id"), str):
        provider = item.get("provider_name")
        source = {"type": "file", "file_id": item["file_id"]}
        source |= {"provider": provider} if isinstance(provider, str) else {}
    else:
        return None
    rest = _rest(item, "data", "kind", "url", "media_type", "file_id", "provider_name", "identifier", "force_download")
    return {**make.document(source), **_opaque(rest)}


def _thinking(part: Part) -> list[Block] | None:
    content, signature, provider = part.get("content"), part.get("signature"), part.get("provider_name")
    if not isinstance(content, str):
        return None
    rest = _rest(part, "content", "part_kind", "signature", "provider_name")
    # Only Anthropic's signatures can be sent back from a block. Those of other providers are kept beside it, for
    # pydantic-ai.
    block: Block = {"type": "thinking", "text": content, "provider": provider if provider == "anthropic" else FORMAT}
    if isinstance(signature, str) and provider == "anthropic":
        block["signature"] = signature
    elif signature is not None:
        rest |= {"signature": signature, "provider_name": provider}
    return [{**block, **_opaque(rest)}]


def _call(part: Part) -> list[Block] | None:
    name, id, given = part.get("tool_name"), part.get("tool_call_id"), part.get("args")
    if not isinstance(name, str):
        return None
    rest = _rest(part, "tool_name", "tool_call_id", "args", "part_kind")
    return [make.call(name, shapes.name(id), given, {FORMAT: rest} if rest else {})]


def _result(part: Part) -> list[Block] | None:
    """Make a result. A value that is neither text nor a medium becomes the JSON that pydantic-ai sends for it."""
    name, content = part.get("tool_name"), part.get("content")
    if not isinstance(name, str):
        return _text(part)
    listed = content if isinstance(content, list) and any(map(_is_medium, content)) else [content]
    content_blocks = [_item(each) if isinstance(each, str) or _is_medium(each) else _as_json(each) for each in listed]
    failed = part.get("part_kind") == "retry-prompt" or part.get("outcome") not in (None, "success")
    return [make.result(shapes.name(part.get("tool_call_id")), name, content_blocks, failed=failed)]


def _file(part: Part) -> list[Block] | None:
    content = part.get("content")
    document = _document(content) if isinstance(content, Mapping) else None
    return None if document is None else [document]


def _is_medium(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("kind") in ("binary", "uploaded-file", *_MEDIA_URLS)


def _as_json(value: Any) -> Block:
    return make.text("" if value is None else msgspec.json.encode(value).decode())


def _is_cache_point(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("kind") == "cache-point"


def _asked_cache(part: Part) -> Cache:
    content = part.get("content")
    points = filter(_is_cache_point, content) if isinstance(content, list) else ()
    return longest(_said_time(point.get("ttl")) for point in points)


def _said_time(ttl: Any) -> Cache:
    """Return the lifetime that a cache point asks for. pydantic-ai writes ``5m``, its default, even if nobody gave
    one."""
    return "1h" if ttl == "1h" else True


def _part_rest(part: Part) -> Block:
    """Return what a result or a prompt says beside its content, for the meta; other parts keep theirs beside their
    block."""
    if part.get("part_kind") not in ("tool-return", "retry-prompt", "system-prompt", "user-prompt"):
        return {}
    return _rest(part, "content", "part_kind", "tool_name", "tool_call_id", "timestamp", "outcome")


def _reply(message: Part) -> Block:
    counts = shapes.record(message.get("usage"))
    counts_by_name = {
        "input_tokens": counts.get("input_tokens", counts.get("request_tokens")),
        "output_tokens": counts.get("output_tokens", counts.get("response_tokens")),
        "cache_creation_input_tokens": counts.get("cache_write_tokens"),
        "cache_read_input_tokens": counts.get("cache_read_tokens"),
        "reasoning_tokens": counts.get("output_reasoning_tokens"),
    }
    provider = shapes.name(message.get("provider_name")) or FORMAT
    usage = shapes.token_counts(counts_by_name)
    return make.reply(provider, usage, model=message.get("model_name"), stop=message.get("finish_reason"))


def _rest(part: Part, *own: str) -> Block:
    return shapes.rest(part, own, False)


def _opaque(rest: Block) -> Block:
    return {"opaque": {FORMAT: rest}} if rest else {}


_READERS: dict[str, Callable[[Part], list[Block] | None]] = {
    "system-prompt": _system,
    "instruction": _system,
    "user-prompt": _prompt,
    "tool-return": _result,
    "retry-prompt": _result,
    "text": _text,
    "thinking": _thinking,
    "tool-call": _call,
    "file": _file,
}
"""The parts with blocks of headish's own; any other part is kept whole for pydantic-ai."""
