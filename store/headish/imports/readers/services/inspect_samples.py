"""Read one sample of an Inspect log: its messages, and the message lists that were sent to its model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from blake3 import blake3

from headish.imports.imported import make_key
from headish.imports.reader import ImportSource, SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.branching import MessagePaths, fingerprint
from headish.imports.readers.shared.make import Block
from headish.values import shapes
from headish.values.limits import IMPORT_LINE_BYTES

FORMAT = "inspect"
Message = Mapping[str, Any]
_ROLES = ("system", "user", "assistant", "tool", "developer")
_APART = re.compile(r"(?:attachment|tc)://([0-9a-f]{32})")
_SAID = ("role", "content", "tool_calls", "tool_call_id", "function", "error")
"""The fields that make two messages the same. Not the id: some logs give new ids."""
_OWN = ("id", "role", "content", "tool_calls", "tool_call_id", "function", "error", "model", "tool_error")
_SHORT = 64
"""A text of at most this many characters is compared as it is, not by its hash."""
_DATA_URL = re.compile(r"data:([^;,]{1,200});base64,(.*)", re.S)
_MEDIA = {"image": "image/*", "audio": "audio/*", "video": "video/*", "document": None}


class InspectSample:
    """The messages of a sample as paths. ``owner`` names the conversation in keys."""

    def __init__(self, record: Mapping[str, Any], owner: str, where: str, given: ImportSource) -> None:
        self._record, self.owner, self._where = record, owner, where
        self._given, self._notes = given, given.notes
        self.paths = MessagePaths()
        self._apart: Mapping[str, Any] = shapes.record(record.get("attachments"))
        # A log may refer to one long text many times: put back each time, a small log would fill the memory.
        self._room = 2 * IMPORT_LINE_BYTES
        self._hashes: dict[str, str] = {}

    def read(self) -> str | None:
        """Read the calls of the model, then the messages. Returns the id of the last message."""
        for event in self._events():
            kind = shapes.record(event).get("event")
            if kind == "model":
                self._take_call(event)
            else:
                self._notes.leave_out(self._where, f"event of type {kind!s:.60}")
        ended = self._record.get("completed_at") or self._record.get("started_at")
        return self._follow(self._record["messages"], ended)

    def _events(self) -> Sequence[Any]:
        listed = self._record.get("events")
        if not isinstance(listed, list):  # logs of 2024
            listed = shapes.record(self._record.get("transcript")).get("events")
        return shapes.listed(listed)

    def _take_call(self, event: Mapping[str, Any]) -> None:
        output = event.get("output")
        choices = shapes.record(output).get("choices")
        last = self._follow(self._input(event), event.get("timestamp"))
        for number, choice in enumerate(choices if isinstance(choices, list) else ()):
            message = shapes.record(choice).get("message")
            if isinstance(message, Mapping) and (message.get("content") or message.get("tool_calls")):
                ended = event.get("completed") or event.get("timestamp")
                id = self._one(message, last, ended)
                if id is not None and id != last:
                    self._answered(id, event, choice, output if number == 0 else {})

    def _input(self, event: Mapping[str, Any]) -> list[Any]:
        """Return the list that a model was asked with. Newer logs keep each message once, and refer to it by its
        place."""
        listed, pool = event.get("input"), self._record.get("events_data")
        # In the autumn of 2025 the pool was in the sample itself, and each message was named by its place.
        pooled = pool.get("messages") if isinstance(pool, Mapping) else self._record.get("message_pool")
        messages, asked = shapes.listed(pooled), list(shapes.listed(listed))
        for ref in shapes.listed(event.get("input_refs")):
            ref = [ref, ref + 1] if type(ref) is int else ref
            if isinstance(ref, list) and len(ref) == 2 and all(type(at) is int and at >= 0 for at in ref):
                asked += messages[ref[0] : ref[1]]
                if len(asked) > len(messages) * 2:
                    break  # overlapping ranges: a few places could ask for any number of messages
        return asked

    def _follow(self, listed: Sequence[Any], time: Any) -> str | None:
        last: str | None = None
        for message in listed:
            last = self._one(message, last, time)
        return last

    def _one(self, message: Any, before: str | None, time: Any) -> str | None:
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            self._notes.break_off(self._where, "a message is an object with a `role`")
            return before
        fields = {key: self._compared(message[key]) for key in _SAID if message.get(key) not in (None, [], "")}
        # Without what only some logs say of a call, or the same message would be two.
        fields["tool_calls"] = [self._compared(_call_said(call)) for call in shapes.listed(message.get("tool_calls"))]
        return self.paths.follow(before, fingerprint(fields), lambda: self._nodes(message, time))

    def _compared(self, value: Any) -> Any:
        """Return a value in a form that is equal whether its texts are inside it or kept apart: long ones as hashes."""
        if isinstance(value, Mapping):
            return {key: self._compared(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._compared(each) for each in value]
        if not isinstance(value, str) or (len(value) <= _SHORT and "://" not in value):
            return value
        apart = _APART.fullmatch(value)
        if apart is None:
            return _hashed(_APART.sub(lambda found: str(self._compared(found[0])), value))
        if apart[1] not in self._hashes:
            self._hashes[apart[1]] = _hashed(str(self._apart.get(apart[1], value)))
        return self._hashes[apart[1]]

    def _nodes(self, message: Message, time: Any) -> Iterator[SourceMessage]:
        id = message.get("id")
        where = f"{self._where}, message {id!s:.60}"
        blocks = self._blocks(message, where)
        if not blocks:
            self._notes.leave_out(where, "empty message")
            return
        meta = shapes.rest(message, _OWN)
        if isinstance(message.get("error"), Mapping):
            meta["error"] = message["error"]
        yield SourceMessage(
            id=None, role=message["role"], content=blocks, said_at=time, meta=meta, where=where,
            key=make_key(FORMAT, self.owner, id), reply=_reply(message) if message["role"] == "assistant" else None,
        )  # fmt: skip

    def _answered(self, id: str, event: Mapping[str, Any], choice: Any, output: Any) -> None:
        node = self.paths.at(id)
        # The first call that gave this answer counts: a log may show the same call again.
        if node.role != "assistant" or (node.reply and "usage" in node.reply):
            return
        model, stop = event.get("model"), choice.get("stop_reason")
        usage = _usage(output.get("usage"))
        reply = {**(node.reply or {"provider": FORMAT}), **(_model(model) if isinstance(model, str) else {})}
        reply |= {"stop": stop} if isinstance(stop, str) else {}
        self.paths.change(id, reply=reply | ({"usage": usage} if usage else {}))

    def _blocks(self, message: Message, where: str) -> list[Block]:
        content = message.get("content")
        if isinstance(content, str):
            blocks = make.texts(self._whole(content, where))
        else:
            blocks = [block for part in shapes.listed(content) for block in self._part(part, where)]
        if message["role"] == "tool":
            return [self._result(message, blocks)]
        calls = [_call(call) for call in shapes.listed(message.get("tool_calls")) if isinstance(call, Mapping)]
        return [*(block for block in blocks if block.get("text") != ""), *calls]

    def _result(self, message: Message, said: list[Block]) -> Block:
        error, id, name = message.get("error"), message.get("tool_call_id"), message.get("function")
        words = error.get("message") if isinstance(error, Mapping) else error
        if isinstance(words, str) and words and not any(block.get("text") for block in said):
            said = [make.text(words)]
        return make.result(id, name, said, failed=bool(error))

    def _part(self, part: Any, where: str) -> list[Block]:
        if isinstance(part, str):
            return [make.text(self._whole(part, where))]
        held = part if isinstance(part, Mapping) else {"type": "unknown", "value": part}
        read = _PARTS.get(str(held.get("type")))
        block = None if read is None else read(self._restored(held, where))
        if block is None:
            self._notes.keep(where, f"part of type {held.get('type')!s:.60}")
            return [make.own(FORMAT, held)]
        return [block]

    def _restored(self, part: Message, where: str) -> Block:
        return {key: self._whole(value, where) if isinstance(value, str) else value for key, value in part.items()}

    def _whole(self, text: str, where: str) -> str:
        """Put back the texts that the log keeps apart, up to a limit for the whole sample."""
        if "://" not in text:
            return text

        def put_back(found: re.Match[str]) -> str:
            held = self._apart.get(found[1])
            if not isinstance(held, str) or len(held) > self._room:
                self._notes.leave_out(where, "text that lies apart, and is missing or too long")
                return found[0]
            self._room -= len(held)
            return held

        return _APART.sub(put_back, text)


def _hashed(text: str) -> str:
    return text if len(text) <= _SHORT else blake3(text.encode(errors="surrogatepass")).hexdigest()


def _read_text(part: Block) -> Block | None:
    return make.text(part["text"]) if isinstance(part.get("text"), str) else None


def _read_reasoning(part: Block) -> Block | None:
    """Read reasoning. If it was redacted, people may read only the summary."""
    text = part.get("summary") if part.get("redacted") is True else part.get("reasoning")
    if not isinstance(text, str):
        text = "" if part.get("redacted") is True else None
    if text is None:
        return None
    rest = {key: part[key] for key in ("signature", "redacted", "internal") if part.get(key)}
    rest |= {"reasoning": part.get("reasoning")} if part.get("redacted") is True else {}
    return make.thinking(text, FORMAT, rest)


def _read_media(part: Block) -> Block | None:
    kind = part["type"]
    held = part.get(kind)
    if not isinstance(held, str) or not held:
        return None
    found = _DATA_URL.fullmatch(held)
    if found is not None:
        return make.document(make.base64(found[1], found[2]), part.get("filename"))
    if not held.startswith(("http://", "https://")):
        return None  # a path on the machine that ran it
    return make.document(make.url(held, _MEDIA[kind]), part.get("filename"))


_PARTS: dict[str, Callable[[Block], Block | None]] = {
    "text": _read_text,
    "reasoning": _read_reasoning,
    **dict.fromkeys(_MEDIA, _read_media),
}


def _call(call: Mapping[str, Any]) -> Block:
    rest = {key: call[key] for key in ("parse_error", "view") if call.get(key)}
    return make.call(call.get("function"), call.get("id"), call.get("arguments"), {FORMAT: rest} if rest else {})


def _call_said(call: Any) -> Any:
    return [call.get(key) for key in ("id", "function", "arguments")] if isinstance(call, Mapping) else call


def _reply(message: Message) -> dict[str, Any]:
    model = message.get("model")
    return _model(model) if isinstance(model, str) else {"provider": FORMAT}


def _model(name: str) -> dict[str, Any]:
    provider, _, rest = name.partition("/")
    return {"provider": provider, "model": rest} if rest else {"provider": FORMAT, "model": name}


def _usage(counts: Any) -> dict[str, int]:
    counts = shapes.record(counts)
    by_name = {
        "input_tokens": counts.get("input_tokens"), "output_tokens": counts.get("output_tokens"),
        "cache_creation_input_tokens": counts.get("input_tokens_cache_write"),
        "cache_read_input_tokens": counts.get("input_tokens_cache_read"),
        "reasoning_tokens": counts.get("reasoning_tokens"),
    }  # fmt: skip
    return shapes.token_counts(by_name, cached_inside=False)  # Inspect counts cached tokens apart
