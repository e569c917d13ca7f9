"""Content to blocks, blocks to payload bytes, and back.

The payload encoding (rule R9, one encoding): a JSON array of blocks, ``type`` first, then the known keys in declared
order, defaults left out, then unknown keys as they came. So a string and one text block are the same payload, and equal
content has one hash. ``decode_payload(encode_payload(blocks)) == blocks``, always.

Two readers give one result: a typed decoder for known blocks, and a careful one for the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, cast

import msgspec

from headish.content import strictjson
from headish.errors import InvalidContent
from headish.values.blocks import (
    KINDS,
    SOURCES,
    Base64Source,
    Block,
    ContentBlock,
    Document,
    Erased,
    KnownBlock,
    MediaSource,
    Other,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from headish.values.blocks import to_mapping as to_mapping

Content = str | ContentBlock | Mapping[str, Any] | Iterable[str | ContentBlock | Mapping[str, Any]]
"""What ``add_turn`` takes: a string, or a list of strings and blocks."""

WHAT = "content"
BASE64 = Base64Source.__struct_config__.tag
_IN_BLOCKS = frozenset((str, bool, type(None), dict, list))
_ONLY_STR = frozenset((str,))
_NUMBER = int.from_bytes(os.urandom(7), "big")
_BETWEEN = b",%d," % _NUMBER
"""The separator of payloads that are decoded together. It is random, so that nobody can put it into one."""
_encode = msgspec.json.Encoder().encode
_SPELLINGS: dict[str, dict[str, str]] = {"thinking": {"thinking": "text"}, "tool_use": {"invalid_json": "raw"}}
"""Older spellings that are read and never written (rule R8, block kinds)."""


# Made at first use: a process that only writes reads no payload, and making a decoder takes a thirtieth of its time.
@cache
def _decode_known() -> Callable[[bytes], tuple[KnownBlock, ...]]:
    return msgspec.json.Decoder(tuple[KnownBlock, ...]).decode


@cache
def _decode_all_known() -> Callable[[bytes], list[tuple[KnownBlock, ...] | int]]:
    return msgspec.json.Decoder(list[tuple[KnownBlock, ...] | int]).decode


def read_content(content: Content) -> tuple[ContentBlock, ...]:
    """The blocks of any content that ``add_turn`` takes.

    Raises: InvalidContent with the path of the bad value; TooDeep.
    """
    if isinstance(content, str):
        strictjson.check(content, WHAT)
        return (Text(content),)
    if isinstance(content, Mapping | Block | Other | Erased):
        return (read_block(content, "$"),)
    if isinstance(content, bytes) or not isinstance(content, Iterable):
        raise InvalidContent(WHAT, f"it must be a string or a list of blocks, not {type(content).__name__}")
    return tuple(read_block(item, f"$[{index}]") for index, item in enumerate(content))


def read_block(value: object, path: str = "$") -> ContentBlock:
    """One block from a string, a mapping or a struct, every value checked.

    Raises: InvalidContent with the path; TooDeep.
    """
    if isinstance(value, str):
        strictjson.check(value, WHAT, path)
        return Text(value)
    if isinstance(value, Block | Other):
        _check_struct(value, path)
        value = to_mapping(value)  # a struct checks nothing when it is made, so it goes the way of a mapping
    if isinstance(value, Erased):
        raise InvalidContent(WHAT, "an erased message has nothing to store", path)
    if not isinstance(value, Mapping):
        raise InvalidContent(WHAT, f"a block must be an object, not {type(value).__name__}", path)
    strictjson.check(value, WHAT, path)
    return read_checked(strictjson.plain(value), path)


_HELD: dict[str, tuple[Any, str]] = {
    "extra": (Mapping | None, "an object"),
    "of Other": (Mapping, "an object"),
    "content": (Iterable, "a list of blocks"),
}
"""What ``to_mapping`` takes apart: the kind of a field of a block, or of ``Other``."""


def _check_struct(struct: msgspec.Struct, path: str) -> None:
    """Check what stands in a struct: ``to_mapping`` would make a list of a set, and a text of bytes or a Decimal."""
    for name in struct.__struct_fields__:
        held = getattr(struct, name)
        wanted = _HELD.get("of Other" if isinstance(struct, Other) and name == "data" else name)
        if wanted is not None and not isinstance(held, wanted[0]):
            raise InvalidContent(WHAT, f"it must be {wanted[1]}, not {type(held).__name__}", f"{path}.{name}")
        for each in held if isinstance(held, tuple) else (held,):
            if isinstance(each, msgspec.Struct):
                _check_struct(each, f"{path}.{name}")
            elif each is not msgspec.UNSET:
                strictjson.check(each, WHAT, f"{path}.{name}")


def read_checked(value: dict[str, Any], path: str = "$") -> ContentBlock:
    """As ``read_block``, for a mapping that is known to be JSON in dicts and lists. Raises: InvalidContent."""
    block = _read_known(value)
    return _read_mapping(value, path) if block is None else block


def read_call(name: str, id: str | None, arguments: str) -> ToolUse:
    """Make a call from arguments that are a text (rule R8, block kinds). ``name`` and ``id`` must be free of lone
    surrogates."""
    return ToolUse(name=name, id=id, **_read_arguments(arguments))


def encode_payload(blocks: tuple[ContentBlock, ...]) -> bytes:
    """The payload bytes of checked blocks."""
    # The typed encoder would write ``extra`` as a key of its own instead of the unknown keys in it.
    if all(_is_plain(block) for block in blocks):
        return _encode(blocks)
    return _encode([to_mapping(block) for block in blocks])


def encode_json(text: object) -> bytes:
    """The payload bytes of content that is given as JSON text: every number keeps its own digits.

    Raises: as ``read_content``; InvalidContent for a number that no reader can hold, except inside the arguments of a
    call, which are then kept as ``raw``.
    """
    from headish.content.numbers import NumberTexts  # late: little content is given as JSON text

    if not isinstance(text, str | bytes):
        raise InvalidContent(WHAT, "with json=True it must be JSON text")
    numbers = NumberTexts()
    content = strictjson.decode(text, WHAT, number=numbers.read)
    # Without a number that would change, the text need not be put together a second time.
    if not numbers.texts:
        return encode_payload(read_content(content))
    payload = numbers.readable(encode_payload(read_content(numbers.spell_arguments(content))), WHAT)
    # Until now a marked number was a text, and passed where a text belongs; as a number it must not.
    decode_payload(payload)
    return payload


def encode_text(text: str) -> bytes:
    """The payload of one text block, for the hot path: the same bytes as ``encode_payload``.

    Raises: InvalidContent for a lone surrogate.
    """
    if not text.isascii():
        strictjson.check_text(text, WHAT)
    return b'[{"type":"text","text":' + _encode(text) + b"}]"


def encode_whole_text(text: str) -> bytes:
    """As ``encode_text``, for a text that is known to hold no lone surrogate."""
    return b'[{"type":"text","text":' + _encode(text) + b"}]"


def encode_plain(blocks: tuple[KnownBlock, ...]) -> bytes:
    """As ``encode_payload``, for blocks of known kinds without unknown keys."""
    return _encode(blocks)


def encode_read(blocks: tuple[ContentBlock, ...], *, is_sound: bool = False) -> bytes | None:
    """As ``encode_payload``, for blocks that a reader made: if the typed decoder gives them back equal, they need no
    other check. None if it does not, or if they are of kinds that ``read_content`` brings into one form.

    ``is_sound``: a form's reader made them from sound values (``strictjson.is_sound``), so they do come back equal.
    """
    if not all(map(_is_simple, blocks)):
        return None
    try:
        payload = _encode(blocks)
        return payload if is_sound or _decode_known()(payload) == blocks else None
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None


def encode_known(content: object) -> bytes | None:
    """As ``encode_payload(read_content(content))``, for a list of mappings of those kinds, at a third of the cost.
    None for other content, which those two check with care."""
    if type(content) is not list or not all(map(_is_builtin, content)):
        return None
    try:
        # Convert each to its own class: for a union, msgspec makes its plan anew each time.
        return encode_read(tuple([msgspec.convert(each, KINDS[each["type"]]) for each in content]))
    except (msgspec.ValidationError, LookupError, TypeError, UnicodeEncodeError):
        return None


def _is_builtin(item: Any, *, may_hold: bool = True) -> bool:
    """Whether a block is a ``dict`` of Python's own types. An ``Enum`` is not JSON, but msgspec would take its value.

    Blocks may hold others one level deep (``may_hold``); the careful reader takes what is nested deeper.
    """
    if type(item) is not dict or not _IN_BLOCKS.issuperset(map(type, item.values())):
        return False
    inner = item.get("content")
    if inner is None:
        return True
    return may_hold and type(inner) is list and all(_is_builtin(each, may_hold=False) for each in inner)


def _is_simple(block: ContentBlock) -> bool:
    """Whether a block is of a kind that has one form, with nothing nested in it."""
    if type(block) is Text or type(block) is Thinking:
        return not block.extra and not block.opaque
    if type(block) is ToolUse:
        return block.raw is None and _is_flat(block.input) and not block.extra and not block.opaque
    if type(block) is ToolResult:
        return not block.extra and not block.opaque and all(type(each) is Text for each in block.content)
    return False


def _is_flat(value: Any) -> bool:
    return (
        type(value) is dict
        and _ONLY_STR.issuperset(map(type, value))
        and strictjson.SCALARS.issuperset(map(type, value.values()))
    )


_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode_payload(payload: bytes) -> tuple[ContentBlock, ...]:
    """The blocks of stored payload bytes.

    Raises: InvalidContent if the bytes are not a payload; the caller names the turn.
    """
    try:
        return _decode_known()(payload)
    except msgspec.ValidationError:
        pass  # a kind or key that the typed decoder does not know
    except _UNREADABLE as error:
        raise InvalidContent("a payload", f"it does not decode ({error})") from None
    try:
        values = msgspec.json.decode(payload)
    except _UNREADABLE as error:  # damage after the first thing that the typed decoder does not know
        raise InvalidContent("a payload", f"it does not decode ({error})") from None
    if not isinstance(values, list):
        raise InvalidContent("a payload", "it is not a list of blocks")
    return tuple(_read_mapping(value, f"$[{index}]") for index, value in enumerate(values))


DECODED_TOGETHER = 64
"""How many turns are decoded at once: few enough that one odd turn does not make many others slow."""


def decode_payloads(payloads: Sequence[bytes]) -> list[tuple[ContentBlock, ...]] | None:
    """The blocks of many payloads in one go, which takes a third of the time. None if one of them is not plain:
    then each is decoded by itself, so that a damaged one is named."""
    try:
        decoded = _decode_all_known()(b"[%b]" % _BETWEEN.join(payloads))
    except _UNREADABLE:
        return None
    # No payload can hold the random number. If it is at each second place, each payload is one value: none is damaged
    # in a way that runs into the next.
    between = max(len(payloads) - 1, 0)
    if len(decoded) != len(payloads) + between or decoded[1::2].count(_NUMBER) != between:
        return None
    blocks = decoded[::2]
    # The decoder takes numbers, for the separators: a damaged payload may be one, too.
    return None if int in map(type, blocks) else cast("list[tuple[ContentBlock, ...]]", blocks)


def _is_plain(block: ContentBlock) -> bool:
    if isinstance(block, Other | Erased) or block.extra:
        return False
    if isinstance(block, ToolResult):
        return all(_is_plain(item) for item in block.content)
    source = getattr(block, "source", None)
    return not (isinstance(source, MediaSource) and source.extra)


def _read_mapping(value: Any, path: str) -> ContentBlock:
    if not isinstance(value, Mapping):
        raise InvalidContent(WHAT, f"a block must be an object, not {type(value).__name__}", path)
    kind = value.get("type")
    if not isinstance(kind, str):
        raise InvalidContent(WHAT, "a block needs a `type` that is a string", path)
    known = KINDS.get(kind)
    # An unknown kind is kept whole and not refused: a newer block of a provider must come back as it was given.
    if known is None or (kind == "document" and not _is_source(value.get("source"))):
        return Other(kind, dict(value))
    spelled = _SPELLINGS.get(kind, {})
    mapping: dict[str, Any] = {str(spelled.get(key, key)): item for key, item in value.items() if key != "type"}
    if kind == "tool_use":
        mapping = _with_arguments(mapping, path)
    return _build(known, mapping, path)


def _read_known(value: dict[str, Any]) -> KnownBlock | None:
    """Read a block with the typed reader, in a third of the time. None if the careful reader has to look at it.

    The careful one decides about calls with ``raw``, results that hold anything but text blocks, and all other kinds.
    """
    kind = value.get("type")
    is_whole = kind in ("text", "thinking") or (kind == "tool_use" and "input" in value and "raw" not in value)
    if not is_whole and not (kind == "tool_result" and _are_texts(value.get("content", ()))):
        return None
    try:
        return msgspec.convert(value, KINDS[str(kind)])
    except msgspec.ValidationError:
        return None


def _are_texts(content: Any) -> bool:
    return isinstance(content, list | tuple) and all(
        isinstance(each, Mapping) and each.get("type") == "text" for each in content
    )


def _with_arguments(mapping: dict[str, Any], path: str) -> dict[str, Any]:
    """The arguments of a call: ``raw`` is the exact text, kept only if ``input`` would not give it back (rule R8, block
    kinds)."""
    raw = mapping.get("raw")
    if raw is None and "input" not in mapping:
        raise InvalidContent(WHAT, "a tool_use block needs its `input`", path)
    if not isinstance(raw, str):
        return mapping
    return {key: item for key, item in mapping.items() if key not in ("raw", "input")} | _read_arguments(raw)


def _read_arguments(raw: str) -> dict[str, Any]:
    """``input`` and ``raw`` of a call whose arguments are a text, as they are stored."""
    try:
        value = strictjson.decode(raw, WHAT)
    except InvalidContent:
        return {"raw": raw}
    # Nearly always they agree: storing the text beside its value would double the payload.
    return {"input": value} if strictjson.encode(value) == raw.encode() else {"input": value, "raw": raw}


def _build(known: type[KnownBlock], mapping: dict[str, Any], path: str) -> KnownBlock:
    fields = [name for name in known.__struct_fields__ if name != "extra"]
    values = {name: mapping[name] for name in fields if name in mapping}
    extra = {key: item for key, item in mapping.items() if key not in values}
    nested: dict[str, Any] = {"extra": extra}  # put in last: msgspec drops the keys that it does not know
    if known is ToolResult:
        nested["content"] = _read_inner(values.pop("content", ()), f"{path}.content")
    source_extra: dict[str, Any] = {}
    if known is Document and isinstance(values.get("source"), Mapping):
        values["source"], source_extra = _split_source(values["source"])
    block = _convert(values, known, path)
    if source_extra and isinstance(block, Document):
        nested["source"] = msgspec.structs.replace(block.source, extra=source_extra)
    return msgspec.structs.replace(block, **nested)


def _split_source(source: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    kind = source.get("type", BASE64)
    known = {"type", *SOURCES[kind].__struct_fields__} - {"extra"}
    return (
        {"type": kind} | {key: item for key, item in source.items() if key in known},
        {key: item for key, item in source.items() if key not in known},
    )


def _read_inner(content: Any, path: str) -> tuple[ContentBlock, ...]:
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list | tuple):
        raise InvalidContent(WHAT, "the content of a tool_result must be a string or a list of blocks", path)
    return tuple(
        Text(item) if isinstance(item, str) else _read_mapping(item, f"{path}[{index}]")
        for index, item in enumerate(content)
    )


def _convert(given: dict[str, Any], known: type[KnownBlock], path: str) -> KnownBlock:
    # msgspec finds the struct by its tag, which was taken out of the mapping with the unknown keys.
    tagged = {**given, "type": known.__struct_config__.tag}
    try:
        return msgspec.convert(tagged, known)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        raise InvalidContent(WHAT, reason, path + where.rstrip("`")) from None


def _is_source(source: object) -> bool:
    """Whether a document's source is of a known kind. Base64 without its data is an error; any other malformed source
    is kept unchanged.
    """
    if not isinstance(source, Mapping):
        return False
    kind = source.get("type", BASE64)
    if kind == BASE64:
        return True
    known = SOURCES.get(kind) if isinstance(kind, str) else None
    if known is None:
        return False
    fields = [name for name in known.__struct_fields__ if name != "extra"]
    return isinstance(source.get(fields[0]), str) and all(
        isinstance(source[name], str) for name in fields if name in source
    )
