"""The items of an answer's output while they grow: messages, calls, reasoning, and items that only the provider
understands.

An item is found by its place in the output, else by its id. It comes in several forms: when it begins, when it ends, in
the whole response. Each form is settled with what is there: new values are added, different ones replace the old, and
values that the form lacks stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headish.content.forms.customs import RESPONSES as CUSTOM
from headish.content.forms.responses import PARAGRAPH, join_texts
from headish.providers.openai_responses.vocabulary import ITEMS, PARTS
from headish.providers.shared.leftovers import KnownKeys, rest_of
from headish.providers.shared.reply import OpenBlock, ReplyReader
from headish.providers.shared.values import Delta, Reply
from headish.values.shapes import listed, name, number, present, record, text

Section = tuple[str, int]


@dataclass
class OutputItem:
    """An item at its place in the output, and the blocks that it becomes, by the index of the part."""

    kind: str
    place: int
    id: str = ""
    blocks: dict[int, OpenBlock] = field(default_factory=dict)
    finished: bool = False
    phase: str | None = None
    section: Section | None = None
    """The section of a reasoning that grew last."""
    sections: set[Section] = field(default_factory=set)
    rests: dict[int | None, Any] = field(default_factory=dict)
    """The latest unknown keys of the item (at None), and of its parts by their index."""
    growing: str | None = None
    """The key, in an item of the provider's own, of the text that comes in pieces."""


class ItemReader(ReplyReader):
    """Reads items. A subclass maps events to its methods."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._items: list[OutputItem] = []
        self._at: dict[int, OutputItem] = {}
        self._by_id: dict[tuple[str, str], OutputItem] = {}

    def finish(self) -> Reply:
        # Items may arrive in an order that is not that of the answer.
        ordered = sorted(self._items, key=lambda item: item.place)
        for item in ordered:
            self._end_blocks(item)
        self.blocks = [block for item in ordered for _, block in sorted(item.blocks.items())]
        return super().finish()

    def _end_blocks(self, item: OutputItem) -> None:
        """Set on each block the last state of its item. Done once at the end, because an item of many parts may come
        many times."""
        if item.growing is not None and not item.finished:
            item.blocks[0].data[item.growing] = "".join(item.blocks[0].pieces)
        for block in item.blocks.values():
            block.finished = item.finished
            block.opaque |= present(phase=item.phase)

    # Finding the item.

    def begin_item(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> OutputItem:
        """The item that an event begins. It may have begun earlier, with a piece of it."""
        kind, id, place = text(data.get("type")), text(data.get("id")), number(event.get("output_index"))
        existing = self._at.get(place) if place is not None else None
        if existing is None or existing.kind != kind or existing.finished or (existing.id and existing.id != id):
            return self._begin(kind, place)
        return existing

    def item_of(self, event: Mapping[str, Any], kind: str) -> OutputItem:
        """The item of an event; a new one if its beginning never came."""
        place = number(event.get("output_index"))
        id = text(event.get("item_id")) or text(record(event.get("item")).get("id"))
        at_place = self._at.get(place) if place is not None else (self._items[-1] if self._items else None)
        by_id = self._by_id.get((kind, id)) if id else None
        if at_place is None or at_place.kind != kind or (place is None and at_place.finished):
            return by_id or self._begin(kind, place)
        # Some servers number no items, some give them another id in each event.
        return by_id if by_id is not None and at_place.id and at_place.id != id else at_place

    def _begin(self, kind: str, place: int | None) -> OutputItem:
        place = len(self._items) if place is None else place
        item = self._at[place] = OutputItem(kind, place)
        self._items.append(item)
        return item

    def read_output(self, output: Iterable[Any]) -> list[Delta]:
        """Settle the items with the output of a whole response; items that are not in it stay."""
        taken: set[int] = set()  # by identity, so that each is matched once
        deltas: list[Delta] = []
        for place, each in enumerate(output):
            data = record(each)
            if not data:
                self.keep_unknown({"item": each}, "an item that is not an object")
                continue
            item = self._match(place, data, taken)
            item.place = place
            taken.add(id(item))
            deltas += self.settle(item, data, finished=data.get("status") != "in_progress")
        return deltas

    def _match(self, place: int, data: Mapping[str, Any], taken: set[int]) -> OutputItem:
        kind = text(data.get("type"))
        by_id = [self._by_id.get((kind, text(data.get(key)))) for key in ("id", "call_id") if data.get(key)]
        for found in (*by_id, self._at.get(place)):
            if found is not None and found.kind == kind and id(found) not in taken:
                return found
        return self._begin(kind, place)

    # Settling its forms.

    def settle(self, item: OutputItem, data: Mapping[str, Any], *, finished: bool = False) -> list[Delta]:
        """Take a form of an item; return what to show of its new values."""
        item.id = item.id or text(data.get("id"))
        for id in (text(data.get("id")), text(data.get("call_id"))):
            if id:
                self._by_id.setdefault((item.kind, id), item)
        item.finished = item.finished or finished
        # The final form of a reasoning goes into its opaque data whole, so nothing of it is left over.
        known = None if item.kind == "reasoning" and item.finished else ITEMS.get(item.kind)
        self._keep_rest(item, None, data, known)
        return KINDS.get(item.kind, ItemReader._settle_own)(self, item, data)

    def _settle_message(self, item: OutputItem, data: Mapping[str, Any]) -> list[Delta]:
        is_first, item.phase = item.phase is None, name(data.get("phase")) or item.phase
        for block in item.blocks.values() if is_first and item.phase else ():
            block.opaque["phase"] = item.phase  # fixes its place among the keys; ``finish`` sets the last value
        deltas: list[Delta] = []
        for place, part in enumerate(listed(data.get("content"))):
            deltas += self.settle_part(item, place, record(part))
        return deltas

    def settle_part(self, item: OutputItem, place: int, part: Mapping[str, Any]) -> list[Delta]:
        """Take a form of a part of a message: text with its annotations, or a refusal."""
        kind = part.get("type")
        self._keep_rest(item, place, part, PARTS.get(kind) if isinstance(kind, str) else None)
        if kind == "refusal":
            self.refused = True
            return self.settle_text(self.text_block(item, place), text(part.get("refusal")))
        if kind == "output_text":
            block = self.text_block(item, place)
            block.opaque |= present(annotations=listed(part.get("annotations")), logprobs=listed(part.get("logprobs")))
            return self.settle_text(block, text(part.get("text")))
        if part and item.rests.get(place) != part:
            item.rests[place] = part
            self.keep_unknown(part, f"a part of type {kind!r}")
        return []

    def _keep_rest(self, item: OutputItem, place: int | None, said: Mapping[str, Any], known: KnownKeys | None) -> None:
        """Keep the unknown keys of a form of an item or of its part, once: later forms repeat them."""
        rest = None if known is None else rest_of(said, known)
        if rest is None or item.rests.get(place) == rest:
            return
        item.rests[place] = rest
        of = f"an item of type {item.kind!r}" if place is None else "a part of a message"
        self.keep_unknown({"output_index": item.place} | rest, f"what {of} says besides")

    def text_block(self, item: OutputItem, place: int) -> OpenBlock:
        """The block of a part of a message."""
        if place not in item.blocks:
            item.blocks[place] = self.open("text", opaque=present(phase=item.phase))
        return item.blocks[place]

    def settle_text(self, block: OpenBlock, whole: str) -> list[Delta]:
        """Set the text of a block to its whole text; return the new part, to show it."""
        before = "".join(block.pieces) if whole else ""
        if whole.startswith(before):
            return block.delta(whole[len(before) :])
        block.pieces = [whole]
        return []

    def _settle_call(self, item: OutputItem, data: Mapping[str, Any]) -> list[Delta]:
        block, deltas = self.call_block(item, data)
        block.opaque |= present(namespace=data.get("namespace"), caller=data.get("caller"))
        if isinstance(data.get("arguments"), Mapping):
            block.input = data["arguments"]  # some servers send an object in place of its text
        return deltas + self.settle_text(block, text(data.get("arguments")))

    def _settle_custom(self, item: OutputItem, data: Mapping[str, Any]) -> list[Delta]:
        block, deltas = self.custom_block(item, data)
        block.opaque |= present(namespace=data.get("namespace"), caller=data.get("caller"))
        return deltas + self.settle_text(block, text(data.get("input")))

    def custom_block(self, item: OutputItem, data: Mapping[str, Any]) -> tuple[OpenBlock, list[Delta]]:
        """The block of a call whose input is text, and what to show of its beginning."""
        block, deltas = self.call_block(item, data)
        block.opaque["type"], block.is_text = CUSTOM, True
        return block, deltas

    def call_block(self, item: OutputItem, data: Mapping[str, Any]) -> tuple[OpenBlock, list[Delta]]:
        """The block of a call, and what to show of its beginning."""
        if 0 not in item.blocks:
            item.blocks[0], deltas = self.open_call(data.get("name"), data.get("call_id"))
            return item.blocks[0], deltas
        block, called = item.blocks[0], text(data.get("name"))
        block.name = self._tool_names.get(called, called) or block.name
        block.id = name(data.get("call_id")) or block.id
        return block, []

    def _settle_thought(self, item: OutputItem, data: Mapping[str, Any]) -> list[Delta]:
        block = self._thought(item)
        deltas = self.settle_text(block, join_texts(data.get("summary")) or join_texts(data.get("content")))
        if item.finished:
            # Before its end, an item may have only a part of its encrypted content.
            block.opaque |= {key: value for key, value in data.items() if value is not None or key not in block.opaque}
        return deltas

    def add_thought(self, item: OutputItem, section: Section, piece: str) -> list[Delta]:
        """Add a piece to one of the texts of a reasoning item."""
        if not piece:
            return []
        block = self._thought(item)
        gap = PARAGRAPH if block.pieces and item.section != section else ""
        item.section = section
        item.sections.add(section)
        return block.delta(gap + piece)

    def _thought(self, item: OutputItem) -> OpenBlock:
        if 0 not in item.blocks:
            item.blocks[0] = self.open("thinking")
        return item.blocks[0]

    def _settle_own(self, item: OutputItem, data: Mapping[str, Any]) -> list[Delta]:
        block, deltas = self._own(item, data)
        block.data |= data
        return deltas

    def add_own(self, item: OutputItem, key: str, piece: str) -> list[Delta]:
        """Add a piece to a text inside an item that only the provider understands."""
        block, deltas = self._own(item, {"type": item.kind})
        item.growing = key
        block.pieces.append(piece)
        return [*deltas, Delta("server_tool_use", piece, index=block.index)]

    def _own(self, item: OutputItem, data: Mapping[str, Any]) -> tuple[OpenBlock, list[Delta]]:
        """The block of such an item, and what to show of its beginning. A call of the server's own tools is shown like
        any other."""
        if 0 in item.blocks:
            return item.blocks[0], []
        block = item.blocks[0] = self.open("provider", data=dict(data))
        if not item.kind.endswith("_call"):
            return block, []
        called = name(data.get("name")) or item.kind.removesuffix("_call")
        return block, [Delta("server_tool_use", name=called, id=name(data.get("id")), index=block.index)]


KINDS: dict[str, Callable[[ItemReader, OutputItem, Mapping[str, Any]], list[Delta]]] = {
    "message": ItemReader._settle_message,
    "function_call": ItemReader._settle_call,
    CUSTOM: ItemReader._settle_custom,
    "reasoning": ItemReader._settle_thought,
}
"""The methods that read a form of an item, by its type. Items of all other types are the provider's own."""
