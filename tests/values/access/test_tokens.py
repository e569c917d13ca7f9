"""Tokens: their form, their checksum, and how one is found."""

from __future__ import annotations

import re

from msgspec.structs import replace

from headish.values.access.tokens import Token, find_token, is_token, make_token, token_hash
from headish.values.access.trying import MINUTE_SECONDS, PEERS_LIMIT, WRONG_LIMIT, WrongTries


def test_a_token_is_its_prefix_43_characters_and_a_checksum() -> None:
    token = make_token()
    assert re.fullmatch(r"hdsh_[A-Za-z0-9_-]{43}[A-Za-z0-9_-]{6}", token)
    assert is_token(token)
    assert token != make_token()


def test_a_typing_error_is_no_token() -> None:
    token = make_token()
    for place in range(len(token)):
        other = "A" if token[place] != "A" else "B"
        assert not is_token(token[:place] + other + token[place + 1 :])
    for text in ("", token[:-1], token + "A", f" {token}", f"{token}\n", token.upper()):
        assert not is_token(text)


def known(token: str, **further: int) -> Token:
    return Token("laptop", 1, "default", ("read",), token_hash(token), created=0, **further)


def test_only_a_known_token_that_has_not_expired_is_found() -> None:
    tokens = [make_token() for _ in range(3)]
    listed = [replace(known(each), label=str(number)) for number, each in enumerate(tokens)]
    assert [find_token(listed, each, 5) for each in tokens] == listed
    assert find_token(listed, make_token(), 5) is None
    assert find_token([], tokens[0], 5) is None
    expiring = known(tokens[0], expires=5)
    assert find_token([expiring], tokens[0], 4) == expiring
    assert find_token([expiring], tokens[0], 5) is None


def test_after_twenty_wrong_tokens_in_a_minute_a_peer_has_to_wait() -> None:
    tries = WrongTries()
    for second in range(WRONG_LIMIT):
        assert tries.wait_seconds("a", second) == 0
        tries.add("a", second)
    assert tries.wait_seconds("a", 20.0) == MINUTE_SECONDS - 20
    assert tries.wait_seconds("b", 20.0) == 0
    assert tries.wait_seconds("a", MINUTE_SECONDS) == 0
    tries.add("a", MINUTE_SECONDS)
    assert tries.wait_seconds("a", MINUTE_SECONDS) == 1


def test_many_peers_take_bounded_memory() -> None:
    tries = WrongTries()
    for number in range(PEERS_LIMIT + 5):
        tries.add(str(number), 0)
    assert len(tries._by_peer) == PEERS_LIMIT
