"""The table of routes beside the verbs of a store."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from headish.aio.verbs import parts
from headish.aio.verbs.store import StoreVerbs
from headish.content.drafts import DocumentOptions, TurnOptions
from headish.serve.api.openapi import document
from headish.serve.api.table import ARGUMENTS_NOT_SERVED, NOT_SERVED, VERBS, BodyForm

OF_DATABASES = {"AsyncAccessTokens", "AsyncSpaces"}


def verbs_of(kind: type, part: str = "") -> dict[str, Any]:
    return {part + name: value for name, value in vars(kind).items() if name[0] != "_" and inspect.isfunction(value)}


def all_verbs() -> dict[str, Any]:
    found = verbs_of(StoreVerbs)
    for name, kind in vars(parts).items():
        if isinstance(kind, type) and kind.__module__ == parts.__name__ and name not in OF_DATABASES:
            found |= verbs_of(kind, f"{name.removeprefix('Async').lower()}.")
    return found


def test_every_verb_of_a_store_has_a_route_or_a_reason() -> None:
    served = {verb.name for verb in VERBS}
    assert served & set(NOT_SERVED) == set()
    assert served | set(NOT_SERVED) == set(all_verbs())
    assert len(served) == len(VERBS)


def test_every_argument_is_one_that_its_verb_takes_and_none_is_missing_without_a_reason() -> None:
    wrong, missing = [], []
    known = all_verbs()
    for verb in VERBS:
        parameters = inspect.signature(known[verb.name]).parameters
        taken = set(parameters) - {"self"}
        if "turn" in taken:
            taken |= (TurnOptions if verb.name == "add_turn" else DocumentOptions).__annotations__.keys()
            taken.remove("turn")
        left = taken - set(verb.arguments.__struct_fields__) - set(ARGUMENTS_NOT_SERVED)
        missing += [f"{verb.name}.{name}" for name in left if f"{verb.name}.{name}" not in ARGUMENTS_NOT_SERVED]
        if "options" in taken or "call" in taken:
            taken |= {"ptr", "to", "model"}
        if verb.form is BodyForm.PAGE:
            taken.add("limit")
        wrong += [(verb.name, name) for name in verb.arguments.__struct_fields__ if name not in taken]
    assert wrong == missing == []


def test_the_reasons_are_those_of_arguments_that_no_route_takes() -> None:
    """A reason that outlived its cause is told."""
    served = {
        name for verb in VERBS for each in verb.arguments.__struct_fields__ for name in (each, f"{verb.name}.{each}")
    }
    assert served & {name for name in ARGUMENTS_NOT_SERVED if "." in name} == set()
    signatures = [inspect.signature(each).parameters for each in all_verbs().values()]
    known = {name for parameters in signatures for name in parameters}
    assert {name.rpartition(".")[2] for name in ARGUMENTS_NOT_SERVED} - known == {"inherited", "meta"} - known


def test_no_argument_names_a_file_an_address_or_a_key() -> None:
    """A token would reach what its holder cannot: files of the server, its environment, other hosts with its keys."""
    dangerous = {"base_url", "key_env", "headers", "params_file", "dest", "folder", "source", "document", "keep_path"}
    dangerous |= {"cloud", "profile", "objects", "progress", "run", "approve", "told", "debug"}
    found = [(verb.name, name) for verb in VERBS for name in verb.arguments.__struct_fields__ if name in dangerous]
    assert found == []


def test_the_checked_in_document_is_that_of_the_table() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"
    assert page.read_bytes() == document(), "run `make docs`"
