"""Every public verb is in one of two lists: what only reads, and what writes, with the tests where it races others.

A new verb is in neither: the test fails until somebody says which it is, and, of one that writes, has it race.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import headish
from headish import Database, Store
from soak.verbs import LEFT_OUT, VERBS
from support.loops import failing

TESTS = Path(__file__).parents[1]
RACES, JOURNALS = "concurrency/test_races.py", "answers/test_journal.py"
KEYS = "syncing/test_keys_and_places.py"
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
    **dict.fromkeys(("AccessTokens.add", "AccessTokens.remove"), "store/test_access_tokens.py"),
    "Bundles.apply": "syncing/test_bundles.py",
    **dict.fromkeys(("Remotes.add", "Remotes.set", "Remotes.remove", "Remotes.invite", "Remotes.revoke"), KEYS),
    **dict.fromkeys(("Remotes.push", "Remotes.pull"), "syncing/test_cut_off.py"),
    **dict.fromkeys(("Remotes.erase_pending", "Remotes.dismiss_pending"), "syncing/live/test_erasures.py"),
    "Remotes.answer": "syncing/live/test_hostile.py",
    "restore": "backups/test_backups.py",
}  # fmt: skip
"""What stores something, and the file whose tests call it beside others."""
PROPERTIES = {"AccessTokens": "access_tokens"}
"""Those that are not called like their classes."""
THROUGH = {
    **dict.fromkeys(("Store.ask", "Store.open_answer", "Store.retry", "Store.open_retry"), "Store.capture"),
    "Store.say": "Store.add_turn",
    "Store.import_changed": "Store.import_file",
    "Store.ask_title": "Conversations.set",
    "Store.run_tools": "Store.add_turn",
    "Streams.recover_quietly": "Streams.recover",
    "Store.open": "Database.open",
    "Remotes.exchange": "Remotes.push",
    "Remotes.clone": "Remotes.pull",
}
"""What stores something through another verb alone."""
READING = {
    *(f"Store.{name}" for name in (
        "abbreviate", "blocks", "children", "contents", "diff", "export", "find", "get", "heads", "read", "lint", "log",
        "messages", "open_calls", "options", "payload", "render", "request", "resolve", "siblings", "stats", "text",
        "thread", "tree", "turns", "usage", "verify", "versions", "follow", "position", "audit", "backup", "tokens",
        "cost", "export_each", "export_folder", "render_pieces", "signatures", "stretch",
    )),
    *(f"Batches.{name}" for name in ("get", "list")),
    *(f"Bookmarks.{name}" for name in ("at", "history", "list")),
    *(f"Conversations.{name}" for name in ("find", "get", "list", "parts")),
    *(f"Objects.{name}" for name in ("get", "list")),
    *(f"Pointers.{name}" for name in ("history", "list", "url")),
    "Streams.list", "Tools.list", "Database.verify", "Database.backup", "Spaces.list",
    "Spaces.members", "AccessTokens.list", "Bundles.create", "Erasures.list",
    *(f"Calls.{name}" for name in ("body", "get", "list", "spooled")),
    *(f"Remotes.{name}" for name in (
        "bookmarks", "devices", "elsewhere", "list", "not_reached", "pending_erasures", "status",
    )),
    "emit", "rewrite_bundle", "verify_bundle",
}  # fmt: skip
"""What stores nothing in a database."""
OPENING = {"Store.at_least", "Store.close", "Database.open", "Database.close", "Database.store"}
"""What opens and closes: concurrency/test_sharing.py and database/ have their races."""


def kinds() -> Iterator[type]:
    """A store, a database, and what their properties give."""
    with Store.open(":memory:") as store:
        for each in (store, Database(store._database)):
            yield type(each)
            for name, _ in inspect.getmembers(type(each), lambda member: isinstance(member, property)):
                kind = type(getattr(each, name))
                if not name.startswith("_") and kind.__module__.startswith("headish"):
                    yield kind


def verbs() -> Iterator[str]:
    for kind in kinds():
        for name, member in inspect.getmembers(kind, inspect.isroutine):
            if not name.startswith("_") and member.__module__.startswith("headish"):
                yield f"{kind.__name__}.{name}"
    yield from (name for name in headish.__all__ if inspect.isfunction(getattr(headish, name)))


@cache
def called(path: Path) -> set[str]:
    """The methods that a module calls: ``edit`` of a store, ``pointers.set`` of a part."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    methods = [call for call in calls if isinstance(call, ast.Attribute)]
    parts = {f"{method.value.attr}.{method.attr}" for method in methods if isinstance(method.value, ast.Attribute)}
    return parts | {method.attr for method in methods} | {call.id for call in calls if isinstance(call, ast.Name)}


def test_every_verb_is_in_one_list() -> None:
    listed = [*WRITING, *THROUGH, *READING, *OPENING]
    assert sorted(listed) == sorted(verbs()), "say of a new verb whether it writes, and have it race others"


def test_a_verb_that_writes_is_called_where_it_is_said_to_race() -> None:
    def is_called(verb: str) -> None:
        kind, _, name = verb.rpartition(".")
        part = "" if kind in ("", "Store", "Database") else f"{PROPERTIES.get(kind, kind.lower())}."
        assert f"{part}{name}" in called(TESTS / WRITING[verb])

    assert failing(WRITING, is_called) == {}


def test_what_writes_through_another_verb_names_one_that_is_listed() -> None:
    assert set(THROUGH.values()) <= WRITING.keys() | OPENING


def test_every_verb_that_writes_is_struck_or_left_out_for_a_reason() -> None:
    assert sorted([*VERBS, *LEFT_OUT]) == sorted(WRITING), "strike a new verb (tests/soak/verbs), or say why not"


def test_what_is_left_out_names_the_tests_that_strike_it_otherwise() -> None:
    def names_tests(verb: str) -> None:
        named = re.findall(r"[\w/]+\.py", LEFT_OUT[verb])
        assert named
        assert all((TESTS / name).is_file() for name in named)

    assert failing(LEFT_OUT, names_tests) == {}
