"""The verbs that bring turns to other spaces and stores, and say who may come and who wrote something."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from headish import Store
from soak.verbs.verb import Verb, add_thread, database, is_named, other
from support.signers import Keys


@cache
def _folder() -> Path:
    """A folder for what lies beside the database, which ends with the process."""
    kept = tempfile.TemporaryDirectory(prefix="headish-strikes-")
    _KEPT.append(kept)
    return Path(kept.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@cache
def _key() -> Path:
    return Keys(_folder() / "keys").make("anna")


def _add_key(store: Store, tag: str) -> None:
    """A thread, and the key that signs it."""
    add_thread(store, tag)
    _key()


def _bundle(tag: str) -> Path:
    return _folder() / f"{tag}.bundle"


def _add_bundle(store: Store, tag: str) -> None:
    """A bundle of a thread that another space has."""
    add_thread(other(store), tag)
    _bundle(tag).unlink(missing_ok=True)  # each file's first tag is the same
    other(store).bundles.create(_bundle(tag), tag)


def _apply(store: Store, tag: str) -> None:
    store.bundles.apply(_bundle(tag))


def _add_remote(store: Store, tag: str) -> None:
    """Another database: what reaches folders has threads of its own, which no fork may follow."""
    store.remotes.add(tag, str(_folder() / f"{tag}.db"))


def _is_remote(store: Store, tag: str) -> bool:
    return any(each.name == tag for each in store.remotes.list())


def _add_token(store: Store, tag: str) -> None:
    database(store).access_tokens.add(tag, space=store.space, rights=["read"])


def _has_token(store: Store, tag: str) -> bool:
    return any(each.label == tag for each in database(store).access_tokens.list())


def _move(store: Store, tag: str) -> None:
    database(store).move(tag, space=store.space, to="copies")


ELSEWHERE: dict[str, Verb] = {
    "Store.sign": Verb(
        lambda store, tag: store.sign(tag, key=_key()),
        lambda store, tag: bool(store.signatures([store.bookmarks[tag]])), _add_key,
    ),
    "Database.move": Verb(
        _move, lambda store, tag: tag in other(store).bookmarks and tag not in store.bookmarks, add_thread
    ),
    "Bundles.apply": Verb(_apply, is_named, _add_bundle, go_on=_apply),  # names come behind the turns
    "Remotes.add": Verb(_add_remote, _is_remote),
    "Remotes.set": Verb(
        lambda store, tag: store.remotes.set(tag, names=f"{tag}*"),
        lambda store, tag: any((each.name, each.names) == (tag, f"{tag}*") for each in store.remotes.list()),
        _add_remote,
    ),
    "Remotes.remove": Verb(
        lambda store, tag: store.remotes.remove(tag), lambda store, tag: not _is_remote(store, tag), _add_remote
    ),
    "AccessTokens.add": Verb(_add_token, _has_token),
    "AccessTokens.remove": Verb(
        lambda store, tag: database(store).access_tokens.remove(tag, space=store.space),
        lambda store, tag: not _has_token(store, tag), _add_token,
    ),
}  # fmt: skip
