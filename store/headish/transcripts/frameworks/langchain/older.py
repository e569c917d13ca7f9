"""Convert blocks that earlier editions of the importer stored into those that today's mapping makes.

An earlier importer kept a part that it could not read as a block of the provider that it assumed: an image of
LangChain's own, a call as Anthropic spells it. Such a call was stored twice, because it is beside the content as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from headish.content.forms.layout import is_nothing
from headish.transcripts.frameworks.langchain.parts import read_parts
from headish.values.blocks import ContentBlock, ProviderBlock, ToolResult, ToolUse


def read_anew(blocks: Iterable[ContentBlock]) -> list[ContentBlock]:
    """The blocks as today's mapping makes them. Raises: InvalidContent, TooDeep."""
    mapped = [each for block in blocks for each in _anew(block)]
    # Backwards, so that the first place of an id wins.
    places = {block.id: at for at, block in reversed([*enumerate(mapped)]) if isinstance(block, ToolUse) and block.id}
    return [*_once(mapped, places)]


def _anew(block: ContentBlock) -> Sequence[ContentBlock]:
    if isinstance(block, ToolResult):
        return [replace(block, content=tuple(read_anew(block.content)))]
    part = _part_of(block)
    return [block] if part is None else [each.block for each in read_parts([part], {})]


def _part_of(block: ContentBlock) -> Any:
    """The part of a message that a provider's block holds; None for any other block."""
    if not isinstance(block, ProviderBlock) or not isinstance(block.data, Mapping):
        return None
    if block.provider == "anthropic":
        return block.data
    return block.data["part"] if block.data.keys() == {"part"} else None


def _once(blocks: Sequence[ContentBlock], places: Mapping[str, int]) -> Iterator[ContentBlock]:
    """The blocks with each call once: at its first place, with the first arguments that any copy of it has."""
    for at, block in enumerate(blocks):
        if not isinstance(block, ToolUse) or block.id is None or block.id not in places:
            yield block
        elif places[block.id] == at:
            whole = [each for each in blocks if isinstance(each, ToolUse) and each.id == block.id]
            yield next((each for each in whole if not is_nothing(each.input)), block)
