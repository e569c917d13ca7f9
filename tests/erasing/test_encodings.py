"""The bytes of a receipt and the hashes over it are promises: these are their vectors."""

from __future__ import annotations

from datetime import UTC, datetime

from headish.content.hashes import chain_receipt, hash_key, hash_rest
from headish.content.receipts import decode_receipt, encode_receipt
from headish.values.ids import TurnId
from headish.values.results.erasures import ErasedTurn, Receipt

RECEIPT = Receipt(
    number=1,
    id=TurnId("0" * 25),
    time=datetime(2026, 1, 2, 3, 4, 5, 678000, UTC),
    seq=7,
    change=2,
    scope="turn",
    reason="r",
    turns=(ErasedTurn(TurnId("0" * 24 + "1"), "aa", "bb", "cc"),),
    bytes=3,
)
ENCODED = (
    b'{"number":1,"id":"0000000000000000000000000","time":"2026-01-02T03:04:05.678000Z","seq":7,"change":2,'
    b'"scope":"turn","reason":"r","bytes":3,"turns":[{"id":"0000000000000000000000001","hash":"aa","digest":"bb",'
    b'"seal":"cc"}]}'
)


def test_a_receipt_has_these_bytes_and_comes_back() -> None:
    assert encode_receipt(RECEIPT) == ENCODED
    assert decode_receipt(ENCODED, 1) == RECEIPT


def test_the_chain_of_receipts() -> None:
    first, later = chain_receipt(b"", ENCODED), chain_receipt(b"\1" * 32, ENCODED)
    assert first.hex() == "2120fc7d6c2e6f8ccd114f02a893c349bd968120b6499fe62fcce635346ef046"
    assert later.hex() == "43cd8494a06cfd43f69d73755f47a68d9d44488c864bc834afdffa31896c2cee"


def test_what_is_left_of_a_record() -> None:
    rest = hash_rest("user", None, None, 1, b"k", None)
    assert rest.hex() == "12e606666d032d0c804b424187bdf785f830efbdc5b85500ff26dc5d7c27fc68"
    assert hash_key(b"k").hex() == "5cbcb0cee824b91866cd67f57a6643ddcb7cd4382029039043513953c759246b"
