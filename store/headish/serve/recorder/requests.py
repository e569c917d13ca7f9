"""Take a request's body apart: its messages, and the envelope around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec import Raw

from headish.content.forms.parts import Form
from headish.content.resending.entries import SentEntry, natives_hash, role_of_raw, split_items
from headish.content.secrecy.hiding import hide_secrets
from headish.errors import InvalidContent
from headish.history.writing.lanes.lane import SYSTEM
from headish.rows.objects import Put
from headish.serve.recorder.clients import VOLATILE
from headish.serve.recorder.surfaces import Surface
from headish.values.results.calls import ENVELOPE
from headish.values.shapes import heal_json

PART_BYTES = 256
"""A value of an envelope of at least this size becomes an object of its own, so that it is stored once however often
the other values change."""
_SYSTEM_NAMES = {"systemInstruction": ("systemInstruction", "system_instruction")}
KEPT = frozenset(("previous_response_id", "conversation"))
"""The keys of a request whose earlier messages the provider keeps (Responses)."""
_read_body = msgspec.json.Decoder(dict[str, Raw])


class Envelope(NamedTuple):
    """The objects that keep all of a request except its messages. ``key`` is the key of the object for the whole,
    ``tools`` the hash of its tools."""

    key: str
    tools: str | None
    tools_bytes: int
    puts: tuple[Put, ...]


class SentRequest(NamedTuple):
    """A body: its messages, of which the first ``lead`` are the system's; ``volatile``, the blocks of its system prompt
    that change each time, by position; and ``rest``, everything else. ``is_healed``: the client sent lone surrogates,
    which a turn cannot hold."""

    entries: tuple[SentEntry, ...]
    lead: int
    volatile: tuple[tuple[int, Any], ...]
    rest: dict[str, Any]
    raw_rest: dict[str, bytes]
    is_text: bool
    is_healed: bool

    @property
    def has_tools(self) -> bool:
        """Whether the request offers tools. For some models, Codex lists them in an item before the conversation: the
        first one (0.169), or one behind the instructions (0.171)."""
        before = self.entries[: self.lead + 1]
        return bool(self.rest.get("tools")) or any(each.holds(b'"additional_tools"') for each in before)


def read_request(surface: Surface, body: bytes, options: Mapping[str, Any], *, is_whole: bool = False) -> SentRequest:
    """Take a body apart. ``options`` are those of its turns. ``is_whole``: nothing was said before its messages, even
    though it names a response. Cost: reads the body once, and decodes everything except the messages.
    Raises: InvalidContent if the body does not fit the API.
    """
    form = surface.form
    body, is_healed = heal_json(body)
    try:
        values = _read_body.decode(body)
        raw_items = values.pop(form.list_name, None)
        items, is_text = _items(raw_items)
        runs = split_items(form, items)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidContent("a request", f"it is not a body of the API {surface.name} ({error})") from None
    system, volatile = _take_system(form, values, is_whole)
    entries = [SentEntry(form, run, options=options) for run in runs]
    lead = next((at for at, run in enumerate(runs) if role_of_raw(form, run[0]) not in SYSTEM), len(runs))
    if system is not None:
        entries.insert(0, SentEntry(form, [system], is_instruction=True, options=options))
        lead += 1
    rest = {name: msgspec.json.decode(raw) for name, raw in values.items()}
    raw_rest = {name: bytes(raw) for name, raw in values.items()}
    return SentRequest(tuple(entries), lead, volatile, rest, raw_rest, is_text, is_healed)


def _items(listed: Raw | None) -> tuple[list[Raw], bool]:
    """The messages of a body, and whether they were a text: it counts as a list of one message."""
    if listed is None:
        raise msgspec.ValidationError("it holds no list of messages")
    if bytes(listed).lstrip()[:1] == b'"':
        return [Raw(b'{"role":"user","content":' + bytes(listed) + b"}")], True
    return msgspec.json.decode(listed, type=list[Raw]), False


def _take_system(
    form: Form, values: dict[str, Raw], is_whole: bool
) -> tuple[bytes | None, tuple[tuple[int, Any], ...]]:
    """Take the instructions beside the list out of ``values``. Returns them without the blocks that change with each
    request, and those blocks by position."""
    # If the provider keeps the earlier messages, instructions apply to this request alone, not to the thread.
    if form.system_name is None or (values.keys() & KEPT and not is_whole):
        return None, ()
    name = next((each for each in _SYSTEM_NAMES.get(form.system_name, (form.system_name,)) if each in values), None)
    if name is None or name != form.system_name:  # another spelling stays in the envelope, as the client wrote it
        return None, ()
    instructions = msgspec.json.decode(values[name])
    if not instructions:
        return None, ()  # an empty one is kept with the envelope
    raw = bytes(values.pop(name))
    if not isinstance(instructions, list):
        return raw, ()
    volatile = tuple((at, part) for at, part in enumerate(instructions) if _is_volatile(part))
    if not volatile:
        return raw, ()
    kept = [part for part in instructions if not _is_volatile(part)]
    return (msgspec.json.encode(kept) if kept else None), volatile


def _is_volatile(part: Any) -> bool:
    text = part.get("text") if isinstance(part, Mapping) else None
    return isinstance(text, str) and text.startswith(VOLATILE)


class Envelopes:
    """Makes the objects of envelopes, and remembers those that it made last."""

    def __init__(self) -> None:
        self._parts: dict[bytes, Put] = {}

    def make(self, request: SentRequest) -> Envelope:
        """Make the objects of an envelope, without what looks like a key. Cost: a hash of each value; only values that
        were not seen lately are searched for keys.
        """
        inline: dict[str, Any] = {}
        parts: dict[str, str] = {}
        puts: list[Put] = []
        for name, raw in request.raw_rest.items():
            if len(raw) < PART_BYTES:
                inline[name] = hide_secrets(request.rest[name], name)
                continue
            put = self._part(name, raw, request.rest[name])
            parts[name] = put.key.decode()
            puts.append(put)
        envelope_put = _put({"body": inline, "parts": parts})
        tools = next((put for put in puts if put.key.decode() == parts.get("tools")), None)
        size = len(request.raw_rest.get("tools", b""))
        tools_key = (
            tools.key.decode() if tools else blake3(request.raw_rest.get("tools", b"")).hexdigest() if size else None
        )
        return Envelope(envelope_put.key.decode(), tools_key, size, (envelope_put, *puts))

    def _part(self, name: str, raw: bytes, value: Any) -> Put:
        digest = blake3(name.encode() + b"\0" + raw).digest()
        if digest not in self._parts:
            if len(self._parts) >= _PARTS_REMEMBERED:
                self._parts.clear()
            self._parts[digest] = _put(hide_secrets(value, name))
        return self._parts[digest]


_PARTS_REMEMBERED = 256


def _put(value: Any) -> Put:
    data = msgspec.json.encode(value, order="deterministic")  # some clients write their keys in another order each time
    return Put(ENVELOPE, blake3(data).hexdigest().encode(), data)


class Beginning(NamedTuple):
    """The first message that a person or program said. ``mark`` is a hash of it, which tells the conversations of a
    session apart, ``words`` are its first ones. ``shorter`` are the marks of the messages that it may have been before
    its client added texts to it, the longest first."""

    mark: str
    words: str
    shorter: tuple[str, ...] = ()


SHORTER_TRIED = 8


def beginning_of(entries: Sequence[SentEntry], preambles: tuple[str, ...]) -> Beginning:
    """The first message of a list. Texts that a client puts before it do not count, if anything else is left.

    A client whose first request got no answer adds the next question to the same message. Claude Code ends the text
    before it with a line break.
    """
    for entry in entries:
        if any(_is_set_up(native) for native in entry.bare):
            continue
        texts = [each for native in entry.bare for each in _words(native) if not each.startswith(preambles or ("\0",))]
        if texts:
            counts = range(min(len(texts) - 1, SHORTER_TRIED), 0, -1)
            shorter = tuple(_mark([*texts[: count - 1], texts[count - 1].removesuffix("\n")]) for count in counts)
            return Beginning(_mark(texts), texts[0], shorter)
    return Beginning(_mark(entries[0].bare), "") if entries else Beginning("empty", "")


def _mark(said: list[Any]) -> str:
    return natives_hash(said).hex()[:12]


def _is_set_up(native: Any) -> bool:
    """Whether an entry is an instruction or a list of tools, before the conversation."""
    return isinstance(native, Mapping) and (native.get("role") in SYSTEM or native.get("type") == "additional_tools")


def _words(native: Any) -> list[str]:
    """The texts of a message; its other parts as JSON."""
    if not isinstance(native, Mapping):
        return []
    parts = native.get("content", native.get("parts"))
    if isinstance(parts, str):
        return [parts]
    items = parts if isinstance(parts, list) else [native]
    return [
        part["text"]
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        else part
        if isinstance(part, str)
        else msgspec.json.encode(part, order="deterministic").decode()
        for part in items
    ]
