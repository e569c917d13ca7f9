"""Every public verb is in one of two lists: what only reads, and what writes, with the tests where it races others.

A new verb is in neither: the test fails until somebody says which it is, and, of one that writes, has it race.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from headish import Database, Store
from headish.store.asking.batches import Batches
from headish.store.asking.pointers import Pointers
from headish.store.asking.streams import Streams
from headish.store.asking.tools import Tools
from headish.store.keeping.bookmarks import Bookmarks
from headish.store.keeping.conversations import Conversations
from headish.store.keeping.objects import Objects
from headish.store.keeping.spaces import Spaces
from support.loops import failing

TESTS = Path(__file__).parents[1]
KINDS = (Store, Batches, Bookmarks, Conversations, Objects, Pointers, Streams, Tools, Database, Spaces)
RACES, JOURNALS = "concurrency/test_races.py", "answers/test_journal.py"
SPACES, COPIES = "store/test_database.py", "store/test_copying.py"
WRITING = {
    **dict.fromkeys(
        (
            "Store.add_turn", "Store.add_turns", "Store.add_document", "Store.record", "Store.import_file",
            "Store.reply", "Store.edit", "Bookmarks.set", "Bookmarks.remove", "Bookmarks.rename", "Bookmarks.undo",
            "Conversations.set", "Objects.put", "Objects.remove", "Pointers.set", "Pointers.remove", "Tools.set",
            "Tools.remove", "Store.copy_to", "Store.hide", "Store.unhide", "Store.replace", "Store.original",
            "Store.keep", "Store.summarize", "Store.compact", "Pointers.set_default",
        ),
        RACES,
    ),
    **dict.fromkeys(("Store.capture", "Streams.recover", "Streams.drop"), JOURNALS),
    **{f"Batches.{name}": "answers/test_batches.py" for name in ("create", "status", "collect", "drop")},
    "Streams.recover_remote": "answers/test_remote.py",
    "Database.move": COPIES,
    "Store.write": "store/test_transactions.py",
    "Store.erase": "erasing/test_races.py",
    "Store.sign": "signing/test_signatures.py",
    "Bookmarks.erase": "erasing/test_names.py",
    "Spaces.erase": "erasing/test_spaces.py",
    "Database.gc": "erasing/test_killed.py",
    "Spaces.limit": "store/test_quotas.py",
    **dict.fromkeys(("Store.search", "Store.reindex", "Database.search_index"), "searching/test_index.py"),
    "Database.distribute": "database/test_spreading.py",
    **dict.fromkeys(("Database.secure", "Spaces.grant", "Spaces.revoke"), "database/isolation/test_securing.py"),
    **dict.fromkeys(("Spaces.add", "Spaces.remove", "Spaces.rename"), SPACES),
}  # fmt: skip
"""What stores something, and the file whose tests call it beside others."""
THROUGH = {
    **dict.fromkeys(("Store.ask", "Store.open_answer", "Store.retry", "Store.open_retry"), "Store.capture"),
    "Store.say": "Store.add_turn",
    "Store.import_changed": "Store.import_file",
    "Store.ask_title": "Conversations.set",
    "Store.run_tools": "Store.add_turn",
    "Streams.recover_quietly": "Streams.recover",
    "Store.open": "Database.open",
}
"""What stores something through another verb alone."""
READING = {
    *(f"Store.{name}" for name in (
        "abbreviate", "blocks", "children", "diff", "export", "find", "get", "heads", "read", "lint", "log", "messages",
        "open_calls", "options", "payload", "render", "request", "resolve", "siblings", "stats", "text", "thread",
        "tree", "turns", "usage", "verify", "versions", "follow", "position", "audit", "backup", "tokens", "cost",
        "export_each", "export_folder", "render_pieces", "signatures", "stretch",
    )),
    *(f"Batches.{name}" for name in ("get", "list")),
    *(f"Bookmarks.{name}" for name in ("at", "history", "list")),
    *(f"Conversations.{name}" for name in ("find", "get", "list", "parts")),
    *(f"Objects.{name}" for name in ("get", "list")),
    *(f"Pointers.{name}" for name in ("history", "list", "url")),
    "Streams.list", "Tools.list", "Database.verify", "Database.backup", "Spaces.list",
    "Spaces.members",
}  # fmt: skip
"""What stores nothing."""
OPENING = {"Store.at_least", "Store.close", "Database.open", "Database.close", "Database.store"}
"""What opens and closes: concurrency/test_sharing.py and database/ have their races."""


def verbs() -> Iterator[str]:
    for kind in KINDS:
        for name, member in inspect.getmembers(kind, inspect.isroutine):
            if not name.startswith("_") and member.__module__.startswith("headish"):
                yield f"{kind.__name__}.{name}"


@cache
def called(path: Path) -> set[str]:
    """The methods that a module calls: ``edit`` of a store, ``pointers.set`` of a part."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    methods = [node.func for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    parts = {f"{method.value.attr}.{method.attr}" for method in methods if isinstance(method.value, ast.Attribute)}
    return parts | {method.attr for method in methods}


def test_every_verb_is_in_one_list() -> None:
    listed = [*WRITING, *THROUGH, *READING, *OPENING]
    assert sorted(listed) == sorted(verbs()), "say of a new verb whether it writes, and have it race others"


def test_a_verb_that_writes_is_called_where_it_is_said_to_race() -> None:
    def is_called(verb: str) -> None:
        kind, _, name = verb.rpartition(".")
        assert (name if kind in ("Store", "Database") else f"{kind.lower()}.{name}") in called(TESTS / WRITING[verb])

    assert failing(WRITING, is_called) == {}


def test_what_writes_through_another_verb_names_one_that_is_listed() -> None:
    assert set(THROUGH.values()) <= WRITING.keys() | OPENING
