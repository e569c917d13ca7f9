"""Convert any session id to a bookmark name that the rules allow, and back.

Each character that no name may hold becomes ``%`` and two hexadecimal digits for each byte of its UTF-8.
"""

from __future__ import annotations

import re
import unicodedata

from blake3 import blake3

from headish.content.strictjson import check_text
from headish.errors import InvalidArgument, InvalidContent, shown
from headish.values.ids import is_id_shaped
from headish.values.limits import BOOKMARK_LIMIT_BYTES, KEY_LIMIT_BYTES
from headish.values.names import check_name as check_name
from headish.values.names import new_refusal

EMPTY = "%"
"""The name of the empty text."""
_HASH_DIGITS = 32
_ESCAPED = re.compile(rb"%([0-9a-f]{2})")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,199}")


def safe_name(text: str) -> str:
    """Return the bookmark for any text: a name that ``bookmarks.set`` accepts, a different one for each text.

    ``text_of`` gives the text back. A text that is too long is cut and followed by its hash; the conversation has the
    whole as its key or, if it cannot be a key, as ``app["id"]``.
    Raises: InvalidArgument if it is not text.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"a session id is text, not {shown(text)}")
    if _PLAIN.fullmatch(text) and not is_id_shaped(text):  # most session ids: spares the checks of each character
        return text
    name = _escape(text, unicodedata.is_normalized("NFC", text))
    if len(name.encode()) <= BOOKMARK_LIMIT_BYTES:
        return name
    # The hash tells long texts with one beginning apart. No other text has such a name: ``%-`` is not an escape.
    digits = blake3(text.encode(errors="surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{_beginning(name, BOOKMARK_LIMIT_BYTES - len('%-') - _HASH_DIGITS)}%-{digits}"


def text_of(name: str) -> str | None:
    """The text of a name from ``safe_name``; None if the name was cut, or is not from ``safe_name``."""
    if name == EMPTY:
        return ""
    try:
        text = _unescape(name)
    except UnicodeDecodeError:
        return None
    return text if safe_name(text) == name else None


def key_of(text: str) -> str | None:
    """The key of a session's conversation: the session's id. None if the id cannot be a key: empty, too long, or with
    lone surrogates."""
    try:
        check_text(text, "key")
    except InvalidContent:
        return None
    return text if 0 < len(text.encode()) <= KEY_LIMIT_BYTES else None


def _escape(text: str, is_normal: bool) -> str:
    """Escape the characters that no name may have. If the text is not in NFC, escape everything that is not ASCII, too:
    a name must be in NFC, and normalizing would lose the text."""
    if not text:
        return EMPTY
    characters: list[str] = []
    for character in text:
        is_kept = character != "%" and (is_normal or character.isascii())
        if is_kept and not (character == "." and characters and characters[-1] == "."):
            is_kept = new_refusal(f"a{character}a") is None
        else:
            is_kept = False
        characters.append(character if is_kept else _percent(character))
    if characters[0] == "-" or is_id_shaped("".join(characters)):  # neither may be a name: an option, and a turn's id
        characters[0] = _percent(characters[0])
    name = "".join(characters)
    # An escape ends with a letter or digit, which a combining mark after it may join in NFC: so the result is checked.
    return name if not is_normal or unicodedata.is_normalized("NFC", name) else _escape(text, False)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02x}" for byte in character.encode(errors="surrogatepass"))


def _unescape(name: str) -> str:
    """Reverse ``_escape``. Raises: UnicodeDecodeError."""
    data = _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), name.encode(errors="surrogatepass"))
    return data.decode(errors="surrogatepass")


def _beginning(name: str, limit_bytes: int) -> str:
    beginning = name.encode()[:limit_bytes].decode(errors="ignore")
    beginning = unicodedata.normalize("NFC", beginning)
    # Half an escape at the end would not be read back.
    return re.sub(r"%[0-9a-f]?$", "", beginning)
