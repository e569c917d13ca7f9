"""The async verbs are those of the sync classes: each one, and its parameters word by word."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping

import pytest
from async_verbs import ASKING, FOLDER, MODULES, PARTS, STEPS, WAITING, WIDER, module_of

from headish.aio import AsyncDatabase, AsyncStore
from headish.aio.verbs import parts
from headish.store.asking.batches import Batches
from headish.store.database import Database
from headish.store.keeping.bundles import Bundles
from headish.store.keeping.remotes import Remotes
from headish.store.store import Store

PAIRS = [
    (Store, AsyncStore),
    (Database, AsyncDatabase),
    *((part, getattr(parts, f"Async{part.__name__}")) for part in PARTS),
]
NAMED = {"__len__": "count", "__contains__": "contains", "__iter__": "__aiter__", "__getitem__": "__getitem__"}
VIEWS = {"keys"}
"""``async for`` over the part is over its keys."""


@pytest.mark.parametrize("name", MODULES)
def test_the_modules_are_what_would_be_written_now(name: str) -> None:
    assert module_of(name) == (FOLDER / f"{name}.py").read_text("utf-8"), "run: make aio"


@pytest.mark.parametrize(("sync", "front"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_verb_has_its_coroutine(sync: type, front: type) -> None:
    wanted = {NAMED.get(name, name) for name in public(sync)} - VIEWS
    assert wanted <= public(front) | {"__aiter__", "__getitem__"}


@pytest.mark.parametrize(("sync", "front"), PAIRS, ids=lambda kind: kind.__name__)
def test_every_signature_is_that_of_the_sync_verb(sync: type, front: type) -> None:
    compared = 0
    for name in public(sync) & public(front):
        known, found = getattr(sync, name), getattr(front, name)
        if (
            isinstance(known, property)
            or not callable(known)
            or name in NAMED
            or not known.__module__.startswith("headish")
        ):
            continue
        assert parameters(known) == parameters(found), name
        compared += 1
    assert compared or issubclass(sync, Mapping)


def test_the_lists_of_verbs_name_verbs() -> None:
    verbs = public(Store) | public(Database) | public(Batches) | public(Bundles) | public(Remotes)
    assert ASKING | WAITING | set(STEPS) <= verbs


def public(kind: type) -> set[str]:
    return {
        name
        for name, _ in inspect.getmembers(kind)
        if not name.startswith("_") or (name in NAMED and name in vars(kind))
    }


def parameters(function: object) -> list[tuple[str, object, object, object]]:
    """The parameters behind the first, but for what an async verb takes more."""
    assert callable(function)
    found = list(inspect.signature(function).parameters.values())
    found = found[1:] if found[0].name in ("self", "space", "cls") and not inspect.ismethod(function) else found
    return [(each.name, each.kind, each.default, spelled(each)) for each in found]


def spelled(parameter: inspect.Parameter) -> str:
    text = str(parameter.annotation)
    wider, _ = WIDER.get(parameter.name, ("", {}))
    text = text.removesuffix(wider).replace('"', "'")
    return re.sub(r"\b(?:[A-Z][a-z]+)+(Progress|Told|Count)\b", r"\1", text)  # of several types of one name
