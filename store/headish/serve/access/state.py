"""The state that the routes of the application share, and how a route enters a space."""

from __future__ import annotations

from typing import cast

from msgspec import Struct
from starlette.requests import Request

from headish.aio import AsyncDatabase, AsyncStore
from headish.content.prices import Prices
from headish.serve.access.callers import Caller
from headish.serve.access.logins import Logins
from headish.serve.access.settings import WebSettings
from headish.serve.access.token_book import TokenBook
from headish.values.access.tokens import Right
from headish.values.access.trying import WrongTries


class WebState(Struct, frozen=True):
    """The open database, and the state of the layers."""

    database: AsyncDatabase
    settings: WebSettings
    logins: Logins
    tokens: TokenBook
    tries: WrongTries
    prices: Prices | None = None


def state_of(request: Request) -> WebState:
    """The state that the routes share."""
    return cast(WebState, request.app.state.web)


def caller_of(request: Request) -> Caller:
    """The caller of a request. Not for routes on open paths, which have none."""
    return cast(Caller, request.state.caller)


def space_of(request: Request) -> str:
    """The space that a request names (``?space=``), else the caller's own, else the server's."""
    return request.query_params.get("space") or caller_of(request).space or state_of(request).settings.space


async def enter(request: Request, right: Right) -> AsyncStore:
    """Return the store of the space that a request names, for a caller with a right in it. Cheap; it needs no closing.

    Makes the space of a proxy's user at the first visit.
    Raises: UnknownSpace, RightMissing; InvalidName, SpaceRestoring.
    """
    web, caller, space = state_of(request), caller_of(request), space_of(request)
    caller.check(web.database.target, space, right)
    is_users = caller.how == "proxy" and not web.settings.read_only
    author = caller.name if caller.how == "proxy" else None
    return await web.database.store(space, create=is_users, author=author)
