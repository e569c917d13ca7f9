"""The examples and schemas of the OpenAPI document beside what a real server gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headish.serve.api.openapi import document, examples
from headish.serve.api.table import VERBS
from support.api_examples import collect
from support.over_http.schemas import problems_of

WITHOUT = {"streams.drop": "forgets a stream that cannot be recovered, which no call of the API leaves behind"}


@pytest.mark.slow
def test_every_verb_has_an_example_that_a_real_server_gave(tmp_path: Path) -> None:
    """Ids, times and hashes differ each time; the shapes do not."""
    found = collect(tmp_path)
    assert {verb.name for verb in VERBS} - set(found) == set(WITHOUT)
    written = {name: shape(each) for name, each in examples().items()}
    assert {name: shape(each) for name, each in found.items()} == written, "run `make examples`"


def shape(value: Any) -> Any:
    """A value without what differs each time."""
    if isinstance(value, dict):
        return {"an id" if len(name) == 25 else name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return type(value).__name__


def test_every_example_is_what_its_schema_says_and_no_more() -> None:
    wrong = {name: problems_of(name, each["answer"]) for name, each in examples().items() if "answer" in each}
    assert {name: told for name, told in wrong.items() if told} == {}


def test_a_schema_refuses_what_it_does_not_name() -> None:
    turn = examples()["get"]["answer"]
    assert problems_of("get", {**turn, "more": 1})
    assert problems_of("get", {name: value for name, value in turn.items() if name != "seal"})
    assert problems_of("stats", {**examples()["stats"]["answer"], "turns": "many"})


def test_the_document_is_valid_and_says_of_each_operation_what_it_needs_to() -> None:
    from openapi_spec_validator import validate

    made = json.loads(document())
    validate(made)
    operations = [each for path in made["paths"].values() for each in path.values()]
    assert len({each["operationId"] for each in operations}) == len(operations) == len(VERBS)
    thin = [each["operationId"] for each in operations
            if not each["summary"] or not {"400", "401", "403", "404", "503"} <= set(each["responses"])]  # fmt: skip
    assert thin == []
