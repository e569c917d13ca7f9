"""Reads the answers of ``POST /v1/responses``: a response, or the events of its stream.

The last event of a stream has the whole response, which overrides the earlier events; so a response is read as that
event alone. Streamed values are kept if the last event never comes, or lacks them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headish.content.forms.customs import RESPONSES as CUSTOM
from headish.providers.openai_responses.items import ItemReader
from headish.providers.openai_responses.vocabulary import DETAILS, EVENT, THOUGHT
from headish.providers.shared.shapes import words
from headish.providers.shared.values import Delta
from headish.values.shapes import chosen, listed, name, number, present, record, text

STOPS = {
    "completed": "end_turn",
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    # The server stopped between two items, and continues the answer if it is sent back unchanged.
    "max_messages": "pause_turn",
    "steered": "pause_turn",
    "incomplete": "incomplete",
}
STATUSES = ("completed", "incomplete", "failed", "cancelled", "in_progress", "queued")
_SAYS = frozenset(("error", "id", "model", "object", "output", "status", "usage"))
"""Keys of which a response has at least one."""
_SPOKEN = ("output_text", "refusal", "reasoning_summary_text", "reasoning_text")
_ITEM = ("content.*.text", "content.*.refusal", "summary.*.text")
WORDS = (
    *(words("delta", event=f"response.{kind}.delta") for kind in _SPOKEN),
    *(words(key, event=f"response.{kind}.done") for kind in _SPOKEN for key in ("text", "refusal")),
    *(words(f"part.{key}", event=f"response.{part}.{step}")
      for part in ("content_part", "reasoning_summary_part") for step in ("added", "done")
      for key in ("text", "refusal")),
    *(words(f"item.{path}", event=f"response.output_item.{step}") for step in ("added", "done") for path in _ITEM),
    *(words(f"{output}.*.{path}") for output in ("output", "response.output") for path in _ITEM),
)  # fmt: skip


class OpenAIResponsesReader(ItemReader):
    """Reads one answer of OpenAI's Responses API."""

    provider = "openai_responses"
    stops = STOPS
    words = WORDS

    def feed(self, event: Mapping[str, Any]) -> list[Delta]:
        kind = event.get("type")
        if self.done:
            return self.keep_unknown(event, f"an event of type {kind!r} behind the end")
        if kind is None and "error" in event:
            return self._fail(event)
        handle = _EVENTS.get(kind) if isinstance(kind, str) else None
        if handle is None:
            return self.keep_unknown(event, f"an event of type {kind!r}")
        thought = "part" in event and record(event["part"]).get("type") in ("summary_text", "reasoning_text")
        self.keep_rest(event, THOUGHT if thought else EVENT)
        return handle(self, event)

    @classmethod
    def events_of(cls, response: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        if not response.keys() & _SAYS:
            yield response  # not a response: ``feed`` keeps it as an unknown event
            return
        status, output = text(response.get("status")), response.get("output")
        if status not in STATUSES and output is None and response.get("error") is not None:
            yield {"type": "error", "error": response["error"]}
            return
        whole = "in_progress" if output is None else "completed"
        yield {"type": f"response.{status if status in STATUSES else whole}", "response": response}

    # The response.

    def _read_response(self, event: Mapping[str, Any]) -> list[Delta]:
        response = record(event.get("response"))
        self.id, self.model = name(response.get("id")) or self.id, name(response.get("model")) or self.model
        self.details |= chosen(response, DETAILS)
        self.details |= {"store": True} if response.get("store") is True else {}
        self._count(record(response.get("usage")))
        return self.read_output(listed(response.get("output")))

    def _complete(self, event: Mapping[str, Any]) -> list[Delta]:
        deltas = self._read_response(event)
        self.stop, self.done = "completed", True
        return deltas

    def _end_early(self, event: Mapping[str, Any]) -> list[Delta]:
        deltas = self._read_response(event)
        reason = record(record(event.get("response")).get("incomplete_details")).get("reason")
        self.stop, self.done = name(reason) or "incomplete", True
        return deltas

    def _end_failed(self, event: Mapping[str, Any]) -> list[Delta]:
        deltas = self._read_response(event)
        self.stop = "failed"
        error = record(event.get("response")).get("error")
        if error is not None or self.error is None:
            self.fail(error)
        return deltas

    def _end_cancelled(self, event: Mapping[str, Any]) -> list[Delta]:
        deltas = self._read_response(event)
        self.stop = "cancelled"
        return deltas

    def _fail(self, event: Mapping[str, Any]) -> list[Delta]:
        error = event.get("error")
        details = {key: event.get(key) for key in ("message", "param")}
        return self.fail({"type": event.get("code"), **details} if error is None else error)

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Take the token counts."""
        # OpenAI counts cache reads and writes as input; ours are disjoint.
        prompt, details = number(usage.get("input_tokens")), record(usage.get("input_tokens_details"))
        cached, cache_written = number(details.get("cached_tokens")), number(details.get("cache_write_tokens"))
        self.details |= present(cache_write_tokens_details=details.get("cache_write_tokens_details"))
        self.count(
            input_tokens=None if prompt is None else prompt - (cached or 0) - (cache_written or 0),
            output_tokens=number(usage.get("output_tokens")),
            cache_creation_input_tokens=cache_written,
            cache_read_input_tokens=cached,
            reasoning_tokens=number(record(usage.get("output_tokens_details")).get("reasoning_tokens")),
        )

    # The items of its output.

    def _begin_item(self, event: Mapping[str, Any]) -> list[Delta]:
        data = record(event.get("item"))
        return self.settle(self.begin_item(event, data), data) if data else []

    def _end_item(self, event: Mapping[str, Any]) -> list[Delta]:
        data = record(event.get("item"))
        return self.settle(self.item_of(event, text(data.get("type"))), data, finished=True) if data else []

    def _read_part(self, event: Mapping[str, Any]) -> list[Delta]:
        part = record(event.get("part"))
        if part.get("type") == "reasoning_text":
            return self._end_thought(event)
        return self.settle_part(self.item_of(event, "message"), _place(event, "content_index"), part)

    def _add_text(self, event: Mapping[str, Any]) -> list[Delta]:
        block = self.text_block(self.item_of(event, "message"), _place(event, "content_index"))
        return block.delta(text(event.get("delta")))

    def _end_text(self, event: Mapping[str, Any]) -> list[Delta]:
        block = self.text_block(self.item_of(event, "message"), _place(event, "content_index"))
        return self.settle_text(block, text(event.get("text")) or text(event.get("refusal")))

    def _add_refusal(self, event: Mapping[str, Any]) -> list[Delta]:
        self.refused = True
        return self._add_text(event)

    def _end_refusal(self, event: Mapping[str, Any]) -> list[Delta]:
        self.refused = True
        return self._end_text(event)

    def _add_annotation(self, event: Mapping[str, Any]) -> list[Delta]:
        block = self.text_block(self.item_of(event, "message"), _place(event, "content_index"))
        block.opaque.setdefault("annotations", []).append(event.get("annotation"))
        return []

    def _add_arguments(self, event: Mapping[str, Any]) -> list[Delta]:
        block, deltas = self.call_block(self.item_of(event, "function_call"), {})
        return deltas + block.delta(text(event.get("delta")))

    def _end_arguments(self, event: Mapping[str, Any]) -> list[Delta]:
        block, deltas = self.call_block(self.item_of(event, "function_call"), event)
        return deltas + self.settle_text(block, text(event.get("arguments")))

    def _add_input(self, event: Mapping[str, Any]) -> list[Delta]:
        block, deltas = self.custom_block(self.item_of(event, CUSTOM), {})
        return deltas + block.delta(text(event.get("delta")))

    def _end_input(self, event: Mapping[str, Any]) -> list[Delta]:
        block, deltas = self.custom_block(self.item_of(event, CUSTOM), {})
        return deltas + self.settle_text(block, text(event.get("input")))

    def _add_thought(self, event: Mapping[str, Any]) -> list[Delta]:
        return self.add_thought(self.item_of(event, "reasoning"), _section(event), text(event.get("delta")))

    def _end_thought(self, event: Mapping[str, Any]) -> list[Delta]:
        """Take the whole text of a section; it is new only if no piece of it came."""
        item, section = self.item_of(event, "reasoning"), _section(event)
        whole = text(event.get("text")) or text(record(event.get("part")).get("text"))
        return [] if section in item.sections else self.add_thought(item, section, whole)

    def _add_own(self, event: Mapping[str, Any]) -> list[Delta]:
        kind, key = _OWN[text(event.get("type"))]
        return self.add_own(self.item_of(event, kind), key, text(event.get("delta")))


def _place(event: Mapping[str, Any], key: str) -> int:
    return number(event.get(key)) or 0


def _section(event: Mapping[str, Any]) -> tuple[str, int]:
    """The section of a reasoning item: a summary or a text of the reasoning itself, and its index."""
    kind = "summary" if "summary_index" in event else "content"
    return kind, _place(event, f"{kind}_index")


_OWN = {
    "response.code_interpreter_call_code.delta": ("code_interpreter_call", "code"),
    "response.mcp_call_arguments.delta": ("mcp_call", "arguments"),
}
"""Events with a piece of the provider's own items: the item's type, and the key that grows."""
_REPEATED = (
    "code_interpreter_call.completed", "code_interpreter_call.in_progress", "code_interpreter_call.interpreting",
    "code_interpreter_call_code.done", "compaction.compacting",
    "file_search_call.completed", "file_search_call.in_progress", "file_search_call.searching",
    "image_generation_call.completed", "image_generation_call.generating", "image_generation_call.in_progress",
    "image_generation_call.partial_image", "mcp_call.completed", "mcp_call.failed", "mcp_call.in_progress",
    "mcp_call_arguments.done", "mcp_list_tools.completed", "mcp_list_tools.failed", "mcp_list_tools.in_progress",
    "shell_call_command.added", "shell_call_command.delta", "shell_call_command.done",
    "shell_call_output_content.delta", "shell_call_output_content.done",
    "web_search_call.completed", "web_search_call.in_progress", "web_search_call.searching",
)  # fmt: skip
"""Events that the finished item repeats, so they are ignored."""
_EVENTS = {
    **{f"response.{name}": OpenAIResponsesReader.ignore for name in _REPEATED},
    **dict.fromkeys(_OWN, OpenAIResponsesReader._add_own),
    "response.created": OpenAIResponsesReader._read_response,
    "response.queued": OpenAIResponsesReader._read_response,
    "response.in_progress": OpenAIResponsesReader._read_response,
    "response.completed": OpenAIResponsesReader._complete,
    "response.incomplete": OpenAIResponsesReader._end_early,
    "response.failed": OpenAIResponsesReader._end_failed,
    "response.cancelled": OpenAIResponsesReader._end_cancelled,
    "error": OpenAIResponsesReader._fail,
    "keepalive": OpenAIResponsesReader.ignore,
    "response.output_item.added": OpenAIResponsesReader._begin_item,
    "response.output_item.done": OpenAIResponsesReader._end_item,
    "response.content_part.added": OpenAIResponsesReader._read_part,
    "response.content_part.done": OpenAIResponsesReader._read_part,
    "response.output_text.delta": OpenAIResponsesReader._add_text,
    "response.output_text.done": OpenAIResponsesReader._end_text,
    "response.output_text.annotation.added": OpenAIResponsesReader._add_annotation,
    "response.refusal.delta": OpenAIResponsesReader._add_refusal,
    "response.refusal.done": OpenAIResponsesReader._end_refusal,
    "response.function_call_arguments.delta": OpenAIResponsesReader._add_arguments,
    "response.function_call_arguments.done": OpenAIResponsesReader._end_arguments,
    "response.custom_tool_call_input.delta": OpenAIResponsesReader._add_input,
    "response.custom_tool_call_input.done": OpenAIResponsesReader._end_input,
    "response.reasoning_summary_part.added": OpenAIResponsesReader.ignore,
    "response.reasoning_summary_part.done": OpenAIResponsesReader._end_thought,
    "response.reasoning_summary_text.delta": OpenAIResponsesReader._add_thought,
    "response.reasoning_summary_text.done": OpenAIResponsesReader._end_thought,
    "response.reasoning_text.delta": OpenAIResponsesReader._add_thought,
    "response.reasoning_text.done": OpenAIResponsesReader._end_thought,
}
