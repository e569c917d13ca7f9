"""Judge one text by its name and its shape, and a value by its texts: does it look like a key?"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
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
SHAPES = (
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
BEGINNINGS = {
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
_SHORTEST = 10
"""The length of the shortest text that has a shape."""
LOGIN = r"(?:(?a:\b)[a-zA-Z][a-zA-Z0-9+.-]{0,30})?://[^\s/?#@:]*:(?!\*+@)(?!\$)[^\s/?#@]+@"
"""An address with a user and a password. The match leaves the scheme out where it may be the end of a token."""
_NO_KEY = (
    r"(?i:(?:bearer|basic|token) +)?(?:\$\w+|\$?\{\{?[^}]*\}?\}|\*+|<[^>]*>|keyring:.*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)?"
)
"""Values in place of a key that are not one: a reference, the name of a variable, something hidden."""


def is_harmless(value: Any, prose: Collection[str]) -> bool:
    """Whether nothing in a value looks like a key. Makes no paths."""
    waiting: list[tuple[str, Any]] = [("", value)]
    seen: set[int] = set()
    while waiting:
        name, item = waiting.pop()
        if isinstance(item, str):
            if name not in prose and gives_away(name, item):
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


def gives_away(name: str, text: str) -> bool:
    return has_shape(text) or is_named_like_one(name, text)


def has_shape(text: str) -> bool:
    """Whether something in a text looks like a key, or like an address with a password."""
    is_likely = len(text) >= _SHORTEST and may_have_shape(text)
    if is_likely and (re.search(SHAPES, text) or next(encoded_keys(text), None) is not None):
        return True
    return "://" in text and "@" in text and re.search(LOGIN, text) is not None


def may_begin_key(text: str) -> bool:
    """Whether a key may begin in a text that may go on. The secret part of a key follows its beginning."""
    return may_have_shape(text) or "://" in text


def may_have_shape(text: str) -> bool:
    for letter, beginnings in BEGINNINGS.items():
        if letter in text:
            for each in beginnings:
                if each in text:
                    return True
    return False


def encoded_keys(text: str) -> Iterator[tuple[int, int]]:
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
            return not is_harmless(value, ())  # ``find_secret`` would search twice at each level of encoding
    return has_shape(text)


def is_named_like_one(name: str, text: str) -> bool:
    return _is_name_of_keys(name[-NAME_LIMIT:]) and text != "" and re.fullmatch(_NO_KEY, text) is None


@lru_cache(maxsize=1024)
def _is_name_of_keys(name: str) -> bool:
    """Cached, because each message of a history has the same few names."""
    return re.fullmatch(_NAMES, re.sub(_CAMEL, "_", name).lower()) is not None


# A name may be a megabyte long.
NAME_LIMIT = 100
