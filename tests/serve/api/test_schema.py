"""The API beside its OpenAPI document: schemathesis sends what the document allows and what it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from headish import Database
from headish.serve.api.openapi import describe
from headish.serve.api.table import VERBS, ApiVerb, BodyForm
from headish.values.access.tokens import RIGHTS
from support.loops import failing
from support.places import Place
from support.serving import Served, serving

EXAMPLES = 2
"""Requests of each kind, good and bad, to each verb."""
WAITING = {BodyForm.EVENTS, BodyForm.ANSWER}
"""Verbs that wait for others than the database."""


@pytest.mark.slow
@pytest.mark.postgresql
def test_whatever_is_sent_is_answered_as_the_document_says(new_place: Callable[[str], Place], tmp_path: Path) -> None:
    """Each request is thought of once, which takes longer than to answer it, and sent to a server on each database."""
    import schemathesis
    from schemathesis.checks import CHECKS

    # Without what it says of tokens: schemathesis would show some of its own.
    document = schemathesis.openapi.from_dict({**describe(), "security": []})
    checks = CHECKS.get_by_names(
        ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]
    )
    with ExitStack() as running:
        asked = [
            running.enter_context(filled(new_place(backend), tmp_path / backend))
            for backend in ("sqlite", "postgresql")
        ]

        def check(name: str) -> None:
            verb = next(each for each in VERBS if each.name == name)
            send(document[verb.path][verb.method], asked, checks)

        failed = failing([each.name for each in VERBS if each.form not in WAITING], check)
        assert not failed, "\n".join(f"{name}: {told}" for name, told in failed.items())


@contextmanager
def filled(place: Place, state: Path) -> Iterator[tuple[Served, str]]:
    """A server of a store that holds something, and a token with all rights; the store is whole in the end."""
    store = place.open()
    store.add_turn("a", bookmark="main")
    store.add_turn("b", continues="main", role="assistant")
    with Database.open(place.target) as database:
        token = database.access_tokens.add("all", space=store.space, rights=RIGHTS)
    with serving(place.target, state, space=store.space) as served:
        yield served, token
    assert store.verify().problems == ()
    place.close()


def send(operation: Any, asked: list[tuple[Served, str]], checks: Any) -> None:
    """Some requests that the document allows, and some that it does not."""
    from schemathesis import GenerationMode

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @settings(
            max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))
        def tried(case: Any) -> None:
            for served, token in asked:
                headers = {"Authorization": f"Bearer {token}"}
                response = case.call(base_url=f"{served.url}/api/v1", headers=headers, timeout=60)
                case.validate_response(response, checks=checks)
                assert response.status_code != 401, response.text

        tried()


def test_each_verb_is_in_the_document_once() -> None:
    paths = describe()["paths"]
    assert len(paths) == len(VERBS)

    def check(verb: ApiVerb) -> None:
        assert set(paths[verb.path]) == {verb.method.lower()}

    assert failing([[each] for each in VERBS], lambda row: check(row[0])) == {}
