"""A verb as a call that can be struck: what must be there before it, and what is true once it returned.

A call has a tag of its own, and changes what bears this tag alone: what it stored stays true however many calls follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headish import Database, Store
from soak.rounds import Soak, Where, rooted


def own_database(soak: Soak) -> Where:
    """A space of a database of its own on the server."""
    import psycopg
    from sqlalchemy import make_url

    url = make_url(soak.server().url).set(drivername="postgresql+psycopg", database=f"soak-{soak.number()}")
    with psycopg.connect(soak.server().url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{url.database}"'.encode())
    return rooted(Where(url.render_as_string(hide_password=False), f"soak-{soak.number()}"))


def connect(store: Store, tag: str) -> None:
    """Nothing has to be there but a connection."""
    store.get("main")


class Verb(NamedTuple):
    """``call`` is the verb alone. ``holds`` says whether a store has what the call stored. ``go_on``, for a verb of
    several transactions: how somebody goes on from a part. ``server``: what it needs of a server, if not a space among
    others. ``on_servers_alone``: SQLite has no such verb."""

    call: Callable[[Store, str], Any]
    holds: Callable[[Store, str], bool]
    prepare: Callable[[Store, str], Any] = connect
    go_on: Callable[[Store, str], Any] | None = None
    server: Callable[[Soak], Where] | None = None
    on_servers_alone: bool = False


def add_thread(store: Store, tag: str) -> None:
    """A thread of three turns that is named by the tag."""
    said = [{"content": f"{tag} {index}", "respond": index > 0} for index in range(3)]
    store.add_turns([*said[:2], {**said[2], "bookmark": tag}])


def add_name(store: Store, tag: str) -> None:
    store.bookmarks.set(tag, "main")


def is_head(store: Store, tag: str) -> bool:
    """The name of the tag is at a turn that says it."""
    return tag in store.text(tag)


def is_longer(store: Store, tag: str) -> bool:
    return len(store.log(tag)) == 4


def is_named(store: Store, tag: str) -> bool:
    return tag in store.bookmarks


def always(store: Store, tag: str) -> bool:
    """Nothing of this call alone can be seen."""
    return True


def database(store: Store) -> Database:
    """The one that the store is in."""
    return Database(store._database)


def other(store: Store) -> Store:
    """The space beside it that copies go to, and come from."""
    return database(store).store("copies")
