"""Convert a message of ChatGPT's export to content blocks, by its ``content_type``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from headish.content.media import guess_media_type
from headish.imports.archives import Archive
from headish.imports.readers.shared import make
from headish.imports.readers.shared.make import Block
from headish.values import shapes

OPENAI = "openai"
_ASSET = re.compile(r"file[-_][A-Za-z0-9]+")


KEPT_ASSETS, KEPT_BYTES = 4, 4 * 1024 * 1024
"""The most files to keep for the next message that points at one, and the most bytes of each."""


class Assets:
    """The files of an archive that messages point at, by their ids."""

    def __init__(self, archive: Archive | None, limit_bytes: int) -> None:
        self._archive = archive
        self._limit_bytes = limit_bytes * 3 // 4 - 1024  # base64 makes four bytes of three
        self._by_id: dict[str, str] = {}
        self._kept: dict[str, Block] = {}
        for member in archive.members if archive is not None else ():
            found = _ASSET.match(PurePosixPath(member).name)
            if found is not None:
                self._by_id.setdefault(found[0], member)

    def document(self, id: str, name: str | None = None) -> Block | None:
        """Return a file as a document block, None if it is not in the archive or too large. Raises: InvalidImport."""
        member = self._by_id.get(id)
        if self._archive is None or member is None:
            return None
        called = name or PurePosixPath(member).name
        block = self._kept.get(f"{id} {called}")
        if block is not None:
            return dict(block)
        data = self._archive.read(member, self._limit_bytes)
        if data is None:
            return None
        block = {**make.document(make.base64(guess_media_type(data, called), data), called), "asset": id}
        if len(data) <= KEPT_BYTES:
            # Messages of one conversation point at one file again and again. Few are kept, so memory is bounded.
            self._kept = dict([*self._kept.items(), (f"{id} {called}", block)][-KEPT_ASSETS:])
        return dict(block)


def read_content(content: Mapping[str, Any], assets: Assets) -> tuple[list[Block], bool]:
    """Return the blocks of a content, and whether they hold all that it says."""
    kind = str(content.get("content_type"))
    if kind in ("text", "multimodal_text"):
        return _parts(content.get("parts"), assets), True
    read, is_whole = _READERS.get(kind, (_any, False))
    return read(content), is_whole


def _parts(parts: Any, assets: Assets) -> list[Block]:
    listed = shapes.listed(parts)
    return [each for part in listed for each in (make.texts(part) if isinstance(part, str) else [_part(part, assets)])]


def _part(part: Any, assets: Assets) -> Block:
    """Convert a part that is not text: to the file if the archive has it, else keep the pointer."""
    pointer = shapes.record(part).get("asset_pointer")
    found = _ASSET.match(pointer.rpartition("//")[2]) if isinstance(pointer, str) else None
    document = assets.document(found[0]) if found is not None else None
    if document is not None:
        return document
    if isinstance(part, dict) and part.get("content_type") == "audio_transcription":
        return {**make.text(str(part.get("text") or "")), "opaque": {OPENAI: dict(part)}}
    return {"type": "provider", "provider": OPENAI, "data": part}


def _plain(content: Mapping[str, Any]) -> list[Block]:
    return make.texts(content.get("text"))


def _thoughts(content: Mapping[str, Any]) -> list[Block]:
    blocks = []
    for thought in shapes.listed(content.get("thoughts")):
        if isinstance(thought, dict):
            words = {key: value for key, value in thought.items() if key != "content"}
            blocks.append({**make.thinking(shapes.text(thought.get("content")), OPENAI), "opaque": {OPENAI: words}})
    return blocks


def _recap(content: Mapping[str, Any]) -> list[Block]:
    text = content.get("content")
    return [{**make.thinking(text, OPENAI), "kind": "recap"}] if isinstance(text, str) else []


def _browsed(content: Mapping[str, Any]) -> list[Block]:
    return make.texts(content.get("result")) or make.texts(content.get("summary"))


def _instructions(content: Mapping[str, Any]) -> list[Block]:
    return [*make.texts(content.get("user_profile")), *make.texts(content.get("user_instructions"))]


def _any(content: Mapping[str, Any]) -> list[Block]:
    """Convert an unknown kind: what looks like its text, else all of it."""
    texts = [each for part in shapes.listed(content.get("parts")) for each in make.texts(part)]
    return texts or _plain(content) or [make.own(OPENAI, content)]


_READERS: dict[str, tuple[Callable[[Mapping[str, Any]], list[Block]], bool]] = {
    "code": (_plain, True),
    "execution_output": (_plain, True),
    "thoughts": (_thoughts, True),
    "reasoning_recap": (_recap, True),
    "tether_quote": (_plain, False),
    "tether_browsing_display": (_browsed, False),
    "sonic_webpage": (_plain, False),
    "system_error": (_plain, False),
    "user_editable_context": (_instructions, True),
}
"""The reader of each kind, and whether its blocks hold all that the content says."""
