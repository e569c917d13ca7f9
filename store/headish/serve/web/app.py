"""The application: the layers that every request passes, and the mounted routes.

To mount routes, write a function that returns them, and call it in ``build_app``. A route gets a request that was
admitted: ``await enter(request, "read")`` gives the ``AsyncStore`` of the space that it names, if the caller has that
right there, and ``caller_of(request)`` the caller (both in ``serve.access.state``). An error that a route raises
becomes the answer (``serve.access.problems``). Paths under ``/assets/`` need no login, so they must show nothing of
anybody's.

Layers, from the outside: ``Guard`` (host, target, peer, headers of answers), ``Admission`` (caller, cross-site),
``BodyLimit``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from headish.aio import AsyncDatabase
from headish.errors import HeadishError
from headish.serve.access.admitting import Admission
from headish.serve.access.guarding import BODY_LIMIT_BYTES, BodyLimit, Guard
from headish.serve.access.login import login_routes
from headish.serve.access.logins import Logins
from headish.serve.access.problems import answer_error
from headish.serve.access.settings import WebSettings
from headish.serve.access.state import WebState
from headish.serve.access.themes import theme_routes
from headish.serve.access.token_book import TokenBook
from headish.serve.api.routes import LARGE, api_routes
from headish.serve.mcp.endpoint import McpEndpoint
from headish.serve.pages.routes import page_routes
from headish.serve.sync.endpoint import LIMITS, sync_routes
from headish.serve.web.telling import keep_telling
from headish.values.access.trying import WrongTries
from headish.values.limits import PAYLOAD_LIMIT_BYTES


def build_app(settings: WebSettings, database: AsyncDatabase) -> ASGIApp:
    """Build the application that serves an open database. Raises: InvalidArgument, InvalidAddress for bad settings."""
    settings.check()
    mcp = McpEndpoint(settings)
    logins, tokens, tries = Logins(Path(settings.folder), time.time), TokenBook(database), WrongTries()
    app = Starlette(
        # In the order in which they are tried.
        routes=[*login_routes(), *theme_routes(), *api_routes(), *sync_routes(), *page_routes(), *mcp.routes()],
        lifespan=partial(_running, mcp),
        exception_handlers={HeadishError: answer_error, HTTPException: answer_error, Exception: answer_error},
        middleware=[
            Middleware(Admission, settings=settings, logins=logins, find=tokens.find, tries=tries),
            Middleware(BodyLimit, limit_of=_limit_of),
        ],
    )
    app.state.web = WebState(database, settings, logins, tokens, tries, settings.read_prices())
    # Outside of Starlette's own error layer, so that the answer to a failure has the headers of the Guard, too.
    return Guard(app, settings)


@asynccontextmanager
async def _running(mcp: McpEndpoint, app: Starlette) -> AsyncIterator[None]:
    """Run the tasks that last as long as the application."""
    web: WebState = app.state.web
    async with mcp.running(app):
        # A read-only server has no gateway that could be told anything.
        telling = None if web.settings.read_only else asyncio.ensure_future(keep_telling(web))
        try:
            yield
        finally:
            if telling is not None:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)


def _limit_of(path: str) -> int:
    """The limit in bytes of a request's body, by its path."""
    return PAYLOAD_LIMIT_BYTES if path in LARGE else LIMITS.get(path, BODY_LIMIT_BYTES)
