"""Claude Code's sessions: ``~/.claude/projects/PROJECT/SESSION.jsonl``, a record a line.

One answer is several lines, one for each content block, with the same ``message.id``: they become one turn, whose usage
counts once. Results of calls that ran side by side hang on different lines of one answer, and follow one another here.
A rewind is a fork, and the line that was written last is the tip. Lines that say nothing (progress, attachments, system
records) stand in the chain of parents and are walked through. A compaction's summary is an overlay that stands for what
it sums up, without the messages that were kept; those are written a second time behind it.

Sessions share lines and hang on lines of other files, so a key is global: ``claude-code:UUID``, and the conversation's
is ``claude-code:SESSION``. A sub-agent's lines are a conversation of their own.

Source: docs of the format by others and real projects of 2025 and 2026, read 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.imports.building import read_native
from headish.imports.imported import make_key
from headish.imports.notes import ImportNotes
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.shared.json_records import RecordLine, read_records

FORMAT, ANTHROPIC = "claude-code", "anthropic"
SPEAKERS = ("user", "assistant")
_MAPPED = ("type", "uuid", "parentUuid", "timestamp", "message")
_MESSAGE = ("role", "content", "model", "usage", "id", "stop_reason", "type")
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Records that give a title, the strongest first, and the key that holds it."""


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """The conversations of a session's file: the session itself, and each sub-agent that speaks in it."""
    titles: dict[str, str] = {}
    threads: dict[str | None, _SessionThread] = {}
    for line in read_records(given):
        record = line.record
        kind = record.get("type")
        title = record.get(_TITLES[kind]) if isinstance(kind, str) and kind in _TITLES else None
        if isinstance(title, str):
            titles[str(kind)] = title
        elif isinstance(record.get("uuid"), str):
            agent = _agent_of(record)
            if kind in SPEAKERS:
                for other in (thread for name, thread in threads.items() if name != agent):
                    other.tail.close()
            threads.setdefault(agent, _SessionThread(given.notes)).add(line)
        else:
            given.notes.leave_out(line.where, f"record of type {kind}")
    title = next((titles[kind] for kind in _TITLES if kind in titles), None)
    for agent, thread in threads.items():
        if given.is_running:
            thread.hold_back()
        nodes = thread.nodes()
        yield replace(thread.talk(given.name, agent, title), messages=nodes)


def _agent_of(record: Mapping[str, Any]) -> str | None:
    """The sub-agent that a line belongs to, None for the session itself."""
    if record.get("isSidechain") is not True:
        return None
    agent = record.get("agentId")
    return agent if isinstance(agent, str) else "sidechain"


class _FurtherLines(NamedTuple):
    """What the further lines of an answer say."""

    content: list[Any]
    uuids: list[str]
    reply: dict[str, Any]


class _Compaction(NamedTuple):
    """The boundary of a compaction: the last message before it, and what it says of what was kept."""

    last: str | None
    metadata: Any


class _OpenTail:
    """The answer that the last lines belong to, with the results of its calls: more of it may still be written.

    Results are written as soon as there are any, between the lines of the answer that calls.
    """

    def __init__(self) -> None:
        self.uuids: list[str] = []
        self._answer: object = None

    def add(self, record: Mapping[str, Any], role: str) -> None:
        """Take a line; lines that say nothing are none of it, and end nothing."""
        answer = record["message"].get("id") if role == "assistant" else None
        is_further = role == "tool" or (answer is not None and answer == self._answer)
        if self.uuids and is_further:
            self.uuids.append(record["uuid"])
        else:
            self._answer, self.uuids = answer, [record["uuid"]] if role == "assistant" else []

    def close(self) -> None:
        """A line of another message follows: the answer is whole."""
        self.uuids, self._answer = [], None


class _SessionThread:
    """The lines of a session, or of one of its sub-agents."""

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes
        self.tail = _OpenTail()
        self._nodes: dict[str, SourceMessage] = {}
        self._stands_for: dict[str, str] = {}
        self._answers: dict[str, str] = {}
        self._joined: dict[str, _FurtherLines] = {}
        self._results: dict[str, tuple[str, set[str]]] = {}
        self._parents: dict[str, Any] = {}
        self._order: dict[str, int] = {}
        self._compacted: dict[str, _Compaction] = {}
        self._summary: str | None = None
        self._rewritten: dict[str, str] = {}
        """The lines that were written a second time behind a summary; what hangs on one follows that."""
        self._said: list[str] = []
        self._first: dict[str, Any] = {}
        self._has_parents = False
        self._words: str | None = None

    def add(self, line: RecordLine) -> None:
        """Take a line. One that was seen is not taken again: a compaction writes what it keeps a second time."""
        record, uuid = line.record, str(line.record["uuid"])
        if uuid in self._nodes or uuid in self._stands_for:
            self._tell_other(line, self._nodes.get(uuid))
            if self._summary is not None and record.get("parentUuid") != self._parents.get(uuid):
                self._rewritten[uuid] = self._summary
            return
        self._parents[uuid] = record.get("parentUuid")
        self._order[uuid] = len(self._order)
        if not self._first and record.get("type") in SPEAKERS:
            self._first = record
        parent = record.get("parentUuid") or record.get("logicalParentUuid")
        self._has_parents = self._has_parents or isinstance(record.get("parentUuid"), str)
        parent = parent if isinstance(parent, str) else None
        parent = self._rewritten.get(parent, parent) if parent is not None else None
        if record.get("subtype") == "compact_boundary":
            self._compacted[uuid] = _Compaction(self._said[-1] if self._said else None, record.get("compactMetadata"))
        message = record.get("message")
        if record.get("type") not in SPEAKERS or not isinstance(message, Mapping):
            self._notes.leave_out(line.where, _kind_of(record))
            if record.get("type") == "system":
                self.tail.close()
            self._nodes[uuid] = SourceMessage(id=uuid, parent=parent, where=line.where)
            return
        content = message.get("content")
        self.tail.add(record, _role_of(record["type"], _parts(content)))
        answer = message.get("id") if record["type"] == "assistant" else None
        if isinstance(answer, str) and answer in self._answers:
            self._join(self._answers[answer], uuid, record)
            return
        if isinstance(answer, str):
            self._answers[answer] = uuid
        self._nodes[uuid] = self._node(line, uuid, parent, content)
        self._said.append(uuid)
        if record.get("isCompactSummary") is True:
            self._summary = uuid

    def _tell_other(self, line: RecordLine, seen: SourceMessage | None) -> None:
        """Note a line that says something else than the one whose uuid it has."""
        message = line.record.get("message")
        if seen is None or seen.content is None or not isinstance(message, Mapping):
            return
        if _parts(message.get("content")) != _parts(seen.content):
            self._notes.leave_out(line.where, "line with the uuid of another that says something else")

    def _node(self, line: RecordLine, uuid: str, parent: str | None, content: Any) -> SourceMessage:
        record, message = line.record, line.record["message"]
        role = "assistant" if record["type"] == "assistant" else "user"
        parts = _parts(content)
        if role == "user" and self._words is None and record.get("isMeta") is not True:
            self._words = next((text for part in parts if (text := _words_of(part))[:1] not in ("", "<")), None)
        meta = {key: value for key, value in record.items() if key not in _MAPPED}
        rest = {key: value for key, value in message.items() if key not in _MESSAGE and value is not None}
        if rest:
            meta["message"] = rest
        if "toolUseResult" in meta:
            self._notes.keep(line.where, "toolUseResult")
        if record.get("isCompactSummary") is True:
            self._notes.keep(line.where, "summary of a compaction")
        return SourceMessage(
            id=uuid, parent=parent, role=_role_of(role, parts), content=content if parts else [],
            said_at=record.get("timestamp"),
            key=make_key(FORMAT, uuid), meta={"uuid": uuid, **meta}, where=line.where,
            reply=_reply(message) if role == "assistant" else None,
            hidden="people" if record.get("isMeta") is True else None,
        )  # fmt: skip

    def _join(self, first: str, uuid: str, record: Mapping[str, Any]) -> None:
        """A further line of an answer: its blocks go to the first one's, and its uuid stands for that one."""
        further = self._joined.setdefault(first, _FurtherLines([], [], {}))
        further.content.extend(_parts(record["message"].get("content")))
        further.uuids.append(uuid)
        further.reply.update(_reply(record["message"]))
        self._stands_for[uuid] = first

    def _whole(self, node: SourceMessage) -> SourceMessage:
        """A message with all of its lines."""
        further = self._joined.get(node.id or "")
        if further is None:
            return node
        return replace(
            node,
            content=[*_parts(node.content), *further.content],
            meta={**node.meta, "further_uuids": further.uuids},
            reply={**(node.reply or {}), **further.reply},
        )

    def hold_back(self) -> None:
        """Leave out the last answer, and the results of its calls."""
        held = dict.fromkeys(self._stands_for.get(uuid, uuid) for uuid in self.tail.uuids)
        for uuid in held:
            self._nodes[uuid] = SourceMessage(id=uuid, parent=self._nodes[uuid].parent)
            self._joined.pop(uuid, None)
        self._said = [uuid for uuid in self._said if uuid not in held]
        if held:
            self._notes.hold_back(f"answer {next(iter(held))}")

    def nodes(self) -> Iterable[SourceMessage]:
        """The messages, each with what it really continues."""
        linked: list[SourceMessage] = []
        last: str | None = None
        seen: set[str] = set()
        for uuid, node in self._nodes.items():
            parent = node.parent if self._has_parents else last
            compaction = self._compacted.get(uuid)
            if compaction is not None and (parent is None or (parent not in seen and parent in self._nodes)):
                parent = compaction.last  # it names a line that is written later
            seen.add(uuid)
            parent = self._stands_for.get(parent, parent) if parent is not None else None
            if node.role == "tool" and parent is not None:
                parent = self._behind_results(uuid, node, parent)
            linked.append(self._read(self._whole(replace(node, parent=parent))))
            last = uuid
        return [self._summing_up(node, parents) for node in linked] if (parents := self._linked(linked)) else linked

    def _linked(self, nodes: Sequence[SourceMessage]) -> dict[str, str | None]:
        """What each message continues, where something was compacted."""
        return {str(node.id): node.parent for node in nodes} if self._compacted else {}

    def _summing_up(self, node: SourceMessage, parents: Mapping[str, str | None]) -> SourceMessage:
        """The summary of a compaction covers what leads to it, without what was kept and without earlier summaries."""
        if node.meta.get("isCompactSummary") is not True or node.content is None:
            return node
        covers: list[str] = []
        kept: set[str] = set()
        at, met = node.parent, set[str]()
        while at is not None and at not in met:
            met.add(at)
            if at in self._compacted and not covers:
                kept = self._kept_by(self._compacted[at])
            elif at not in kept and at in self._nodes and self._nodes[at].meta.get("isCompactSummary") is not True:
                covers.append(at)
            at = parents.get(at)
        return replace(node, covers=tuple(reversed(covers)))

    def _kept_by(self, compaction: _Compaction) -> set[str]:
        """The messages that a compaction left in the window."""
        facts = compaction.metadata if isinstance(compaction.metadata, Mapping) else {}
        listed, segment = facts.get("preservedMessages"), facts.get("preservedSegment")
        uuids = listed.get("uuids") if isinstance(listed, Mapping) else None
        kept = [each for each in uuids if isinstance(each, str)] if isinstance(uuids, list) else []
        if isinstance(segment, Mapping) and {segment.get("headUuid"), segment.get("tailUuid")} <= self._order.keys():
            first, last = (self._order[segment[key]] for key in ("headUuid", "tailUuid"))
            kept += [uuid for uuid, at in self._order.items() if first <= at <= last]
        return {self._stands_for.get(uuid, uuid) for uuid in kept}

    def _read(self, node: SourceMessage) -> SourceMessage:
        """The message with its blocks in headish's own words."""
        if not node.content:
            return node
        entry = {"role": "assistant" if node.role == "assistant" else "user", "content": node.content}
        kept = read_native(ANTHROPIC, entry, self._notes, node.where)
        return replace(node, content=None if kept is None else kept.blocks, form=None if kept is None else kept.form)

    def _behind_results(self, uuid: str, node: SourceMessage, parent: str) -> str:
        """What a result continues: the answer, or the result before it that answers another call of the same."""
        before, answered = self._results.get(parent, (parent, set()))
        own = {str(block.get("tool_use_id")) for block in node.content or () if isinstance(block, Mapping)}
        if own & answered:  # a call that was answered twice is a fork
            return parent
        answered |= own  # in place: an answer may have any number of results
        self._results[parent] = (uuid, answered)
        return before

    def talk(self, name: str, agent: str | None, title: str | None) -> SourceConversation:
        """What is said of the session."""
        session = str(self._first.get("sessionId") or PurePath(name).stem)
        of_agent = {"sub-agent": agent} if agent is not None else {}
        words = (self._words or "").strip().split("\n", 1)[0][:200]
        facts = ("cwd", "gitBranch", "version", "sessionId")
        app = {key: self._first[key] for key in facts if isinstance(self._first.get(key), str)}
        project = PurePath(str(app["cwd"])).name if "cwd" in app else ""
        return SourceConversation(
            format=FORMAT, id=session if agent is None else f"{session}:{agent}",
            title=title if title and agent is None else words, tip=self._tip(),
            tags=[FORMAT, project, *(["sub-agent"] if agent is not None else [])], app={**app, **of_agent}, logged=True,
        )  # fmt: skip

    def _tip(self) -> str | None:
        """The message that was written last: a rewind goes on at the end of the file."""
        return self._said[-1] if self._said else None


def _parts(content: Any) -> list[Any]:
    """The blocks of a message; nothing else than a text or a list says anything."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _words_of(part: Any) -> str:
    text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else part
    return text if isinstance(text, str) else ""


def _role_of(role: str, parts: list[Any]) -> str:
    """``tool`` for a user's message that holds nothing but results, else the role that it has."""
    results = [isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts]
    return "tool" if role == "user" and results and all(results) else role


def _usage_of(usage: Any) -> dict[str, int]:
    """The counts of tokens, by headish's names, which are Anthropic's."""
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {name: usage[name] for name in names if type(usage.get(name)) is int} if isinstance(usage, Mapping) else {}


def _kind_of(record: Mapping[str, Any]) -> str:
    subtype = record.get("subtype")
    return f"record of type {record.get('type')}" + (f"/{subtype}" if isinstance(subtype, str) else "")


def _reply(message: Mapping[str, Any]) -> dict[str, Any]:
    """What a provider said beside its answer. An answer without a model's name is the program's own."""
    model, stop = message.get("model"), message.get("stop_reason")
    usage, answer = _usage_of(message.get("usage")), message.get("id")
    reply: dict[str, Any] = {"provider": ANTHROPIC}
    reply |= {"model": model} if isinstance(model, str) else {}
    reply |= {"stop_reason": stop} if isinstance(stop, str) else {}
    reply |= {"usage": usage} if usage else {}
    return reply | ({"response_id": answer} if isinstance(answer, str) else {})
