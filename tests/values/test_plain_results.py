"""Every result gives itself as plain data, which JSON takes."""

from __future__ import annotations

import importlib
import json
import pkgutil
from datetime import datetime
from pathlib import Path

import msgspec

from headish import Store
from headish.values import results
from headish.values.results.conversations import Filter

ASKED = {Filter}
"""What is asked with, and no result."""


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
