"""Receipts of erasures as they are stored: JSON whose bytes the chain of hashes covers."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from headish.content.hashes import hash_rest
from headish.errors import CorruptRecord
from headish.values.ids import TurnId
from headish.values.results.erasures import Receipt

_decode = msgspec.json.Decoder(Receipt).decode


class ErasureNotice(Struct, frozen=True):
    """The part of a receipt that readers of an erased turn see. A receipt may list a hundred thousand turns, and
    decoding this skips them."""

    time: datetime
    reason: str
    meta: bool = False
    scope: str = ""
    covers: int | None = None


_decode_told = msgspec.json.Decoder(ErasureNotice).decode


def encode_receipt(receipt: Receipt) -> bytes:
    """The bytes of a receipt: fields in declared order, defaults left out."""
    return msgspec.json.encode(receipt)


def decode_receipt(data: bytes, number: int) -> Receipt:
    """A stored receipt. Raises: CorruptRecord."""
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise CorruptRecord(f"receipt {number}", f"it does not decode ({error})") from None


def decode_told(data: bytes, number: int) -> ErasureNotice:
    """The part of a stored receipt that readers see. Raises: CorruptRecord."""
    try:
        return _decode_told(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise CorruptRecord(f"receipt {number}", f"it does not decode ({error})") from None


def rest_of(
    role: str,
    type: str | None,
    content_type: str | None,
    cache: int | None,
    key: bytes | None,
    supersedes: TurnId | None,
) -> str:
    """``hash_rest`` in hex, as a receipt stores it."""
    return hash_rest(role, type, content_type, cache, key, supersedes).hex()
