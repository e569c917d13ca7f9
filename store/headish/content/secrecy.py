"""Find and hide what looks like a key. Keys belong in the environment or a keyring, not in a database.

Two things give a key away: the name of a text, and its shape. A name counts only as a whole (``api_key``,
``x-api-key``, ``clientSecret``), so ``max_tokens`` or the ``key`` of a sort is not a key. A shape needs its prefix and
as many random characters as a real key has. A reference to a variable (``${OPENAI_API_KEY}``) and the ``***`` of
something hidden are not keys. Texts of messages are searched only before they leave the machine, because people talk
about keys. Base64 is decoded where it may be ``Basic`` credentials, a private key, or a JSON object.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

# The patterns are compiled at their first use: nearly every text is ruled out before, and compiling takes as long as
# the rest of a command that adds a turn.
_NAMES = (
    r"(?:.*[-_.])?"
    r"(?:api[-_]?keys?|authori[sz]ation|secret|secret[-_]?key|client[-_]?secret|passwords?|passwd|passphrase|bearer"
    r"|(?:access|auth|refresh|bearer|api|session|security)[-_]?token|private[-_]?key|subscription[-_]?key)"
    r"(?:[-_]value)?"
)
"""The names of keys, in lower case with separated words. Other words may come before."""
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])"
_SHAPES = (
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic (sk-ant-…), OpenRouter (sk-or-…)
    r"|(?:csk|zk|xai)-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}"  # Cerebras, Zukijourney, xAI
    r"|gsk_[A-Za-z0-9]{16,}"  # Groq
    r"|hf_[A-Za-z0-9]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|AIza[0-9A-Za-z_-]{30,}"
    r"|AKIA[0-9A-Z]{16}"
    r"|hdsh_[A-Za-z0-9_-]{49}"  # a server of headish
    r"|AGE-SECRET-KEY-1[A-Z0-9]{50,}"
    r")"
    r"|(?a:\b)[Bb]earer +(?=[^ ]*[0-9])[A-Za-z0-9._~+/-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
"""What keys look like, by the prefixes that their makers give them."""
_BASE64 = "[A-Za-z0-9+/_-]"
_BASIC = rf"(?a:\b)[Bb]asic +(?=({_BASE64}{{4,}}))"
_SHIFTS = {"LS0tLS1CRUdJTi": "", "0tLS0tQkVHSU4g": "AC", "tLS0tLUJFR0lOI": "AAA"}
"""``-----BEGIN `` in base64 at each of its three alignments, and the letters to put before it so that it decodes."""
_OBJECTS = ("eyJ", "eyAi", "ewog", "ewoJ")
"""The beginning of a JSON object in base64: a brace, then a name, a blank or an indented new line."""
_ENCODED_BEGINNINGS = ("asic ", *_SHIFTS, *_OBJECTS)
ENCODED = rf"(?:{'|'.join((*_SHIFTS, *_OBJECTS))}){_BASE64}*(?:\r?\n[ \t]*{_BASE64}{{20,}})*"
"""Base64 that may hold a key, in one line or several."""
_WORD = "[A-Za-z0-9_-]"
_REST = (
    rf"(?:(?=(\.{_WORD}*+\.{_WORD}{{16,}}+\.{_WORD}*+\.{_WORD}{{22,}}+"  # key, nonce, ciphertext, tag
    rf"|\.{_WORD}*+\.{_WORD}{{43,}}+)))?"  # claims, signature
)
"""The rest of a JSON web token after its head. Encrypted, it has a nonce of 16 letters or more and a tag of 22 or more
(RFC 7518, 5.3), signed, a signature of 43 or more (3.2). A look-ahead, so that claims without such a head are
still searched on their own."""
_BEGINNINGS = {
    "-": ("sk-", "zk-", "xai-", "-----BEGIN ", "AGE-SECRET-KEY-"),
    "_": ("gsk_", "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hdsh_"),
    "A": ("AIza", "AKIA", "eyAi"),
    "J": ("eyJ", "ewoJ"),
    "r": ("earer ",),
    "asic": ("asic ",),
    "ewog": ("ewog",),
    "tLS": tuple(_SHIFTS),
}
"""Every text with a shape contains one of these. They are listed by a letter of each, because searching for one letter
is ten times as fast."""
_CUTS = "-_AJ"
"""The letters of these that are rare enough to cut a text at each."""
_LONG_BYTES = 65_536
"""Longer texts are not searched together with others."""
_ENDINGS = (
    "key", "keys", "sation", "zation", "secret", "password", "passwords", "passwd", "passphrase", "bearer", "token",
    "value",
)  # fmt: skip
"""The name of a key ends with one of these, in lower case."""
_ENDING_CHARACTERS = max(map(len, _ENDINGS))
_SHORTEST = 10
"""The length of the shortest text that has a shape."""
_LOGIN = r"(?:(?a:\b)[a-zA-Z][a-zA-Z0-9+.-]{0,30})?://[^\s/?#@:]*:(?!\*+@)(?!\$)[^\s/?#@]+@"
"""An address with a user and a password. The match leaves the scheme out where it may be the end of a token."""
_NO_KEY = (
    r"(?i:(?:bearer|basic|token) +)?(?:\$\w+|\$?\{\{?[^}]*\}?\}|\*+|<[^>]*>|keyring:.*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)?"
)
"""Values in place of a key that are not one: a reference, the name of a variable, something hidden."""

_PRIVATE = r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
HIDDEN = "<hidden: it looked like a key>"
"""The replacement for a key. ``_NO_KEY`` takes nothing in angle brackets for a key, so it is never hidden again."""
LOOKS_LIKE_A_KEY = "it looks like a key: keys stay in the environment or a keyring"
"""Why a value is refused; the value itself is not repeated."""


def find_secret(value: Any, path: str, *, prose: Collection[str] = ()) -> str | None:
    """The path of the first text that has the name or the shape of a key; None if there is none.

    Texts under a name in ``prose`` are written for readers and are skipped. Values are searched at any depth, without
    recursion; one that contains itself is searched once.
    Cost: nearly every text is ruled out by its name, and by the few letters that each kind of key has.
    """
    # First without paths: nearly every value is harmless, and making paths costs more than searching.
    if _is_harmless(value, prose):
        return None
    for where, name, text in _texts(value, path):
        if name in prose:
            continue
        if _gives_away(name, text):
            return where
    return None


def is_quiet(encoded: str) -> bool:
    """Whether a JSON text of ``strictjson.encode`` shows at a glance that ``find_secret`` finds nothing in its value.

    False where it would have to look. Cost: some twenty searches for a few letters, and a look at the end of each name.
    """
    if _may_have_shape(encoded):
        return False
    for text in encoded.split('":')[:-1]:
        if text[-_ENDING_CHARACTERS:].lower().endswith(_ENDINGS):
            return False
    return "://" not in encoded or "@" not in encoded


def _is_harmless(value: Any, prose: Collection[str]) -> bool:
    """Whether nothing in a value looks like a key. Makes no paths."""
    waiting: list[tuple[str, Any]] = [("", value)]
    seen: set[int] = set()
    while waiting:
        name, item = waiting.pop()
        if isinstance(item, str):
            if name not in prose and _gives_away(name, item):
                return False
        elif isinstance(item, Mapping | list | tuple) and id(item) not in seen:
            seen.add(id(item))
            if isinstance(item, Mapping):
                for key, inner in item.items():
                    if isinstance(key, str):
                        if has_shape(key) and "" not in prose:
                            return False
                        waiting.append((key, inner))
            else:
                waiting += [(name, each) for each in item]
    return True


def _gives_away(name: str, text: str) -> bool:
    return has_shape(text) or _is_named_like_one(name, text)


def has_shape(text: str) -> bool:
    """Whether something in a text looks like a key, or like an address with a password."""
    is_likely = len(text) >= _SHORTEST and _may_have_shape(text)
    if is_likely and (re.search(_SHAPES, text) or next(_encoded_keys(text), None) is not None):
        return True
    return "://" in text and "@" in text and re.search(_LOGIN, text) is not None


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
    others = [(each.encode(), listed) for each, listed in _BEGINNINGS.items() if each not in _CUTS]
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
        parts = [each.encode().split(letter.encode())[-2:] for each in _BEGINNINGS[letter]]
        before = tuple(one for one, _ in parts if one)
        cuts.append((letter.encode(), before, tuple(other for one, other in parts if not one)))
    return cuts


def may_begin_key(text: str) -> bool:
    """Whether a key may begin in a text that may go on. The secret part of a key follows its beginning."""
    return _may_have_shape(text) or "://" in text


def _may_have_shape(text: str) -> bool:
    for letter, beginnings in _BEGINNINGS.items():
        if letter in text:
            for each in beginnings:
                if each in text:
                    return True
    return False


def _encoded_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each key in base64, in order.

    Cost: one pass. What was decoded is searched like any text and is a quarter shorter, so a text that was encoded many
    times over takes four passes.
    """
    end = 0
    if not any(each in text for each in _ENCODED_BEGINNINGS):
        return
    for match in re.finditer(f"{_BASIC}|{ENCODED}{_REST}", text):
        if match.start() < end:
            continue
        if match[1]:
            is_key, behind = _is_login(match[1]), match.end(1)
        elif match[2] and _is_head(match[0]):
            is_key, behind = True, match.end(2)
        else:
            is_key, behind = _is_key_inside(match[0]), match.end()
        if is_key:
            end = behind
            yield match.start(), end


def _decode(encoded: str) -> bytes:
    """Decode base64 of either alphabet. Where it was cut off, the last byte or two may be missing."""
    letters = re.sub(r"\s", "", encoded).translate({ord("-"): "+", ord("_"): "/"})
    # A single letter after the last group of four holds no whole byte, and ``b64decode`` would refuse it.
    whole = letters[: len(letters) - (len(letters) % 4 == 1)]
    return b64decode(whole + "=" * (-len(whole) % 4))


def _is_login(encoded: str) -> bool:
    """Whether it encodes a user and a password, and is not an ordinary word after ``basic``."""
    try:
        _, colon, password = _decode(encoded).decode().partition(":")
    except UnicodeDecodeError:
        return False
    return bool(colon) and password.isprintable() and re.fullmatch(_NO_KEY, password) is None


def _is_head(encoded: str) -> bool:
    """Whether it encodes the head of a token: a JSON object that names its algorithm."""
    try:
        head = json.loads(_decode(encoded))
    except (ValueError, RecursionError):
        return False
    return isinstance(head, dict) and isinstance(head.get("alg"), str)


def _is_key_inside(encoded: str) -> bool:
    shift = next((shift for begins, shift in _SHIFTS.items() if encoded.startswith(begins)), None)
    text = _decode((shift or "") + encoded).decode(errors="replace")
    if shift is None:
        try:
            value, _ = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            pass  # it was cut off, or is not JSON
        else:
            return not _is_harmless(value, ())  # ``find_secret`` would search twice at each level of encoding
    return has_shape(text)


def hide_secrets(value: Any, name: str = "") -> Any:
    """Replace what looks like a key in a JSON value. Returns the same object if nothing does.

    A text under the name of a key is replaced whole; of any other, only the part that looks like a key.
    """
    if isinstance(value, str):
        return HIDDEN if _is_named_like_one(name, value) else _hide_shapes(value)
    if isinstance(value, Mapping):
        hidden = {_hide_shapes(key): hide_secrets(item, key) for key, item in value.items()}
        return value if all(hidden.get(key) is item for key, item in value.items()) else hidden
    if isinstance(value, list | tuple):
        listed = [hide_secrets(item, name) for item in value]
        return value if all(new is old for new, old in zip(listed, value, strict=True)) else listed
    return value


def hide_shapes(value: Any) -> Any:
    """As ``hide_secrets``, but ignores names: for what people and models say, where ``password`` may be a word."""
    if isinstance(value, str):
        return _hide_shapes(value)
    if isinstance(value, Mapping):
        hidden = {_hide_shapes(key): hide_shapes(item) for key, item in value.items()}
        return value if all(hidden.get(key) is item for key, item in value.items()) else hidden
    if isinstance(value, list | tuple):
        listed = [hide_shapes(item) for item in value]
        return value if all(new is old for new, old in zip(listed, value, strict=True)) else listed
    return value


def _hide_shapes(text: str) -> str:
    """Replace what looks like a key in a text. A private key is replaced from its first line to its last."""
    if not has_shape(text):
        return text
    # Logins and shapes in one pass: hiding one first could remove what the other is recognised by.
    hidden = re.sub(f"{_LOGIN}|{_SHAPES}", HIDDEN, re.sub(_PRIVATE, HIDDEN, text))
    pieces, at = [], 0
    for start, end in _encoded_keys(hidden):
        pieces += [hidden[at:start], HIDDEN]
        at = end
    return "".join([*pieces, hidden[at:]])


def _is_named_like_one(name: str, text: str) -> bool:
    return _is_name_of_keys(name[-_NAME_LIMIT:]) and text != "" and re.fullmatch(_NO_KEY, text) is None


@lru_cache(maxsize=1024)
def _is_name_of_keys(name: str) -> bool:
    """Cached, because each message of a history has the same few names."""
    return re.fullmatch(_NAMES, re.sub(_CAMEL, "_", name).lower()) is not None


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
            inside = [(item[key], _step(where, f".{key[:_NAME_LIMIT]}"), key) for key in names]
        else:  # a list of keys has the name of the list
            inside = [(each, _step(where, f"[{index}]"), name) for index, each in enumerate(item)]
        waiting += reversed(inside)  # a stack: reversed, it gives the texts in their order


def _step(path: str, step: str) -> str:
    return path + step if len(path) < _PATH_LIMIT else path


# A name may be a megabyte long, and paths of deep values would take the square of their depth.
_NAME_LIMIT, _PATH_LIMIT = 100, 1000
