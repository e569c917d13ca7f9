"""OpenTelemetry's GenAI spans, as OTLP writes them in JSON: a file of one request, or of one on each line.

Each chat span holds the whole list of messages that a model was asked with, and its answer: what those lists have in
common is one path, in the order in which the spans began, wherever they are in the file. A conversation is that of
``gen_ai.conversation.id`` or ``session.id``, else the trace. Spans contain messages only if the program was told to
record them; spans without messages are left out.

Keys: ``otel:TRACE:SPAN`` for an answer. What a span repeats has no id: it is recognised by what it says and what leads
to it.

Source: open-telemetry/semantic-conventions-genai (development), the events before 1.37, OpenInference and OpenLLMetry,
read 2026-11-22.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from headish.content.facts import plausible_time
from headish.imports.archives import SPOOLED_BYTES
from headish.imports.imported import make_key
from headish.imports.reader import ImportSource, SourceConversation, SourceMessage
from headish.imports.readers.services.otel_messages import SpanMessage, SpanReading, attributes_of, read_span
from headish.imports.readers.shared import make
from headish.imports.readers.shared.branching import MessagePaths, fingerprint
from headish.imports.readers.shared.json_records import milliseconds, read_values
from headish.values import shapes

FORMAT = "otel"
_CONVERSATIONS = ("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id")
Attributes = Mapping[str, Any]


class _Span(NamedTuple):
    """The place of a span with messages, and the fields to sort it by."""

    began: int
    number: int
    at: int
    bytes: int


def read_conversations(given: ImportSource) -> Iterator[SourceConversation]:
    """Yield the conversations of a file, by the time they began.

    Spans are set aside, in memory or an unnamed temporary file, until all of them are known.
    Raises: InvalidImport for a file that is not JSON.
    """
    with cast(BinaryIO, SpooledTemporaryFile(max_size=SPOOLED_BYTES)) as aside:
        spans_of = _put_aside(given, aside)
        for conversation, spans in sorted(spans_of.items(), key=lambda pair: min(pair[1])):
            yield _TracedConversation(conversation, given).conversation(_taken(aside, sorted(spans)))


def _put_aside(given: ImportSource, aside: BinaryIO) -> dict[str, list[_Span]]:
    spans_of: dict[str, list[_Span]] = {}
    number = 0
    for where, value in read_values(given):
        for resource, span in _spans(value, where, given):
            attributes = attributes_of(span.get("attributes"))
            kind = attributes.get("gen_ai.operation.name") or attributes.get("openinference.span.kind") or "unknown"
            if not _may_say(span, attributes):
                given.notes.leave_out(where, f"span {kind!s:.60} without messages")
                continue
            number += 1
            facts = {**resource, **attributes}
            # Sorting by time needs all spans, and their messages may not fit into memory.
            data = json.dumps({"where": where, "span": span, "attributes": attributes, "resource": resource}).encode()
            place = _Span(_began(span), number, aside.tell(), aside.write(data))
            spans_of.setdefault(_conversation_of(facts, span, number), []).append(place)
    return spans_of


def _taken(aside: BinaryIO, spans: Sequence[_Span]) -> Iterator[Mapping[str, Any]]:
    for span in spans:
        aside.seek(span.at)
        yield json.loads(aside.read(span.bytes))


def _spans(value: Any, where: str, given: ImportSource) -> Iterator[tuple[Attributes, Mapping[str, Any]]]:
    """Yield the spans of a request with the attributes of their resources; or a span by itself."""
    if not isinstance(value, Mapping):
        given.notes.break_off(where, "a request of OTLP is an object with `resourceSpans`")
        return
    listed = value.get("resourceSpans", value.get("resource_spans"))
    if not isinstance(listed, list):
        # Some exporters write the spans alone, without the request around them.
        if "attributes" in value and ("traceId" in value or "context" in value):
            yield {}, value
        else:
            given.notes.break_off(where, "a request of OTLP is an object with `resourceSpans`")
        return
    for resource in listed:
        inner = shapes.record(resource).get("resource")
        facts = attributes_of(inner.get("attributes")) if isinstance(inner, Mapping) else {}
        # The last is the older name of the first.
        scopes = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
        for scope in _list_of(resource, scopes, where, given):
            for span in _list_of(scope, ("spans",), where, given):
                if isinstance(span, Mapping):
                    yield facts, span
                else:
                    given.notes.break_off(where, "a span is an object")


def _list_of(held: Any, names: Sequence[str], where: str, given: ImportSource) -> list[Any]:
    """Return the list under one of the names. What has another type is noted as broken, since spans may be in it."""
    values = [held[name] for name in names if held.get(name) is not None] if isinstance(held, Mapping) else [held]
    listed = next((value for value in values if isinstance(value, list)), None)
    if listed is None and values:
        given.notes.break_off(where, f"`{names[0]}` of an object is a list")
    return listed or []


def _may_say(span: Mapping[str, Any], attributes: Attributes) -> bool:
    """Whether a span of a model's call holds messages. What a tool or an agent did is in the calls around it."""
    if attributes.get("gen_ai.operation.name") in ("execute_tool", "invoke_agent", "create_agent", "embeddings"):
        return False
    if attributes.get("openinference.span.kind", "LLM") != "LLM":
        return False
    reading = read_span(span, attributes)
    return bool(reading.asked or reading.answered)


def _began(span: Mapping[str, Any]) -> int:
    return _nanoseconds(span, "startTimeUnixNano", "start_time_unix_nano", "start_time")


def _conversation_of(facts: Attributes, span: Mapping[str, Any], number: int) -> str:
    found = next((facts[name] for name in _CONVERSATIONS if isinstance(facts.get(name), str) and facts[name]), None)
    return found or _id(span, "trace") or f"span {number}"


def _id(span: Mapping[str, Any], of: str) -> str | None:
    """Return the id of a span, or of its trace."""
    name = f"{of}_id"
    return shapes.name(span.get(f"{of}Id", span.get(name, shapes.record(span.get("context")).get(name))))


class _TracedConversation:
    def __init__(self, id: str, given: ImportSource) -> None:
        self._id, self._given, self._notes = id, given, given.notes
        self._paths = MessagePaths()
        self._title: str | None = None
        self._tags: dict[str, None] = {FORMAT: None}
        self._tip: str | None = None

    def conversation(self, spans: Iterator[Mapping[str, Any]]) -> SourceConversation:
        """Return the conversation with its messages."""
        for each in spans:
            self._take(each["span"], each["attributes"], each["resource"], each["where"])
        return SourceConversation(
            format=FORMAT, id=self._id, title=self._title, tip=self._tip, tags=list(self._tags),
            messages=self._paths.nodes,
        )  # fmt: skip

    def _take(self, span: Mapping[str, Any], attributes: Attributes, resource: Attributes, where: str) -> None:
        reading = read_span(span, attributes)
        for what in reading.unread:
            self._notes.keep(where, what)
        began = milliseconds(_began(span)) if _began(span) > 0 else None
        ended = milliseconds(_nanoseconds(span, "endTimeUnixNano", "end_time_unix_nano", "end_time")) or began
        last: str | None = None
        for message in reading.asked:
            last = self._say(message, last, began, where)
        self._take_answers(reading, last, span, ended, where)
        for name in (resource.get("service.name"), attributes.get("gen_ai.agent.name")):
            if isinstance(name, str) and name:
                self._tags[name] = None

    def _say(self, said: SpanMessage, before: str | None, time: Any, where: str, **facts: Any) -> str | None:
        if self._title is None and said.role == "user":
            text = next((block["text"] for block in said.blocks if block["type"] == "text"), "")
            self._title = make.title(text) or None
        node = SourceMessage(
            id=None, role=said.role, content=said.blocks, said_at=time, where=where, speaker=said.speaker, **facts
        )
        return self._paths.follow(before, fingerprint([said.role, said.blocks]), lambda: [node])

    def _take_answers(
        self, reading: SpanReading, before: str | None, span: Mapping[str, Any], time: Any, where: str
    ) -> None:
        own, trace = _id(span, "span"), _id(span, "trace")
        for number, said in enumerate(reading.answered):
            key = make_key(FORMAT, trace, f"{own}/{number + 1}" if number else own)
            # The counts are those of all answers together, so only the first has them.
            reply = {**reading.reply, **said.reply}
            if number > 0:
                reply.pop("usage", None)
            id = self._say(said, before, time, where, key=key, reply=reply if said.role == "assistant" else None)
            # Of spans that began at the same time, one that repeats this answer may have come first.
            if id is not None and said.role == "assistant" and not self._paths.at(id).reply:
                self._paths.change(id, reply=reply)
            if id is not None and number == 0:
                self._tip = id


def _nanoseconds(span: Mapping[str, Any], *names: str) -> int:
    """Return the time under the first of the names that a span has; 0 without one. A span by itself may have a text."""
    time = next((span[name] for name in names if name in span), 0)
    try:
        return int(time)
    except (TypeError, ValueError, OverflowError):
        return (plausible_time(time) or 0) * 1_000_000
