"""Convert a message of ChatGPT's export to content blocks, by its ``content_type``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from headish.content import strictjson
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
        self._limit_bytes = limit_bytes - 1024
        self._room_bytes = 0
        self._by_id: dict[str, str] = {}
        self._kept: dict[str, Block] = {}
        for member in archive.members if archive is not None else ():
            found = _ASSET.match(PurePosixPath(member).name)
            if found is not None:
                self._by_id.setdefault(found[0], member)

    def begin(self, message: Mapping[str, Any]) -> None:
        """Give the files of a message the room that its words leave: too many of them would cost it the words, too."""
        if self._by_id:
            self._room_bytes = self._limit_bytes - len(strictjson.encode(message.get("content")))

    def document(self, id: str, name: str | None = None) -> Block | None:
        """Return a file as a document block, None if it is not in the archive, or too large for the message.

        Raises: InvalidImport.
        """
        member = self._by_id.get(id)
        if self._archive is None or member is None:
            return None
        called = name or PurePosixPath(member).name
        block = self._kept.get(f"{id} {called}") or self._unpacked(member, id, called)
        if block is None or len(block["source"]["data"]) > self._room_bytes:
            return None
        self._room_bytes -= len(block["source"]["data"])
        return dict(block)

    def _unpacked(self, member: str, id: str, called: str) -> Block | None:
        assert self._archive is not None
        data = self._archive.read(member, max(0, self._room_bytes) * 3 // 4)  # base64 makes four bytes of three
        if data is None:
            return None
        block = {**make.document(make.base64(guess_media_type(data, called), data), called), "asset": id}
        if len(data) <= KEPT_BYTES:
            # Messages of one conversation point at one file again and again. Few are kept, so memory is bounded.
            self._kept = dict([*self._kept.items(), (f"{id} {called}", block)][-KEPT_ASSETS:])
        return block


def read_content(content: Mapping[str, Any], assets: Assets) -> tuple[list[Block], Mapping[str, Any]]:
    """Return the blocks of a content, and what they do not say of it; that is the whole content for some kinds."""
    kind = str(content.get("content_type"))
    if kind in ("text", "multimodal_text"):
        blocks, pointers = _parts(content.get("parts"), assets)
        rest: Mapping[str, Any] = {"parts": pointers} if pointers else {}
    else:
        read, is_whole = _READERS.get(kind, (_any, False))
        blocks, rest = read(content), {} if is_whole else content
    # A kind that is known in another shape: its words must not pass for an empty message.
    if not blocks and _says_more(content):
        return _any(content), content
    return blocks, rest


def _says_more(content: Mapping[str, Any]) -> bool:
    """Whether there is anything in a content but empty texts, lists and objects."""
    waiting: list[Any] = [value for key, value in content.items() if key not in _BESIDE]
    while waiting:  # a stack of our own: a file nests as deep as it likes
        value = waiting.pop()
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
        if inner is None and value:
            return True
        waiting += inner or ()
    return False


def _parts(parts: Any, assets: Assets) -> tuple[list[Block], list[Any]]:
    """Return the blocks of the parts, and the pointers whose files stand in their place."""
    blocks: list[Block] = []
    pointers: list[Any] = []
    for part in shapes.listed(parts):
        found = _pointed_at(part, assets)
        blocks += found or (make.texts(part) if isinstance(part, str) else [_part(part)])
        pointers += [part] if found else []
    return blocks, pointers


def _pointed_at(part: Any, assets: Assets) -> list[Block]:
    """Return the files that a part points at; none if the archive lacks one of them, and the pointer must stay."""
    documents = [assets.document(id) for id in _asset_ids(part)]
    found = [each for each in documents if each is not None]
    return found if len(found) == len(documents) else []


def _asset_ids(part: Any) -> list[str]:
    """Return the ids of the files of a part. A picture has one; what was said aloud has recordings, and perhaps
    pictures of a camera, each with a pointer of its own inside."""
    fields = shapes.record(part)
    inner = (fields.get(key) for key in ("audio_asset_pointer", "video_container_asset_pointer"))
    pointed = [fields, *map(shapes.record, (*inner, *shapes.listed(fields.get("frames_asset_pointers"))))]
    pointers = (each.get("asset_pointer") for each in pointed)
    found = [_ASSET.match(each.rpartition("//")[2]) for each in pointers if isinstance(each, str)]
    return [each[0] for each in found if each is not None]


def _part(part: Any) -> Block:
    """Convert a part that is neither text nor a file: what was heard to its words, all else to a block of its own."""
    if isinstance(part, dict) and part.get("content_type") in ("audio_transcription", "text"):
        return {**make.text(str(part.get("text") or "")), "opaque": {OPENAI: dict(part)}}
    return {"type": "provider", "provider": OPENAI, "data": part}


def _plain(content: Mapping[str, Any]) -> list[Block]:
    return make.texts(content.get("text"))


def _thoughts(content: Mapping[str, Any]) -> list[Block]:
    blocks = []
    for thought in shapes.listed(content.get("thoughts")):
        if isinstance(thought, dict) and _says_more(thought):
            rest = {key: value for key, value in thought.items() if key != "content"}
            # Some thoughts have a summary alone.
            words = shapes.text(thought.get("content")) or shapes.text(thought.get("summary"))
            blocks.append({**make.thinking(words, OPENAI), "opaque": {OPENAI: rest}})
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


_BESIDE = frozenset(("content_type", "language", "response_format_name", "source_analysis_msg_id"))
"""The keys of contents that hold no words."""
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
