"""Inherited options: what a turn hands down, encoded, and how it merges down a thread (rule I8, options merge).

Source: RFC 7396, JSON Merge Patch. Records merge key by key, any other value (lists too) replaces, ``null`` removes the
key. No argument is modified.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headish.content import strictjson
from headish.errors import InvalidContent

SHORTCUTS = ("provider_ptr", "servers", "search", "tool_mode")
"""Inherited options that have an argument of their own."""
HANDED_DOWN = frozenset(("inherited", *SHORTCUTS))
"""All arguments of a turn that hand something down. Nearly every turn has none of them."""


def merge(target: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """``target`` with ``patch`` applied; a target that is not a record counts as an empty one.

    Source: RFC 7396 §2, the function MergePatch.
    """
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = merge(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def fold(patches: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """All patches applied in order; later ones win."""
    options: dict[str, Any] = {}
    for patch in patches:
        options = merge(options, patch)
    return options


def combine(patch: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """One patch that does what ``patch`` and then ``later`` do: like ``merge``, but ``null`` is kept to act later."""
    combined = dict(patch)
    for key, value in later.items():
        before = combined.get(key)
        both = isinstance(value, Mapping) and isinstance(before, Mapping)
        combined[key] = combine(before, value) if both else value  # type: ignore[arg-type]
    return combined


def encode_inherited(turn: Mapping[str, Any]) -> bytes | None:
    """The options that a turn hands down: ``inherited``, with the named shortcuts on top."""
    inherited = turn.get("inherited")
    inherited = {} if inherited is None else inherited
    shortcuts = {key: _plain(turn[key]) for key in SHORTCUTS if turn.get(key) is not None}
    if "servers" in shortcuts:
        shortcuts["servers"] = _listed(shortcuts["servers"])
    if not isinstance(inherited, Mapping):
        raise InvalidContent("inherited", f"it must be a mapping, not {type(inherited).__name__}")
    refuse_secret(inherited, "inherited")
    # First, since it refuses a mapping that contains itself, which ``combine`` would follow without end.
    encoded = encode_record(inherited, "inherited")
    return encode_record(combine(inherited, shortcuts), "inherited") if shortcuts else encoded


def refuse_secret(given: Any, what: str) -> None:
    """Refuse what looks like a key. Raises: InvalidContent."""
    if given == {}:
        return
    # Late: to merge options takes no look for keys.
    from headish.content.secrecy.finding import LOOKS_LIKE_A_KEY, find_secret

    secret = find_secret(given, "$")
    if secret is not None:
        raise InvalidContent(what, LOOKS_LIKE_A_KEY, secret)


def encode_record(given: Mapping[str, Any] | None, what: str) -> bytes | None:
    """A record as it is stored; None if it is empty. Raises: InvalidContent, TooLarge."""
    if given is None or given == {}:
        return None
    return strictjson.encode_mapping(given, what)


def _listed(servers: Sequence[str]) -> list[str]:
    is_list = isinstance(servers, Iterable) and not isinstance(servers, str)  # a text would be a list of its letters
    if not is_list or not all(isinstance(name, str) for name in servers):
        raise InvalidContent("inherited", "servers must be a list of names", "$.servers")
    return list(map(_plain, servers))


def _plain(value: Any) -> Any:
    """A text of a caller's own class, as a member of a ``StrEnum``, as the text that it equals."""
    return str.__str__(value) if isinstance(value, str) else value
