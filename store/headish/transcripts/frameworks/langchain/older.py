"""Blocks that earlier editions made of parts, as they are made today.

The importer kept what it could not read whole, for the provider whose it took it to be: an image of LangChain's own, a
call in Anthropic's words. Such a call stood there a second time, because it stands beside the content as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from headish.content.forms.layout import is_nothing
from headish.transcripts.frameworks.langchain.parts import read_parts
from headish.values.blocks import ContentBlock, ProviderBlock, ToolResult, ToolUse


def read_anew(blocks: Iterable[ContentBlock]) -> list[ContentBlock]:
    """The blocks as today's mapping has them. Raises: InvalidContent, TooDeep."""
    made = [each for block in blocks for each in _anew(block)]
    places = {block.id: at for at, block in reversed([*enumerate(made)]) if isinstance(block, ToolUse) and block.id}
    return [*_once(made, places)]


def _anew(block: ContentBlock) -> Sequence[ContentBlock]:
    if isinstance(block, ToolResult):
        return [replace(block, content=tuple(read_anew(block.content)))]
    part = _part_of(block)
    return [block] if part is None else [each.block for each in read_parts([part], {})]


def _part_of(block: ContentBlock) -> Any:
    """The part that a provider's block is; None for any other."""
    if not isinstance(block, ProviderBlock) or not isinstance(block.data, Mapping):
        return None
    if block.provider == "anthropic":
        return block.data
    return block.data["part"] if block.data.keys() == {"part"} else None


def _once(blocks: Sequence[ContentBlock], places: Mapping[str, int]) -> Iterator[ContentBlock]:
    """The blocks, each call where it stands first, with the arguments that it has anywhere."""
    for at, block in enumerate(blocks):
        if not isinstance(block, ToolUse) or block.id is None or block.id not in places:
            yield block
        elif places[block.id] == at:
            whole = [each for each in blocks if isinstance(each, ToolUse) and each.id == block.id]
            yield next((each for each in whole if not is_nothing(each.input)), block)
