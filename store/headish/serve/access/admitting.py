"""Admit callers: a session of a browser, a token of a program, a user whom the proxy names, and nobody else.

A cookie or the proxy's login, which a browser adds by itself, proves who the user is but not that the user wanted the
request: an unsafe method then must come from a page of this server. A program sends a token on purpose, so it needs no
such proof.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from headish.serve.access.callers import Caller, by_login, by_proxy, by_token
from headish.serve.access.logins import LOGIN_PATH, Logins
from headish.serve.access.problems import problem, refuse_guess
from headish.serve.access.settings import WebSettings
from headish.serve.access.watching import WatchedStream
from headish.values.access.hosts import is_from, may_change, values_of
from headish.values.access.tokens import Token
from headish.values.access.trying import WrongTries

ASSETS = "/assets/"
"""Beside the login, the paths that need no caller: the assets of the page."""
BEARER = "bearer "

FindToken: TypeAlias = Callable[[str], Awaitable[Token | None]]


class Admission:
    """The layer that finds the caller: ``scope["state"]["caller"]``, or None on an open path. It ends a stream of
    events when its caller is no longer admitted; a route whose requests take long calls
    ``scope["state"]["is_admitted"]`` again."""

    def __init__(self, app: ASGIApp, settings: WebSettings, logins: Logins, find: FindToken, tries: WrongTries) -> None:
        """``find`` looks up a token; it gives None for an unknown one."""
        self._app, self._settings = app, settings
        self._logins, self._find, self._tries = logins, find, tries

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = await self._caller(scope)
        refused = self._refusal(scope, caller)
        scope["state"]["caller"] = caller
        if refused is not None or caller is None:
            await (refused or self._app)(scope, receive, send)
            return

        async def is_admitted(scope: Scope) -> bool:
            return await self._caller(scope) == caller  # with the same rights in the same space, too

        scope["state"]["is_admitted"] = is_admitted
        await WatchedStream(scope, send, is_admitted).run(self._app, receive)

    async def _caller(self, scope: Scope) -> Caller | None:
        """Find the caller. A token comes first: a wrong one is refused even beside a good cookie."""
        authorizations = values_of(scope["headers"], b"authorization")
        read_only = self._settings.read_only
        if authorizations:
            text = authorizations[0][len(BEARER) :].strip() if authorizations[0].lower().startswith(BEARER) else ""
            # Of two, nobody can say which is meant.
            token = await self._find(text) if len(authorizations) == 1 else None
            return by_token(token, read_only=read_only) if token else None
        if self._logins.is_session(_session_of(scope, self._settings.cookie)):
            return by_login(read_only=read_only)
        user = self._user(scope)
        space = self._settings.space_of(user) if user else None
        return by_proxy(user, space, read_only=read_only) if space else None

    def _user(self, scope: Scope) -> str:
        """The user whom the proxy has logged in; empty without one, or if anybody but the proxy names one."""
        header = self._settings.user_header
        if header is None or not is_from(scope["client"][0], self._settings.behind_proxy):
            return ""
        users = values_of(scope["headers"], header.lower().encode())
        return users[0] if len(users) == 1 else ""  # of two, the client may have planted one beside the proxy's

    def _refusal(self, scope: Scope, caller: Caller | None) -> ASGIApp | None:
        if caller is None and values_of(scope["headers"], b"authorization"):
            # Counted for wrong tokens alone: a program with an old one must not lock out the others of its machine.
            wrong = problem(scope, 401, "WrongToken", "no such token", headers={"WWW-Authenticate": "Bearer"})
            return refuse_guess(scope, self._tries, "tokens", wrong)
        if caller is None and scope["path"] != LOGIN_PATH and not scope["path"].startswith(ASSETS):
            reason = "log in with the address that 'headish serve' printed, or show a token (headish token add)"
            return problem(scope, 401, "NotAdmitted", reason, headers={"WWW-Authenticate": "Bearer"})
        is_ambient = caller is None or caller.how != "token"
        if is_ambient and not may_change(scope["method"], scope["headers"], scope["state"]["origin"]):
            reason = "a page of another site, or another port, sent this; nothing was changed"
            return problem(scope, 403, "CrossSite", reason)
        return None


def _session_of(scope: Scope, cookie: str) -> str:
    """The session in the request's cookie; empty without one. Two cookies of that name count as none: somebody planted
    one."""
    cookies = ";".join(values_of(scope["headers"], b"cookie"))
    if sum(each.strip().startswith(f"{cookie}=") for each in cookies.split(";")) != 1:
        return ""
    return cookie_parser(cookies).get(cookie, "")
