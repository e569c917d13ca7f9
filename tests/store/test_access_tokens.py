"""Access tokens: made once, listed without what they are, removed, and never in a backup."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from headish import Database, restore
from headish.errors import InvalidArgument, InvalidName, TokenTaken, UnknownSpace, UnknownToken
from headish.values.access.tokens import find_token, is_token, token_hash
from support.places import FilePlace, Place


def now() -> int:
    return time.time_ns() // 1_000_000


def test_a_token_opens_the_space_it_was_made_for(place: Place) -> None:
    space = place.open().space
    with Database.open(place.target) as database:
        token = database.access_tokens.add("laptop", space=space, rights=["write", "read"], expires_seconds=60)
        assert is_token(token)
        (known,) = [each for each in database.access_tokens.list() if each.space == space]
        assert (known.label, known.rights, known.hash) == ("laptop", ("read", "write"), token_hash(token))
        assert find_token([known], token, now()) == known
        assert find_token([known], token, now() + 61_000) is None
        record = known.to_dict()
        assert (record["label"], record["space"], record["rights"]) == ("laptop", space, ["read", "write"])
        assert token not in str(record) + repr(database.access_tokens)
        assert known.hash.hex() not in str(record)
        database.access_tokens.remove("laptop", space=space)
        assert [each for each in database.access_tokens.list() if each.space == space] == []


def test_a_renamed_space_keeps_its_tokens_and_a_removed_one_none(place: Place) -> None:
    space = place.open().space
    with Database.open(place.target) as database:
        database.access_tokens.add("a", space=space, rights="read")
        database.spaces.rename(space, f"{space}-other")
        assert [each.label for each in database.access_tokens.list() if each.space == f"{space}-other"] == ["a"]
        database.spaces.remove(f"{space}-other")
        database.spaces.add(space)
        assert [each for each in database.access_tokens.list() if each.space.startswith(space)] == []


def test_an_erased_space_has_none(place: Place) -> None:
    store = place.open()
    store.add_turn("a")
    with Database.open(place.target) as database:
        database.access_tokens.add("a", space=store.space, rights="read")
        database.spaces.erase(store.space, reason="test")
        assert [each for each in database.access_tokens.list() if each.space == store.space] == []


def test_what_is_no_token_is_refused(place: Place) -> None:
    space = place.open().space
    with Database.open(place.target) as database:
        tokens = database.access_tokens
        tokens.add("a", space=space, rights="read")
        with pytest.raises(TokenTaken, match="'a'"):
            tokens.add("a", space=space, rights="read")
        for rights in ([], ["admin"], "all", ["read", ""]):
            with pytest.raises(InvalidArgument, match="read, write, gateway, sync, erase"):
                tokens.add("b", space=space, rights=rights)  # type: ignore[arg-type]
        with pytest.raises(InvalidName):
            tokens.add("two words", space=space, rights="read")
        with pytest.raises(InvalidArgument):
            tokens.add("b", space=space, rights="read", expires_seconds=0)
        with pytest.raises(UnknownSpace):
            tokens.add("b", space="nowhere", rights="read")
        with pytest.raises(UnknownSpace):
            tokens.remove("a", space="nowhere")
        with pytest.raises(UnknownToken):
            tokens.remove("b", space=space)
        assert [each.label for each in tokens.list() if each.space == space] == ["a"]


def test_a_label_that_was_mistyped_is_suggested_from_its_own_space(place: Place) -> None:
    space = place.open().space
    with Database.open(place.target) as database:
        tokens = database.access_tokens
        database.spaces.add(f"{space}-b")
        tokens.add("laptop", space=space, rights="read")
        tokens.add("laptops", space=f"{space}-b", rights="read")
        with pytest.raises(UnknownToken) as refused:
            tokens.remove("labtop", space=space)
        assert str(refused.value) == "no token of this space is called 'labtop': did you mean 'laptop'?"
        with pytest.raises(UnknownToken, match=r"is called 'phone'$"):
            tokens.remove("phone", space=space)


def test_no_backup_has_a_token(file_place: FilePlace, tmp_path: Path) -> None:
    file_place.open().add_turn("kept")
    with Database.open(file_place.target) as database:
        token = database.access_tokens.add("laptop", rights="read")
        for name in ("copy.db", "copy.hbackup"):
            copy = tmp_path / name
            database.backup(copy)
            for secret in (token.encode(), token_hash(token), b"laptop"):
                assert secret not in copy.read_bytes()
            back = tmp_path / f"{name}.restored.db"
            restore(copy, back)
            with Database.open(back) as restored:
                assert restored.access_tokens.list() == []
        assert [each.label for each in database.access_tokens.list()] == ["laptop"]
    assert token.encode() not in Path(file_place.target).read_bytes()


def test_verify_knows_of_no_rows_that_belong_nowhere(file_place: FilePlace) -> None:
    file_place.open().close()
    with Database.open(file_place.target) as database:
        database.spaces.add("other")
        database.access_tokens.add("a", space="other", rights="read")
        assert not any(report.problems for report in database.verify().values())
        database.spaces.remove("other")
        assert not any(report.problems for report in database.verify().values())
        assert database.access_tokens.list() == []
