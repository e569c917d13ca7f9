"""The messages of a request's body, each kept as bytes until it must be read.

A client sends its whole list with every request. headish knows nearly all of it by the hash of its bytes, so a message
is decoded, checked and encoded only if that hash is new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from blake3 import blake3
from msgspec import Raw

from headish.content import strictjson
from headish.content.drafts import Draft, make_read_draft
from headish.content.forms.layout import Difference, Patch, find_difference
from headish.content.forms.parts import Form
from headish.content.forms.reading import WRAPPED, Read, asked_cache, read_list
from headish.content.forms.responses import group, role_of
from headish.content.hashes import digest_turn
from headish.content.resending.answers import essence_of
from headish.content.secrecy.hiding import hide_shapes
from headish.values.forking import cached_property

MARKS = frozenset(("cache_control",))
"""Keys of a message or of its parts that a client moves to later messages with every request."""
_PLACEHOLDER = ("thoughtSignature", "skip_thought_signature_validator")
"""What Gemini CLI writes in the requests of one loop of calls, and later leaves out, where no signature came."""
HASH_BYTES = 16


def short_hash(data: bytes) -> bytes:
    """A hash that is long enough to tell the messages of one thread apart."""
    return blake3(data).digest(length=HASH_BYTES)


def said_hash(draft: Draft) -> bytes:
    """The short hash of what a draft says, whatever it continues."""
    return digest_turn(draft.said, ())[:HASH_BYTES]


def natives_hash(natives: list[Any]) -> bytes:
    """The short hash of entries, whatever the order of their keys."""
    return short_hash(msgspec.json.encode(natives, order="deterministic"))


class SentEntry:
    """The entries of one turn: a message, the items of an answer, or the instructions beside the list."""

    def __init__(
        self,
        form: Form,
        raws: Sequence[bytes],
        *,
        is_instruction: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._form, self._raws, self._options = form, raws, options or {}
        self.is_instruction = is_instruction
        # JSON holds no NUL, so no two lists of items are joined to the same bytes.
        joined = raws[0] if len(raws) == 1 else b"\0".join(raws)
        self.size_bytes = len(joined)
        # Made at once, since each message of each request needs it: a cached property would cost as much again.
        self.hash = short_hash(joined)
        """The hash of the bytes."""

    @classmethod
    def joined(cls, entries: Sequence[SentEntry]) -> SentEntry:
        """One entry of entries in a row: the chunks of an answer."""
        first = entries[0]
        return cls(first._form, [raw for each in entries for raw in each._raws], options=first._options)

    def split(self, raw: bytes | None, bare: bytes | None) -> tuple[SentEntry, SentEntry] | None:
        """Two entries, if the first items have the ``hash`` ``raw`` or the ``bare_hash`` ``bare``. Cost: one pass."""
        of_bytes, of_bare = blake3(), blake3(b"[")
        for at in range(1, len(self._raws)):
            of_bytes.update(self._raws[at - 1])
            of_bare.update(msgspec.json.encode(self.bare[at - 1], order="deterministic"))
            whole = of_bare.copy()
            whole.update(b"]")
            if of_bytes.digest(length=HASH_BYTES) == raw or whole.digest(length=HASH_BYTES) == bare:
                first, rest = (
                    SentEntry(self._form, each, options=self._options) for each in (self._raws[:at], self._raws[at:])
                )
                return first, rest
            of_bytes.update(b"\0")
            of_bare.update(b",")
        return None

    def holds(self, part: bytes) -> bool:
        """Whether ``part`` occurs in the bytes."""
        return any(part in raw for raw in self._raws)

    @cached_property
    def natives(self) -> list[Any]:
        """What the client sent, with whatever looks like a key hidden. Raises: InvalidContent."""
        return [hide_shapes(strictjson.decode(raw, "a message")) for raw in self._raws]

    @cached_property
    def bare(self) -> list[Any]:
        """``natives`` as it is stored: without marks."""
        return [without_marks(each) for each in self.natives]

    @cached_property
    def bare_hash(self) -> bytes:
        """The hash of what is stored, whatever the order of its keys."""
        return natives_hash(self.bare)

    @cached_property
    def read(self) -> Read:
        """The turn that the entries say. Raises: InvalidContent."""
        if self.is_instruction:
            assert self._form.system_name is not None
            [read] = read_list({self._form.system_name: self.bare[0], self._form.list_name: []}, self._form.name)
        else:
            [read] = read_list([{WRAPPED: self.bare}], self._form.name)
        assert isinstance(read, Read)
        return read._replace(cache=asked_cache(self.natives))

    def draft(self, limit_bytes: int) -> Draft:
        """The draft of the turn. Raises: InvalidContent, TooLarge."""
        if self._draft is None:
            self._draft = make_read_draft(self.read, self._options, limit_bytes)
        return self._draft

    _draft: Draft | None = None

    @cached_property
    def essence(self) -> bytes | None:
        """The hash that an answer is recognised by; None for a message that is not an answer."""
        return essence_of(self.read.blocks) if self.read.role == "assistant" else None

    def differs_from(self, stored: Any) -> Difference:
        """What turns ``stored`` into what was sent. Its layout holds no words."""
        native = self.natives[0] if self.is_instruction else self.natives
        return find_difference(stored, native, self._form.transport | MARKS | {_PLACEHOLDER[0]})

    @property
    def marks(self) -> Patch | None:
        """The layout that turns ``bare`` into what was sent: the marks. None if there are none."""
        return self.differs_from(self.bare[0] if self.is_instruction else self.bare).layout


def without_marks(entry: Any) -> Any:
    """A message, or the parts of a system prompt, without the marks of caches and placeholders of signatures.
    Arguments of calls are left as they are: a key of that name in them is not a mark."""
    if isinstance(entry, list):
        return [_without(part) for part in entry]
    if not isinstance(entry, Mapping):
        return entry
    bare = _without(entry)
    listed = next((name for name in ("content", "parts") if isinstance(bare.get(name), list)), None)
    return bare if listed is None else {**bare, listed: without_marks(bare[listed])}


def _without(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    bare = {key: value for key, value in part.items() if key not in MARKS and (key, value) != _PLACEHOLDER}
    if isinstance(bare.get("content"), list):  # what a result holds
        bare["content"] = [_without(each) for each in bare["content"]]
    return bare


class _Head(msgspec.Struct):
    """The keys that decide the role of an item."""

    type: Any = None
    role: Any = None
    id: Any = None


_read_head = msgspec.json.Decoder(_Head).decode


def split_items(form: Form, items: Sequence[Raw]) -> list[list[bytes]]:
    """The bytes of the items of a list, grouped by turn: in Responses, an answer may be several items.

    Raises: msgspec.MsgspecError, InvalidContent for an item that is not an object.
    """
    raws = [bytes(each) for each in items]
    if form.list_name != "input":
        return [[raw] for raw in raws]
    heads = [_read_head(raw) for raw in raws]
    numbered = [{"at": at, **_told(head)} for at, head in enumerate(heads)]
    return [[raws[each["at"]] for each in run] for run in group(numbered)]


def role_of_raw(form: Form, raw: bytes) -> Any:
    """The role of an entry, without reading the rest of it. Raises: msgspec.MsgspecError, InvalidContent."""
    head = _read_head(raw)
    if form.list_name != "input":
        return head.role
    return role_of(_told(head))


def _told(head: _Head) -> dict[str, Any]:
    return {name: value for name in ("type", "role", "id") if (value := getattr(head, name)) is not None}
