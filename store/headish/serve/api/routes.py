"""The routes of ``/api/v1``, made of the table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from headish.serve.api.calling import call
from headish.serve.api.openapi import document
from headish.serve.api.streaming import ask, follow
from headish.serve.api.table import VERBS, ApiVerb, BodyForm

ROOT = "/api/v1"
LARGE = frozenset(f"{ROOT}{verb.path}" for verb in VERBS if verb.form is BodyForm.BODY)
"""The paths whose bodies may be as large as a payload."""

_HANDLERS: dict[BodyForm, Callable[[Request, ApiVerb], Awaitable[Response]]] = {
    BodyForm.EVENTS: follow,
    BodyForm.ANSWER: ask,
}


def api_routes() -> list[BaseRoute]:
    """The routes of all verbs, and ``/api/v1/openapi.json``."""
    routes = [
        Route(verb.path, _endpoint(verb), methods=[verb.method], name=verb.name, include_in_schema=False)
        for verb in VERBS
    ]
    return [Mount(ROOT, routes=[Route("/openapi.json", _describe), *routes])]


def _endpoint(verb: ApiVerb) -> Callable[[Request], Awaitable[Response]]:
    handle = _HANDLERS.get(verb.form, call)

    async def endpoint(request: Request) -> Response:
        return await handle(request, verb)

    return endpoint


async def _describe(request: Request) -> Response:
    return Response(document(), media_type="application/json")
