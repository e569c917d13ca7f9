"""Gemini CLI's sessions: ``~/.gemini/tmp/PROJECT/chats/session-*.jsonl`` (one record per line), or the older ``.json``.

A line with the id of an earlier message replaces it, ``$rewindTo`` drops a message and what follows it, and ``$set``
with ``messages`` replaces them all: what was dropped becomes a branch. A message of the model holds its thoughts, its
words, its calls and their results; the results become a tool's turn after it. Since 0.61 the program writes results a
second time, as a message of the user, which then is not a turn. What the program told only the person (info, warnings,
errors) is stored hidden from the model.

Saved chats (``checkpoint-TAG.json``) are lists of contents of Gemini's API, without ids or times.

Keys: ``gemini-cli:SESSION:MESSAGE``, and ``…/2`` for the results of its calls.

Source: google-gemini/gemini-cli, chatRecordingTypes.ts and chatRecordingService.ts, read 2026-11-22; sessions of
@google/gemini-cli 0.61.0, seen on 2026-11-26.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from headish.content import strictjson
from headish.imports.cleaning import NotJson, decode_noted
from headish.imports.drafting import read_native
from headish.imports.imported import make_key
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.shared import make
from headish.imports.readers.shared.json_records import read_records
from headish.imports.source_files import BOM
from headish.values import shapes
from headish.values.blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse
from headish.values.limits import IMPORT_LINE_BYTES

FORMAT, GEMINI = "gemini-cli", "gemini"
ROLES = {"user": "user", "gemini": "assistant", "info": "system", "error": "system", "warning": "system"}
_OWN = ("id", "timestamp", "content", "type", "toolCalls", "thoughts", "tokens", "model")
_CALL = ("id", "name", "args", "result", "status", "timestamp")
_FACTS = ("projectHash", "directories", "kind", "activeExtensionName", "startTime")
_FAILED = ("error", "cancelled")
_PREAMBLES = ("<session_context>", "This is the Gemini CLI.")
"""The beginnings of texts that the program writes before the first prompt."""
Message = Mapping[str, Any]


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the conversation of a session, or of a saved chat."""
    whole = _read_whole(given)
    contents = whole.get("history") if isinstance(whole, dict) else whole
    # An object with `messages` is a session, whatever else it holds.
    if isinstance(contents, list) and not (isinstance(whole, dict) and "messages" in whole):
        yield _saved_chat(given, contents)
    else:
        session = _GeminiSession(given)
        if isinstance(whole, dict):
            session.add(whole, "")
        else:
            for line in read_records(given):
                session.add(line.record, line.where)
        if given.is_running:
            session.hold_back()
        yield session.conversation()


def _read_whole(given: ImportSource) -> Any:
    """Return the JSON of a whole file; None for a file of lines, which is read again as that."""
    data = given.file.read(IMPORT_LINE_BYTES + 1)
    given.file.seek(0)
    if len(data) > IMPORT_LINE_BYTES:
        return None
    try:
        # A session whose first line alone is written is whole as well, and reads the same either way.
        value = decode_noted(data.removeprefix(BOM), given.notes, "")
    except NotJson:
        return None
    if given.progress:
        given.progress(len(data))
    return value


def _saved_chat(given: ImportSource, contents: list[Any]) -> SourceConversation:
    nodes: list[SourceMessage] = []
    for number, content in enumerate(contents, 1):
        where = f"content {number}"
        if not isinstance(content, Mapping):
            given.notes.break_off(where, "a content is an object with `parts`")
            continue
        message = read_native(GEMINI, content, given.notes, where)
        if message is None:
            continue
        results = bool(message.blocks) and all(isinstance(block, ToolResult) for block in message.blocks)
        nodes.append(
            SourceMessage(
                id=str(number), parent=nodes[-1].id if nodes else None, role="tool" if results else message.role,
                content=message.blocks, form=message.form, where=where,
                reply={"provider": GEMINI} if message.role == "assistant" else None,
            )
        )  # fmt: skip
    title = PurePath(given.name).stem.removeprefix("checkpoint-")
    return SourceConversation(format=FORMAT, id=None, title=title, tags=[FORMAT, "checkpoint"], messages=nodes)


class _GeminiSession:
    def __init__(self, given: ImportSource) -> None:
        self._given, self._notes = given, given.notes
        self._facts: dict[str, Any] = {}
        self._messages: dict[str, tuple[Message, str | None, str]] = {}
        """Each message with the id of the one before it, and its place in the file."""
        self._path: dict[str, str] = {}
        """The ids in order, as the file names messages, each with the id of its copy. A dict, because a list would be
        searched for each message."""
        self._copies: dict[tuple[str, str | None], str] = {}
        self._copied: dict[str, int] = {}
        self._repeated: set[str] = set()
        """The messages that only repeat results."""

    def add(self, record: Mapping[str, Any], where: str) -> None:
        """Take a line, or the object of an older file."""
        change = record.get("$set")
        if isinstance(change, Mapping):
            self._set(change, where)
        elif "$rewindTo" in record:
            self._rewind(record["$rewindTo"])
        elif isinstance(record.get("id"), str) and isinstance(record.get("type"), str):
            self._take(record, where)
        elif "sessionId" in record or "messages" in record:
            self._set(record, where)
        else:
            self._notes.leave_out(where, f"record of type {record.get('type')}")

    def _set(self, change: Mapping[str, Any], where: str) -> None:
        self._facts |= {key: value for key, value in change.items() if key != "messages"}
        messages = change.get("messages")
        if not isinstance(messages, list):
            return
        self._path = {}
        for number, message in enumerate(messages, 1):
            place = f"{where}, message {number}".removeprefix(", ")
            if isinstance(message, Mapping) and isinstance(message.get("id"), str):
                self._take(message, place)
            else:
                self._notes.break_off(place, "a message is an object with an `id`")

    def _take(self, message: Message, where: str) -> None:
        """Replace a message on the path; a message that follows another one than before is another message."""
        own = str(message["id"])
        id = self._path.get(own)
        if id is None:
            before = self._last
            self._path[own] = id = self._copy_behind(own, before)
        else:
            _, before, _ = self._messages[id]
        self._messages[id] = (message, before, where)

    def _copy_behind(self, id: str, before: str | None) -> str:
        """Return the id for a message after ``before``: its own, or that of a copy with the next free number."""
        known_id = self._copies.get((id, before))
        if known_id is not None:
            return known_id
        # Continues at the last number: counting from 1 each time would take the square of the number of rewinds.
        copy, own = self._copied.get(id, 1), id
        while id in self._messages and self._messages[id][1] != before:
            copy += 1
            id = f"{own}+{copy}"
        self._copied[own] = copy
        self._copies[own, before] = id
        return id

    def _rewind(self, id: Any) -> None:
        """Drop a message and what follows it; all messages if it is unknown, as the program does."""
        if not isinstance(id, str) or id not in self._path:
            self._path = {}
            return
        while self._path.popitem()[0] != id:
            pass

    def hold_back(self) -> None:
        """Leave out the last answer, which the program rewrites while its tools run, and the branches that were rewound
        after it."""
        last = self._last
        if last is None or self._messages[last][0].get("type") != "gemini":
            return
        self._path.popitem()
        held = {last}
        for id, (_, before, _) in self._messages.items():  # a message comes after the one that it continues
            if before in held:
                held.add(id)
        for id in held:
            del self._messages[id]
        self._notes.hold_back(f"message {last}")

    @property
    def _last(self) -> str | None:
        """The id of the last message on the path."""
        return next(reversed(self._path.values()), None)

    @property
    def _id(self) -> str:
        session = self._facts.get("sessionId")
        return session if isinstance(session, str) and session else PurePath(self._given.name).stem

    def conversation(self) -> SourceConversation:
        """Return the session with its messages."""
        self._repeated = {id for id, (message, before, _) in self._messages.items() if self._repeats(message, before)}
        own = ((id, kept) for id, kept in self._messages.items() if id not in self._repeated)
        nodes = [node for id, kept in own for node in self._nodes(id, *kept)]
        title = self._facts.get("summary")
        is_agent = self._facts.get("kind") == "subagent"
        words = next(filter(None, map(_words_of, nodes)), "")
        words = words.split("\n", 1)[0][:200]
        return SourceConversation(
            format=FORMAT, id=self._id, title=title if isinstance(title, str) and title else words,
            tip=None if self._last is None else self._end_of(self._last), logged=True,
            tags=[FORMAT, *(["sub-agent"] if is_agent else [])],
            app={key: self._facts[key] for key in _FACTS if self._facts.get(key) not in (None, [])}, messages=nodes,
        )  # fmt: skip

    def _repeats(self, message: Message, before: str | None) -> bool:
        """Whether a message of the user only repeats the results of the calls before it."""
        parts = message.get("content")
        if message.get("type") != "user" or before is None or not isinstance(parts, list) or not parts:
            return False
        results = {
            strictjson.encode(part)
            for call in _calls(self._messages[before][0])
            for part in _listed(call.get("result"))
        }
        return all(strictjson.encode(part) in results for part in parts)

    def _end_of(self, id: str) -> str:
        """Return the turn that the next message continues: the results of this message's calls, if it has any."""
        if id in self._repeated:
            return self._end_of(str(self._messages[id][1]))
        return f"{id}/2" if any("result" in call for call in _calls(self._messages[id][0])) else id

    def _nodes(self, id: str, message: Message, before: str | None, where: str) -> Iterator[SourceMessage]:
        role = ROLES.get(str(message.get("type")))
        parent = None if before is None else self._end_of(before)
        if role is None:
            self._notes.leave_out(where, f"message of type {message.get('type')}")
            role = "system"
        content = self._read(message.get("content"), where)
        calls = _calls(message)
        for what in _unread(message) if role == "assistant" else ():
            self._notes.break_off(where, what)
        # The file does not record the order of these, so all answers get the same one.
        blocks = (
            [*_thoughts(message), *content, *(_call(call) for call in calls)] if role == "assistant" else [*content]
        )
        if role == "user" and blocks and all(isinstance(block, ToolResult) for block in blocks):
            role = "tool"
        rest = shapes.rest(message, _OWN)
        if not blocks:
            self._notes.leave_out(where, "empty message")
        node = SourceMessage(
            id=id, parent=parent, role=role, content=blocks or None, said_at=message.get("timestamp"),
            key=make_key(FORMAT, self._id, id), where=where, hidden="model" if role == "system" else None,
            meta={"id": message["id"], "type": message.get("type"), **rest},
            reply=_reply(message) if role == "assistant" else None,
        )  # fmt: skip
        yield node
        results = [self._result(call, where) for call in calls if "result" in call]
        if results:
            meta = {"id": message["id"], "calls": [_rest(call) for call in calls if _rest(call)]}
            yield replace(
                node, id=f"{id}/2", parent=id, role="tool", content=results, key=make_key(FORMAT, self._id, f"{id}/2"),
                reply=None, meta=meta if meta["calls"] else {"id": message["id"]},
                said_at=next((call["timestamp"] for call in reversed(calls) if "timestamp" in call), node.said_at),
            )  # fmt: skip

    def _read(self, content: Any, where: str) -> tuple[ContentBlock, ...]:
        """Return the blocks of a text, a part, or a list of both."""
        if isinstance(content, str):
            return (Text(content),) if content else ()
        parts = [{"text": part} if isinstance(part, str) else part for part in _listed(content)]
        message = read_native(GEMINI, {"role": "user", "parts": parts}, self._notes, where) if parts else None
        return () if message is None else tuple(block for block in message.blocks if block != Text(""))

    def _result(self, call: Mapping[str, Any], where: str) -> ContentBlock:
        id, name = call.get("id"), call.get("name")
        content = self._read(call["result"], where)
        # The program keeps a result as the part that it sent to the API, which is a result block of its own already.
        if len(content) == 1 and isinstance(content[0], ToolResult):
            return replace(content[0], is_error=True) if call.get("status") in _FAILED else content[0]
        inner = [each for block in content for each in (block.content if isinstance(block, ToolResult) else (block,))]
        return ToolResult(
            id if isinstance(id, str) else None, name if isinstance(name, str) else None, tuple(inner),
            True if call.get("status") in _FAILED else None,
        )  # fmt: skip


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _calls(message: Message) -> list[Mapping[str, Any]]:
    calls = message.get("toolCalls") if message.get("type") == "gemini" else None
    listed = [call for call in _listed(calls) if _is_call(call)]
    return [
        {key: value for key, value in call.items() if key != "result" or value not in (None, [])} for call in listed
    ]


def _is_call(call: Any) -> bool:
    return isinstance(call, Mapping) and isinstance(call.get("name"), str)


def _unread(message: Message) -> Iterator[str]:
    """Yield a sentence on each call and each thought of an answer that cannot be read."""
    yield from ("a call is an object with a `name`" for each in _listed(message.get("toolCalls")) if not _is_call(each))
    thoughts = _listed(message.get("thoughts"))
    yield from ("a thought is an object" for each in thoughts if not isinstance(each, Mapping))


def _call(call: Mapping[str, Any]) -> ToolUse:
    id = call.get("id")
    return ToolUse(call["name"], id if isinstance(id, str) else None, call.get("args") or {})


def _rest(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the program shows of a call, beside its words."""
    rest = {key: value for key, value in call.items() if key not in _CALL and value is not None}
    return {"id": call.get("id"), "status": call.get("status"), **rest} if rest else {}


def _thoughts(message: Message) -> list[Thinking]:
    """Return the thoughts of a message. The program keeps a summary of each, without a signature."""
    blocks = []
    for thought in _listed(message.get("thoughts")):
        texts = [thought.get(key) for key in ("subject", "description")] if isinstance(thought, Mapping) else []
        text = "\n".join(part for part in texts if isinstance(part, str) and part)
        blocks += [Thinking(text, provider=GEMINI)] if text else []
    return blocks


def _words_of(node: SourceMessage) -> str:
    """Return a person's first words in a message; what the program writes before them is not a title."""
    texts = [block.text for block in node.content or () if isinstance(block, Text)] if node.role == "user" else []
    return next((text for text in texts if not text.startswith(_PREAMBLES)), "")


def _reply(message: Message) -> dict[str, Any]:
    model, tokens = message.get("model"), message.get("tokens")
    if not isinstance(tokens, Mapping):
        return make.reply(GEMINI, model=model)
    input_tokens, output_tokens, cached, thought, used = (
        tokens[name] if type(tokens.get(name)) is int else 0
        for name in ("input", "output", "cached", "thoughts", "tool")
    )
    # Gemini counts cached tokens as input, and thoughts apart from the output; headish's input leaves cached tokens
    # out.
    usage = {"input_tokens": max(0, input_tokens - cached) + used, "output_tokens": output_tokens + thought}
    usage |= {"cache_read_input_tokens": cached} if cached else {}
    usage |= {"reasoning_tokens": thought} if thought else {}
    return make.reply(GEMINI, usage, model=model)
