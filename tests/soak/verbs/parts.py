"""The verbs of a store's parts and of its database."""

from __future__ import annotations

import psycopg

from headish import Database, Store
from headish.errors import UnknownObject
from soak.rounds import Soak, Where
from soak.verbs.verb import Verb, add_name, add_thread, always, database, is_named, own_database


def _is_kept(store: Store, tag: str) -> bool:
    try:
        return store.objects.get("kind", tag).data == tag.encode()
    except UnknownObject:
        return False


def _secured(soak: Soak) -> Where:
    """A space of a database whose spaces the server keeps apart."""
    where = own_database(soak)
    with Database.open(where.target) as made:
        made.secure()
    return where


def _add_login(store: Store, tag: str) -> None:
    with psycopg.connect(store._backend.target.replace("+psycopg", "")) as connection:
        connection.execute(f'CREATE ROLE "{tag}" LOGIN'.encode())


def _grant(store: Store, tag: str) -> None:
    database(store).spaces.grant(store.space, tag)


def _is_member(store: Store, tag: str) -> bool:
    return any(each.login == tag for each in database(store).spaces.members())


PARTS: dict[str, Verb] = {
    "Bookmarks.set": Verb(add_name, is_named),
    "Bookmarks.remove": Verb(
        lambda store, tag: store.bookmarks.remove(tag), lambda store, tag: tag not in store.bookmarks, add_name
    ),
    "Bookmarks.rename": Verb(
        lambda store, tag: store.bookmarks.rename(tag, f"{tag}.new"),
        lambda store, tag: tag not in store.bookmarks and f"{tag}.new" in store.bookmarks, add_name,
    ),
    "Bookmarks.undo": Verb(
        lambda store, tag: store.bookmarks.undo(tag), lambda store, tag: store.text(tag) == f"{tag} 1", add_thread
    ),
    "Bookmarks.erase": Verb(
        lambda store, tag: store.bookmarks.erase(tag, reason="asked for", scrub=False),
        lambda store, tag: tag not in store.bookmarks, add_name,
    ),
    "Conversations.set": Verb(
        lambda store, tag: store.conversations.set(tag, title=tag),
        lambda store, tag: store.conversations.get(tag).record.title == tag, add_thread,
    ),
    "Objects.put": Verb(
        lambda store, tag: store.objects.put("kind", tag, tag.encode()),
        _is_kept,
    ),
    "Objects.remove": Verb(
        lambda store, tag: store.objects.remove("kind", tag),
        lambda store, tag: not _is_kept(store, tag),
        lambda store, tag: store.objects.put("kind", tag, tag.encode()),
    ),
    "Pointers.set": Verb(
        lambda store, tag: store.pointers.set(tag, f"openai/{tag}"), lambda store, tag: tag in store.pointers
    ),
    "Pointers.remove": Verb(
        lambda store, tag: store.pointers.remove(tag), lambda store, tag: tag not in store.pointers,
        lambda store, tag: store.pointers.set(tag, "openai/m"),
    ),
    "Pointers.set_default": Verb(
        lambda store, tag: store.pointers.set_default(tag), lambda store, tag: store.pointers.default is not None,
        lambda store, tag: store.pointers.set(tag, "openai/m"),
    ),
    "Tools.set": Verb(
        lambda store, tag: store.tools.set(tag, []), lambda store, tag: tag in store.tools
    ),
    "Tools.remove": Verb(
        lambda store, tag: store.tools.remove(tag), lambda store, tag: tag not in store.tools,
        lambda store, tag: store.tools.set(tag, []),
    ),
    "Spaces.add": Verb(
        lambda store, tag: database(store).spaces.add(tag), lambda store, tag: tag in database(store).spaces
    ),
    "Spaces.rename": Verb(
        lambda store, tag: database(store).spaces.rename(tag, f"{tag}.new"),
        lambda store, tag: f"{tag}.new" in database(store).spaces, lambda store, tag: database(store).spaces.add(tag),
    ),
    "Spaces.limit": Verb(
        lambda store, tag: database(store).spaces.limit(tag, turns=7),
        lambda store, tag: database(store).spaces.limit(tag).limit_turns == 7,
        lambda store, tag: database(store).spaces.add(tag),
    ),
    "Spaces.grant": Verb(_grant, _is_member, _add_login, server=_secured, on_servers_alone=True),
    "Spaces.revoke": Verb(
        lambda store, tag: database(store).spaces.revoke(store.space, tag),
        lambda store, tag: not _is_member(store, tag), lambda store, tag: (_add_login(store, tag), _grant(store, tag)),
        server=_secured, on_servers_alone=True,
    ),
    "Spaces.remove": Verb(
        lambda store, tag: database(store).spaces.remove(tag), lambda store, tag: tag not in database(store).spaces,
        lambda store, tag: database(store).spaces.add(tag),
    ),
    "Spaces.erase": Verb(
        lambda store, tag: database(store).spaces.erase(tag, reason="asked for", scrub=False),
        lambda store, tag: tag not in database(store).spaces, lambda store, tag: database(store).spaces.add(tag),
    ),
    "Database.search_index": Verb(
        lambda store, tag: database(store).search_index(False),
        lambda store, tag: any(store.search(f'"{tag}"', limit=1)),
        lambda store, tag: (add_thread(store, tag), database(store).search_index(True)),
        go_on=lambda store, tag: database(store).search_index(False), server=own_database,
    ),
    # It looks at all spaces of a database.
    "Database.gc": Verb(lambda store, tag: database(store).gc(), always, server=own_database),
}  # fmt: skip
