"""Errors as answers: RFC 9457 problem details, or a plain page for a browser.

``code`` is the class of the error, ``facts`` are its attributes. The message of a database error can name a path or a
server of this machine: it goes to the log, and the caller gets the class alone.
"""

from __future__ import annotations

import logging
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from headish import errors
from headish.errors import DatabaseError, HeadishError
from headish.serve.access.plain_pages import plain_page
from headish.serve.access.themes import theme_of
from headish.values.access.trying import WrongTries
from headish.values.access.wording import words_for_callers, words_for_people
from headish.values.results.plain import as_plain

LOG = logging.getLogger("headish.serve")
PROBLEM = "application/problem+json"
SERVER_FAILED = "the server failed; its log says how"
"""What a caller reads about an error that is not headish's own: its message may name anything, so it is logged."""


async def answer_error(request: Request, error: Exception) -> Response:
    """Make the answer to a request that an error ended."""
    if isinstance(error, HTTPException):
        return problem(
            request.scope, error.status_code, "HTTPError", str(error.detail), headers=dict(error.headers or {})
        )
    if not isinstance(error, HeadishError):
        return problem(request.scope, 500, "InternalError", SERVER_FAILED)
    status = status_of(error)
    if status >= 500:
        LOG.warning("%s %s: %s", request.method, request.url.path, error)
    if _wants_page(request.scope) and (name := _taken_name(error)) is not None:
        return _page(request.scope, status, "This name is taken", _TAKEN.format(name))
    return problem_of(request.scope, error)


def problem_of(scope: Scope, error: HeadishError) -> Response:
    """Make an answer that reports one of headish's own errors."""
    words = words_for_people(error) if _wants_page(scope) else words_for_callers(error)
    return problem(scope, status_of(error), type(error).__name__, words, facts=facts_of(error))


def facts_of(error: HeadishError) -> dict[str, Any]:
    """The attributes of an error that the caller can act on, such as where a bookmark is now, so that a program need
    not parse the sentence. Empty for errors of the server and of the database."""
    if status_of(error) >= 500 or isinstance(error, DatabaseError):
        return {}
    return {name: as_plain(value) for name, value in vars(error).items() if name[0] != "_"}


def status_of(error: HeadishError) -> int:
    """The HTTP status of an error: that of its class, or of the nearest one above it."""
    return status_of_kind(type(error))


def status_of_kind(kind: type[HeadishError]) -> int:
    """The HTTP status of a class of errors."""
    return next(_STATUSES[each] for each in kind.__mro__ if each in _STATUSES)


def problem(
    scope: Scope, status: int, code: str, detail: str, *, headers: dict[str, str] | None = None,
    facts: dict[str, Any] | None = None,
) -> Response:  # fmt: skip
    """Make an answer that reports an error: a page for a browser that asks for pages, else JSON."""
    title = phrase(status)
    if _wants_page(scope):
        return _page(scope, status, _TITLES.get(status, title), detail, headers)
    # "about:blank" says that the title is the name of the status (RFC 9457 §4.2.1).
    body: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail}
    body |= {"facts": facts} if facts else {}
    return Response(msgspec.json.encode(body), status, headers, PROBLEM)


def refuse_guess(scope: Scope, tries: WrongTries, what: str, refusal: Response) -> Response:
    """Count a wrong guess of a secret, and give its refusal; another one if too many came from the same peer."""
    peer, now = scope["client"][0], time.monotonic()
    wait = tries.wait_seconds(peer, now)
    if wait:
        reason = f"too many wrong {what} came from this address"
        return problem(scope, 429, "TooManyTries", reason, headers={"Retry-After": str(int(wait) + 1)})
    tries.add(peer, now)
    return refusal


def phrase(status: int) -> str:
    """The name of a status in RFC 9110. Python uses four of them only since 3.13."""
    return _PHRASES.get(status, HTTPStatus(status).phrase)


def _page(scope: Scope, status: int, title: str, detail: str, headers: dict[str, str] | None = None) -> Response:
    home = None if status in _OUTSIDE else _home(scope)
    return HTMLResponse(plain_page(title, detail, theme_of(scope), home=home), status, headers)


def _home(scope: Scope) -> str:
    """The list of the space that the request named; the server's own if that list is what failed."""
    space = QueryParams(scope["query_string"]).get("space")
    return f"/?{urlencode({'space': space})}" if space and scope["path"] != "/" else "/"


def _taken_name(error: HeadishError) -> str | None:
    """The name that a form gave to something new, if it is in use already."""
    if isinstance(error, errors.BookmarkTaken) or (isinstance(error, errors.BookmarkMoved) and error.expected is None):
        return error.name
    return None


def _wants_page(scope: Scope) -> bool:
    if scope["path"].startswith(("/api/", "/mcp", "/sync")):
        return False
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accepted


_TAKEN = "there is a conversation {!r} already: go back and choose another name, or go on in that conversation"
"""For people: the sentences of these errors speak of the options of the command."""
_PHRASES = {
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}
_OUTSIDE = (401, 421)
"""The statuses whose pages have no link to the list: it would meet the same error."""
_TITLES = {
    400: "This does not work",
    401: "Log in first",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This address takes no such request",
    409: "This is taken already",
    410: "This is gone",
    412: "Somebody was faster",
    413: "This is too large",
    421: "This address is not known here",
    429: "Too many attempts",
    500: "The server failed",
    502: "The model's server failed",
    503: "The database does not answer",
}
"""The titles of error pages."""

_KINDS: dict[int, tuple[type[HeadishError], ...]] = {
    400: (errors.InputError, errors.Unrepresentable),
    403: (errors.RightMissing, errors.HiddenMessage, errors.ReadOnly),
    404: (
        errors.UnknownTurn, errors.UnknownPointer, errors.UnknownServer, errors.UnknownStream, errors.UnknownObject,
        errors.UnknownBatch, errors.UnknownCall, errors.UnknownToken, errors.UnknownErasure,
        errors.UnknownConversation, errors.UnknownFormat, errors.UnknownSpace,
    ),
    409: (
        errors.TurnTaken, errors.FileTaken, errors.SpaceTaken, errors.SpaceNotEmpty, errors.BookmarkTaken,
        errors.KeyTaken, errors.TokenTaken,
    ),
    410: (errors.TurnErased, errors.BarredContent, errors.RemovedSpace, errors.CursorLost),
    412: (errors.BookmarkMoved, errors.RecordChanged),
    413: (errors.TooLarge, errors.OverBudget),
    429: (errors.QuotaExceeded,),
    500: (errors.HeadishError,),
    502: (errors.SummaryFailed, errors.ServerFailed, errors.CallError),
    503: (errors.DatabaseError, errors.Closed),
}  # fmt: skip
"""The status of each class: input 400, right 403, unknown 404, taken 409, erased 410, moved 412, large 413, quota 429,
provider 502, busy 503."""
_STATUSES = {kind: status for status, kinds in _KINDS.items() for kind in kinds}


def statuses() -> list[tuple[int, list[str]]]:
    """Each status with the error classes that have it."""
    return [(status, sorted(kind.__name__ for kind in kinds)) for status, kinds in sorted(_KINDS.items())]
