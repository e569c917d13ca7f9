"""Log in with the printed address, and log out.

The answer to the address is a page that goes on to ``/``, not a redirect: a browser that came from another program's
page would not send a SameSite cookie with the redirected request.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from headish.serve.access.logins import LOGIN_PATH, SESSION_SECONDS
from headish.serve.access.plain_pages import plain_page
from headish.serve.access.problems import problem, refuse_guess
from headish.serve.access.state import state_of


async def log_in(request: Request) -> Response:
    """Redeem a code. A right code works however many wrong ones came from the same address."""
    web = state_of(request)
    session = web.logins.redeem(request.query_params.get("code", ""))
    if session is None:
        reason = "this address was used, or is older than five minutes: start 'headish serve' again for a new one"
        return refuse_guess(request.scope, web.tries, "codes", problem(request.scope, 403, "WrongCode", reason))
    page = HTMLResponse(
        plain_page("You are logged in", "This page goes on to your conversations.", home="/",
                   head_html='<meta http-equiv="refresh" content="0;url=/">\n'),
        headers={"Cache-Control": "no-store"},
    )  # fmt: skip
    is_secure = request.state.origin.startswith("https:")
    page.set_cookie(
        web.settings.cookie, session, max_age=SESSION_SECONDS, httponly=True, samesite="strict", secure=is_secure
    )
    return page


async def log_out(request: Request) -> Response:
    """End the session."""
    web = state_of(request)
    web.logins.end(request.cookies.get(web.settings.cookie, ""))
    page = HTMLResponse(plain_page("You are logged out", "For a new address, start 'headish serve' again."))
    page.delete_cookie(web.settings.cookie, httponly=True, samesite="strict")
    return page


def login_routes() -> list[BaseRoute]:
    """``GET /login?code=…`` and ``POST /logout``. A HEAD, which previews of links send, uses up no code."""
    get = Route(LOGIN_PATH, log_in, methods=["GET"])
    assert get.methods is not None
    get.methods.discard("HEAD")  # Starlette adds it to each GET
    return [get, Route("/logout", log_out, methods=["POST"])]
