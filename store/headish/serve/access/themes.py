"""The theme of the pages: the system's, light or dark. A cookie remembers the choice, so it needs no script."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from headish.errors import InvalidArgument
from headish.values.access.hosts import values_of

SYSTEM, LIGHT, DARK = "system", "light", "dark"
THEMES = (SYSTEM, LIGHT, DARK)
COOKIE, COOKIE_SECONDS = "headish_theme", 365 * 24 * 60 * 60


def theme_of(scope: Scope) -> str:
    """The theme that a request asks for."""
    theme = cookie_parser(";".join(values_of(scope["headers"], b"cookie"))).get(COOKIE, SYSTEM)
    return theme if theme in THEMES else SYSTEM


async def set_theme(request: Request) -> Response:
    """Remember a theme, and go back to the page that asked. It changes nothing in the database, so it may be a GET.

    Raises: InvalidArgument for an unknown theme.
    """
    theme = request.query_params.get("theme", "")
    if theme not in THEMES:
        raise InvalidArgument(f"a theme is one of {', '.join(THEMES)}")
    answer = RedirectResponse(_own_path(request.query_params.get("to", "")), 303)
    is_secure = request.state.origin.startswith("https:")
    answer.set_cookie(COOKIE, theme, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=is_secure)
    return answer


def _own_path(to: str) -> str:
    """``to`` if it is a path of this server, else the list. Browsers read a backslash as a slash."""
    is_own = to.startswith("/") and not to.startswith(("//", "/\\")) and urlsplit(to)[:2] == ("", "")
    return to if is_own and to.isprintable() else "/"


def theme_routes() -> list[BaseRoute]:
    """``GET /theme?theme=…&to=PATH``."""
    return [Route("/theme", set_theme)]
