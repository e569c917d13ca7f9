"""Find keys in a value or in many texts; nearly all have none, which a few searches show."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from headish.content.secrecy.judging import BEGINNINGS, NAME_LIMIT, gives_away, has_shape, is_harmless, may_have_shape

LOOKS_LIKE_A_KEY = "it looks like a key: keys stay in the environment or a keyring"
"""Why a value is refused; the value itself is not repeated."""
_CUTS = "-_AJ"
"""The letters of ``BEGINNINGS`` that are rare enough to cut a text at each."""
_LONG_BYTES = 65_536
"""Longer texts are not searched together with others."""
_ENDINGS = (
    "key", "keys", "sation", "zation", "secret", "password", "passwords", "passwd", "passphrase", "bearer", "token",
    "value",
)  # fmt: skip
"""The name of a key ends with one of these, in lower case."""
_ENDING_CHARACTERS = max(map(len, _ENDINGS))


def find_secret(value: Any, path: str, *, prose: Collection[str] = ()) -> str | None:
    """The path of the first text that has the name or the shape of a key; None if there is none.

    Texts under a name in ``prose`` are written for readers and are skipped. Values are searched at any depth, without
    recursion; one that contains itself is searched once.
    Cost: nearly every text is ruled out by its name, and by the few letters that each kind of key has.
    """
    # First without paths: nearly every value is harmless, and making paths costs more than searching.
    if is_harmless(value, prose):
        return None
    for where, name, text in _texts(value, path):
        if name in prose:
            continue
        if gives_away(name, text):
            return where
    return None


def is_quiet(encoded: str) -> bool:
    """Whether a JSON text of ``strictjson.encode`` shows at a glance that ``find_secret`` finds nothing in its value.

    False where it would have to look. Cost: some twenty searches for a few letters, and a look at the end of each name.
    """
    if may_have_shape(encoded):
        return False
    for text in encoded.split('":')[:-1]:
        if text[-_ENDING_CHARACTERS:].lower().endswith(_ENDINGS):
            return False
    return "://" not in encoded or "@" not in encoded


def _texts(value: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield ``(path, its name, text)`` for every text, names included: somebody may have put a key in their place."""
    waiting: list[tuple[Any, str, str]] = [(value, path, "")]
    seen: set[int] = set()
    while waiting:
        item, where, name = waiting.pop()
        if isinstance(item, str):
            yield where, name, item
            continue
        if not isinstance(item, Mapping | list | tuple) or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Mapping):
            names = [key for key in item if isinstance(key, str)]
            yield from ((where, "", key) for key in names)
            inside = [(item[key], _step(where, f".{key[:NAME_LIMIT]}"), key) for key in names]
        else:  # a list of keys has the name of the list
            inside = [(each, _step(where, f"[{index}]"), name) for index, each in enumerate(item)]
        waiting += reversed(inside)  # a stack: reversed, it gives the texts in their order


def _step(path: str, step: str) -> str:
    return path + step if len(path) < _PATH_LIMIT else path


def find_shaped(texts: Sequence[bytes]) -> list[int]:
    """The places of those UTF-8 texts that ``has_shape``, in order.

    Cost: a few searches through all texts at once. Only long texts, and those in which a key may begin, are searched
    one by one.
    """
    # Joining and cutting a long text would take many times its memory.
    long: set[int] = set()
    short = texts
    if max(map(len, texts), default=0) > _LONG_BYTES:
        long = {place for place, each in enumerate(texts) if len(each) > _LONG_BYTES}
        short = [b"" if place in long else each for place, each in enumerate(texts)]
    beginnings = [*_beginnings_in(b"\n".join(short))]
    if not beginnings and not long:
        return []
    ends = [*accumulate(len(each) + 1 for each in short)]
    places = sorted(long.union(bisect_right(ends, at) for at in beginnings))
    return [place for place in places if has_shape(texts[place].decode(errors="replace"))]


def _beginnings_in(joined: bytes) -> Iterator[int]:
    """Yield a position in each beginning of a key, and some others. A text without such a position has no shape."""
    for letter, before, behind in _beside_cuts():
        if letter in joined:
            pieces = joined.split(letter)
            cuts = [at for at, piece in enumerate(pieces[:-1]) if piece.endswith(before)]
            if behind:
                cuts += [at for at, piece in enumerate(pieces[1:]) if piece.startswith(behind)]
            if cuts:
                ends = [*accumulate(len(piece) + 1 for piece in pieces)]
                yield from (ends[at] - 1 for at in cuts)
    others = [(each.encode(), listed) for each, listed in BEGINNINGS.items() if each not in _CUTS]
    whole = [each.encode() for letters, listed in others if letters in joined for each in listed]
    for each in [*whole, b"://"] if b"@" in joined else whole:
        at = joined.find(each)
        while at >= 0:
            yield at
            at = joined.find(each, at + 1)


@cache
def _beside_cuts() -> list[tuple[bytes, tuple[bytes, ...], tuple[bytes, ...]]]:
    """The letters of ``_CUTS``, each with its neighbours in the beginnings: what comes before it, else what follows."""
    cuts: list[tuple[bytes, tuple[bytes, ...], tuple[bytes, ...]]] = []
    for letter in _CUTS:
        # Cut at its last occurrence, so that no other one cuts what follows.
        parts = [each.encode().split(letter.encode())[-2:] for each in BEGINNINGS[letter]]
        before = tuple(one for one, _ in parts if one)
        cuts.append((letter.encode(), before, tuple(other for one, other in parts if not one)))
    return cuts


# Paths of deep values would take the square of their depth.
_PATH_LIMIT = 1000
