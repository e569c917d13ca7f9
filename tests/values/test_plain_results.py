"""Every result gives itself as plain data, which JSON takes."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import headish
from headish import Database, Store
from headish.database.isolation.measures import Measure
from headish.database.isolation.members import Member
from headish.database.isolation.securing import Secured
from headish.database.spreading import Placed
from headish.errors import DatabaseLocked
from headish.store.asking.unfinished import Fetched
from headish.store.later import Later
from headish.values import results
from headish.values.results.conversations import Filter

ASKED = {Filter}
"""What is asked with, and no result."""
BLOCKS = {"ToolUse"}
"""What a message holds: the message gives it as plain data."""
RECORDS = {"SpokenTurn", "TranscriptMessage"}
"""What a transaction hands to adapters, with which they go on."""
INSIDE = {"Attributes", "Overlay", "Face", "Sources", "Kind"}
"""What a message, a page or a request consists of: each is told by what holds it. ``Kind`` is a literal's name."""


class Verb(NamedTuple):
    """A verb or a property of a public object, and the names in the annotation of what it gives."""

    name: str
    gives: frozenset[str]


def verbs_of(kind: type) -> Iterator[Verb]:
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        # One that is loaded late stands for any of its attributes: it is asked for itself first.
        fget = None if isinstance(found, Later) else getattr(found, "fget", None)
        function = fget or getattr(getattr(kind, name), "__wrapped__", getattr(kind, name))
        gives = getattr(function, "__annotations__", {}).get("return")
        if name[0] != "_" and gives is not None:
            yield Verb(f"{kind.__name__}.{name}", frozenset(re.findall(r"\w+", str(gives))))


def parts_of(kind: type) -> set[str]:
    """The names in the annotations of a result's fields and properties."""
    fields = [said for each in kind.__mro__ for said in inspect.get_annotations(each).values()]
    return {name for said in fields for name in re.findall(r"\w+", str(said))} | {
        name for verb in verbs_of(kind) if isinstance(vars(kind).get(verb.name.partition(".")[2]), property)
        for name in verb.gives
    }  # fmt: skip


def classes_of_the_library() -> dict[str, type]:
    """By name; no name stands twice (``test_habits``)."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(headish.__path__, "headish."):
        if not module.name.startswith(("headish.integrations", "headish.serve", "headish.gateway")):
            imported = importlib.import_module(module.name)
            found |= {name: each for name, each in vars(imported).items() if isinstance(each, type)}
    return {name: each for name, each in found.items() if each.__module__.startswith("headish.")}


def test_every_result_class_has_it() -> None:
    names = [each.name for each in pkgutil.iter_modules(results.__path__)]
    modules = [importlib.import_module(f"{results.__name__}.{name}") for name in names]
    classes = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == module.__name__
    }
    assert len(classes) > 30
    assert {each for each in classes - ASKED if not hasattr(each, "to_dict")} == set()


def test_json_takes_what_each_gives(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        store.add_turn("Hello", bookmark="main")
        store.conversations.set("main", title="Greeting")
        store.pointers.set("p", "openai/m")
        store.bookmarks.set("other", "main")
        exported = list(store.export_each(["main"], "text"))
        erased = store.erase("other", reason="asked")
        values = [
            erased, erased.found, *store.erasures, *store.follow(wait=False), *store.audit(), *exported,
            store.backup(tmp_path / "a.hbackup"),
        ]  # fmt: skip
    kinds = {type(each).__name__ for each in values}
    assert {"TurnChange", "MoveChange", "RecordChange", "DefinitionChange", "ErasureChange", "Live"} <= kinds
    assert {"Receipt", "Audited", "Exported", "Backup"} <= kinds
    for each in values:
        plain = json.loads(json.dumps(each.to_dict()))
        assert set(plain) - {"kind"} <= set(each.__struct_fields__), each
        if "time" in plain:
            assert datetime.fromisoformat(plain["time"]).tzinfo is not None


def test_it_has_the_keys_of_a_receipts_json(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store:
        store.add_turn("Hello", bookmark="main")
        receipt = store.erase("main", reason="asked").receipt
        assert receipt is not None
        assert receipt.to_dict().keys() == json.loads(msgspec.json.encode(receipt)).keys()


def test_whatever_a_verb_gives_has_it() -> None:
    classes = classes_of_the_library()
    rooms = ("headish.store.asking", "headish.store.keeping", "headish.store.transactions")
    objects = {each for each in classes.values() if each.__module__.startswith(rooms)}
    seen, without = 0, set()
    for kind in {Store, Database} | objects:
        for verb in verbs_of(kind):
            given = [classes[name] for name in verb.gives & classes.keys()]
            structs = [each for each in given if issubclass(each, msgspec.Struct)]
            seen += len(structs)
            without |= {f"{verb.name}: {each.__name__}" for each in structs if not hasattr(each, "to_dict")}
    assert seen > 50
    assert {each for each in without if each.rpartition(" ")[2] not in BLOCKS | RECORDS} == set()


def test_so_has_whatever_a_result_consists_of() -> None:
    classes = classes_of_the_library()
    seen: set[type] = set()
    found = {classes[name] for kind in (Store, Database) for verb in verbs_of(kind) for name in verb.gives & {*classes}}
    while found:
        seen |= found
        names = {name for each in found if issubclass(each, msgspec.Struct) for name in parts_of(each)}
        found = {classes[name] for name in names & {*classes}} - seen
    structs = {each for each in seen if issubclass(each, msgspec.Struct)}
    assert {"Diff", "Change", "Piece", "Stat", "Tokens", "TurnTokens"} <= {each.__name__ for each in structs}
    without = {each.__name__ for each in structs if not hasattr(each, "to_dict")}
    assert without <= BLOCKS | RECORDS | INSIDE


def test_results_of_edits_imports_and_databases_are_plain(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"role": "user", "content": [{"type": "text", "text": "Hi"}]}\n')
    with Store.open(tmp_path / "a.db") as store:
        store.add_turn("Hello", bookmark="main")
        edited, siblings = store.edit("main", "Hullo"), store.siblings("main")
        imported = store.import_file(tmp_path / "a.jsonl", "records")
        turn = store.get("main")
    measure = Measure("role", "headish_owner", "there is none")
    secured = Secured(False, ("turn",), (), (measure,))
    values: list[Any] = [
        edited, siblings, imported, measure, secured, Placed("turn", "spread"), Member("ann", None, "reader"),
        Fetched((turn,), (), ((turn, DatabaseLocked("a.db", "it is locked")),)),
    ]  # fmt: skip
    for each in values:
        assert list(json.loads(json.dumps(each.to_dict()))) == list(each.__struct_fields__), each
    assert edited.to_dict()["turn"] == turn.to_dict()
    assert siblings.to_dict()["turns"][1] == turn.to_dict()
    assert secured.to_dict()["missing"][0]["on"] == "headish_owner"
    assert values[-1].to_dict()["failed"] == [[turn.to_dict(), "a.db: it is locked"]]
