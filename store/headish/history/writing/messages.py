"""Make drafts of the messages of ``record``, which are in the form of an API or headish's own.

A client sends its whole list again with every message. So this process remembers the drafts of entries that it has
read, by a hash of the entries, and reads only new ones.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from blake3 import blake3

from headish.content.drafts import Draft, make_draft, make_plain_draft, make_read_draft
from headish.errors import InvalidArgument, InvalidRole
from headish.history.reading.verified import Recent
from headish.values.messages import NO_ATTRIBUTES, Message

if TYPE_CHECKING:
    from headish.content.forms.reading import Read

_OPTIONS = ("role", "cache", "attributes", "meta", "said_at", "key")
_KEYS = frozenset(("content", *_OPTIONS))
_PLAIN_KEYS = {"role", "content"}
_READ_ANEW = frozenset(("cache", "attributes", "meta", "said_at", "key", "message"))
"""Keys that only headish's own entries have. Such an entry is read each time, because the result may change: a time may
be too far ahead now, but not tomorrow."""
_SPELLING = 2
"""The last version of ``marshal`` without references to repeated objects: it writes equal values alike."""

KNOWN: Recent[bytes, Draft] = Recent(half_bytes=8 * 1024 * 1024)
"""Drafts by the hash of the entries that they were made from."""


class _Reading(NamedTuple):
    """Reads the entries of one call into drafts."""

    limit_bytes: int
    author: str | None

    def draft(self, way: str, run: list[Any], read: Callable[[list[Any]], Read | Any]) -> Draft:
        """The draft of the entries of one turn, remembered or made by ``read``. ``way`` names how ``read`` reads,
        because the same entries may be read in several forms."""
        key = self._key(way, run)
        remembered = None if key is None else KNOWN.get(key)
        if remembered is not None:
            return remembered
        draft = self._made(read(run))
        if key is not None:
            KNOWN.put_all({key: draft}, draft.size_bytes)
        return draft

    def _key(self, way: str, run: list[Any]) -> bytes | None:
        """A key that only equal entries have, with equal types: bytes differ from text, and 1 from 1.0. None if they
        have options of headish's own, or values that are not plain."""
        if any(type(entry) is dict and not _READ_ANEW.isdisjoint(entry) for entry in run):
            return None
        try:
            return blake3(marshal.dumps((way, self.limit_bytes, self.author, run), _SPELLING)).digest()
        except ValueError:
            return None

    def _made(self, read: Read | Any) -> Draft:
        from headish.content.forms.reading import Read  # late: most lists are plain

        if isinstance(read, Read):
            return make_read_draft(read, read.options, self.limit_bytes, self.author)
        return _message_draft(read, self.limit_bytes, self.author)


def message_drafts(
    messages: Iterable[Any] | Mapping[str, Any], form: str | None, limit_bytes: int, author: str | None
) -> list[Draft]:
    """Make the drafts of a list, or of a request body that contains it.

    Raises: InvalidContent (TooDeep, TooLarge), InvalidArgument, InvalidRole, UnknownFormat.
    """
    listed = messages if isinstance(messages, Mapping) else list(messages)
    # Plain texts need no form, and finding one would read every entry.
    if form is None and isinstance(listed, list) and all(map(_is_plain_text, listed)):
        return [_message_draft(message, limit_bytes, author) for message in listed]
    from headish.content.forms.reading import read_through  # late: most lists are plain

    return read_through(listed, form, _Reading(limit_bytes, author).draft)


def _is_plain_text(message: Any) -> bool:
    """Whether a message is just a role and text, which every form writes the same way."""
    return type(message) is dict and message.keys() == _PLAIN_KEYS and type(message["content"]) is str


def _message_draft(message: Message | Mapping[str, Any], limit_bytes: int, author: str | None) -> Draft:
    if author is None and type(message) is dict and message.keys() == _PLAIN_KEYS:
        return make_plain_draft(message["content"], message["role"], limit_bytes)
    if isinstance(message, Message):
        if message.role is None:
            raise InvalidRole(None)
        options: dict[str, Any] = {"role": message.role}
        if message.cache or message.attributes is not NO_ATTRIBUTES:
            options |= {"cache": message.cache, "attributes": message.attributes}
        return make_draft(message.content, options, limit_bytes, author)
    if not isinstance(message, Mapping) or "content" not in message or not message.keys() <= _KEYS:
        raise InvalidArgument(f"a message is a mapping of content and, where needed, {', '.join(_OPTIONS)}")
    options = {key: value for key, value in message.items() if key != "content"}
    return make_draft(message["content"], options, limit_bytes, author)
