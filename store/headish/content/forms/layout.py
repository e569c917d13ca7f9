"""How an entry was written, where there are several ways to say the same: the difference between what a form writes of
blocks and what was given.

A difference has two halves. Its *layout* holds no words of the conversation: keys that are null or empty, a string that
was a list of one part, a key under its other name, and the transport keys of a form. It is kept outside the digest, and
outlives the payload. Whatever else differs is *said*, and is kept in the payload.

A difference is JSON. ``{"=": v}`` is another value, ``{"-": true}`` a key that is missing, ``{"k": {...}}`` and
``{"i": {...}}`` lead into an object and a list. ``{"c": key, "d"?}`` is the value of another key, ``{"p": type, "d"?}``
a text as a list of one part of that type; ``d`` is the difference from that. ``{"t": true}`` is a list of one part as
its text, ``{"u": true}`` base64 in the alphabet of addresses, ``{"j": spelling}`` a text that is JSON, spelled anew.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from headish.errors import InvalidContent

Patch = dict[str, Any]
_encode = msgspec.json.Encoder(order="deterministic").encode
_WORDLESS = frozenset("-utj")
"""Steps that hold nothing that was said."""
_URL_SAFE = str.maketrans("+/", "-_")
_SPELLINGS: dict[str, dict[str, Any]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "compact ascii": {"separators": (",", ":")},
    "spaced": {"ensure_ascii": False},
    "spaced ascii": {},
}
"""How programs write JSON, by the arguments of ``json.dumps``. JavaScript's is compact, Python's is spaced ascii."""
_UNDERSCORE = re.compile(r"_([a-z])")
TEXT_KEYS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""The types of parts that hold one text, each with the key of the text."""
WORDS_OF_FORMS = frozenset(
    ("assistant", "auto", "completed", "custom", "developer", "direct", "function", "in_progress", "incomplete",
     "input_text", "message", "model", "output_text", "refusal", "system", "text", "tool", "user")
)  # fmt: skip
"""Values that name a kind. They tell nothing about a conversation."""


class Difference(NamedTuple):
    """The two halves of a difference. Each is None if there is nothing in it."""

    layout: Patch | None
    said: Patch | None


def find_difference(written: Any, given: Any, transport: Collection[str]) -> Difference:
    """The difference from ``written`` to ``given``: ``apply(said, apply(layout, written)) == given``, always."""
    patch = _compare(written, given)
    if patch is None:
        return Difference(None, None)
    layout, said = _split(patch, transport)
    # Checked at once: if the halves do not restore the entry, the second half contains all of it.
    try:
        rebuilt = apply(said, apply(layout, written))
    except InvalidContent:
        rebuilt = None
    return Difference(layout, said) if is_same(rebuilt, given) else Difference(None, {"=": given})


def apply(patch: Mapping[str, Any] | None, value: Any) -> Any:
    """Apply one half of a difference to a value. Raises: InvalidContent if it does not fit."""
    if patch is None:
        return value
    try:
        return _apply(patch, value)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise misfit() from None


def misfit() -> InvalidContent:
    """The error for a way of writing that does not fit what it was kept with."""
    return InvalidContent("a message", "how it was written does not fit what it says")


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are one JSON value; true is not 1, and the order of keys says nothing."""
    if type(one) is type(other) and type(one) in (dict, list):
        try:
            if _encode(one) == _encode(other):  # nearly always, and without a Python step for each value in it
                return True
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
            pass
    return _is_same(one, other)


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return type(one) is type(other) and bool(one == other)


def is_nothing(value: Any) -> bool:
    """Whether a value says nothing: null, or empty."""
    return value is None or (not value and (value == "" or value == [] or value == {}))


def camel(key: str) -> str:
    """``inline_data`` as ``inlineData``."""
    return _UNDERSCORE.sub(lambda match: match[1].upper(), key) if "_" in key else key


def _compare(written: Any, given: Any) -> Patch | None:
    if is_same(written, given):
        return None
    if isinstance(written, Mapping) and isinstance(given, Mapping):
        return {"k": _compare_keys(written, given)}
    if isinstance(written, list) and isinstance(given, list) and len(written) == len(given):
        pairs = enumerate(zip(written, given, strict=True))
        return {"i": {str(at): sub for at, (one, other) in pairs if (sub := _compare(one, other)) is not None}}
    if isinstance(written, str) and isinstance(given, list) and len(given) == 1 and isinstance(given[0], Mapping):
        kind = given[0].get("type")
        if isinstance(kind, str) and kind in TEXT_KEYS:
            return _with({"p": kind}, _compare(_as_part(kind, written), given))
    if isinstance(given, str) and any(is_same(written, _as_part(kind, given)) for kind in TEXT_KEYS):
        return {"t": True}
    return {"=": given}


def _compare_keys(written: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Patch]:
    patches: dict[str, Patch] = {key: {"-": True} for key in written if key not in given}
    for key, value in given.items():
        if key in written:
            sub = _respelled(camel(key), written[key], value) or _compare(written[key], value)
            if sub is not None:
                patches[key] = sub
            continue
        twin = camel(key) if camel(key) in written else None
        # A copy of another key's value holds no words. Booleans and empty values are alike by chance.
        if twin is None and not is_nothing(value) and not isinstance(value, bool):
            twin = next((other for other in written if is_same(written[other], value)), None)
        patches[key] = {"=": value} if twin is None else _with({"c": twin}, _compare(written[twin], value))
    return patches


def _respelled(key: str, written: Any, given: Any) -> Patch | None:
    """The step to a text that says the same, which a client decoded and encoded anew. Google's SDK does so with
    signatures and pictures, the AI SDK with the arguments of a call."""
    if not isinstance(written, str) or not isinstance(given, str) or written == given:
        return None
    if key in ("thoughtSignature", "data") and written.translate(_URL_SAFE) == given:
        return {"u": True}
    if key == "arguments":
        with suppress(ValueError, RecursionError):
            value = _arguments(written)
            return next(({"j": name} for name in _SPELLINGS if _spell(value, name) == given), None)
    return None


def _arguments(text: str) -> Any:
    """The value of the arguments of a call. Some servers write none as an empty text. Raises: ValueError."""
    import json  # late: nearly all arguments are sent back as they came

    return json.loads(text or "{}")


def _spell(value: Any, spelling: str) -> str:
    import json

    return json.dumps(value, **_SPELLINGS[spelling])


def _with(patch: Patch, further: Patch | None) -> Patch:
    return patch if further is None else {**patch, "d": further}


def _as_part(kind: str, text: str) -> list[Any]:
    return [{"type": kind, TEXT_KEYS[kind]: text}]


def _split(patch: Patch, transport: Collection[str], key: str | None = None) -> tuple[Patch | None, Patch | None]:
    if "=" in patch:
        return (patch, None) if key in transport or _is_wordless(patch["="]) else (None, patch)
    if patch.keys() & _WORDLESS:
        return patch, None
    if "c" in patch or "p" in patch:
        layout, said = _split(patch["d"], transport) if "d" in patch else (None, None)
        return _with({step: patch[step] for step in patch if step != "d"}, layout), said
    step = "k" if "k" in patch else "i"
    halves = {at: _split(sub, transport, at) for at, sub in patch[step].items()}
    layouts = {at: half[0] for at, half in halves.items() if half[0] is not None}
    saids = {at: half[1] for at, half in halves.items() if half[1] is not None}
    return {step: layouts} if layouts else None, {step: saids} if saids else None


def _is_wordless(value: Any) -> bool:
    if isinstance(value, Mapping) and value.keys() == {"type"}:  # {"type": "direct"} is the same as no caller
        value = value["type"]
    return is_nothing(value) or (isinstance(value, str) and value in WORDS_OF_FORMS)


def _apply(patch: Mapping[str, Any], value: Any) -> Any:
    if "=" in patch:
        return patch["="]
    if "u" in patch:
        return value.translate(_URL_SAFE)
    if "j" in patch:
        return _spell(_arguments(value), patch["j"])
    if "t" in patch:
        [part] = value
        return part[TEXT_KEYS[part["type"]]]
    if "p" in patch:
        if not isinstance(value, str):
            raise TypeError
        part = _as_part(patch["p"], value)
        return _apply(patch["d"], part) if "d" in patch else part
    if "i" in patch:
        steps = patch["i"]
        return [_apply(steps[str(at)], item) if str(at) in steps else item for at, item in enumerate(value)]
    return _apply_keys(patch["k"], value)


def _apply_keys(steps: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    patched = dict(value)
    for key, sub in steps.items():
        if "-" in sub:
            del patched[key]
        elif "c" in sub:
            patched[key] = _apply(sub["d"], value[sub["c"]]) if "d" in sub else value[sub["c"]]
        else:
            patched[key] = _apply(sub, patched.get(key))
    return patched
