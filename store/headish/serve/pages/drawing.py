"""Fill a template with its values and those that every page takes from the request, all of them escaped."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from headish.renderings.marking import show_unseen
from headish.serve.access.state import caller_of
from headish.serve.access.themes import theme_of
from headish.values.results.conversations import Conversation
from headish.values.times import local_time
from headish.values.turns import Meta

TEMPLATES, ASSETS = Path(__file__).parent / "templates", Path(__file__).parent / "assets"


class Links:
    """Addresses of pages, in the space that the request named."""

    def __init__(self, space: str | None = None) -> None:
        self._space = space

    def __call__(self, path: str, **query: object) -> str:
        """The address of a path with a query, without the values that are None or empty."""
        parameters = {name: str(value) for name, value in query.items() if value not in (None, "")}
        parameters |= {"space": self._space} if self._space else {}
        return quote(path, safe="/:~^@.-_") + (f"?{urlencode(parameters)}" if parameters else "")

    def home(self) -> str:
        """The list."""
        return self("/")

    def thread(self, name: str | None, turn: str | None = None) -> str:
        """The page of a bookmark, at a turn; without a bookmark, the page of the turn."""
        return self(f"/t/{turn}") if name is None else self(f"/c/{name}", at=turn)

    def conversation(self, found: Conversation) -> str:
        """The page of a conversation in the list."""
        return self.thread(found.name, None if found.name else found.turn)

    def window(self, name: str | None, head: str, start: int) -> str:
        """The page with the turns of a thread from turn ``start`` on."""
        return self(f"/t/{head}" if name is None else f"/c/{name}", start=start)

    def turn(self, name: str | None, turn: str) -> str:
        """The place of a turn in the page of its thread."""
        return f"{self.thread(name, turn)}#t{turn}"

    def whole(self, name: str | None, turn: str) -> str:
        """The page with the whole text of a turn that is cut in its thread."""
        return self(f"/t/{turn}/whole", name=name)

    def raw(self, turn: str, number: int) -> str:
        """The bytes of a document."""
        return self(f"/raw/{turn}/{number}")


async def draw(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Draw a page, outside the event loop, because a long message takes time and other requests must not wait."""
    caller = caller_of(request)
    common = {
        "may": {"write": caller.may("write"), "erase": caller.may("erase")}, "link": links_of(request),
        "space": request.query_params.get("space", ""),
        "theme": theme_of(request.scope), "here": str(request.url.replace(scheme="", netloc="")),
    }  # fmt: skip
    page = await run_in_threadpool(fill, template, {**common, **values})
    return HTMLResponse(page, status)


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template; return the page."""
    return _environment().get_template(template).render(values)


def links_of(request: Request) -> Links:
    return Links(request.query_params.get("space"))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    # StrictUndefined: a misspelt name in a template fails its page, instead of drawing nothing there.
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    environment.filters |= {"time": local_time, "since": since, "iso": _iso}
    environment.filters |= {"plain": plain, "unmarked": unmarked, "amount": amount, "who": who}
    environment.globals |= {"is_file": False, "theme": "system"}
    return environment


def plain(text: str, limit: int | None = None) -> str:
    """A text with its unseen characters shown; with a limit, on one line and cut."""
    shown = show_unseen(text)
    if limit is None:
        return shown
    line = " ".join(shown.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def unmarked(text: str) -> str:
    """A text without the most frequent Markdown signs, for titles."""
    return text.replace("**", "").replace("`", "").lstrip("# ")


def who(meta: Meta) -> str:
    """The heading of a turn: its role, or that it is an overlay."""
    return "Overlay" if meta.attributes.overlay is not None else (meta.role or "sequence").capitalize()


def since(moment: datetime) -> str:
    """How long ago a moment was, in one unit."""
    seconds = (datetime.now(UTC) - moment).total_seconds()
    # Years and months of their mean length in the Gregorian calendar.
    for unit, length in (("year", 31_556_952), ("month", 2_629_746), ("day", 86_400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // length)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def amount(count: int, one: str, more: str | None = None) -> str:
    """A number with its word: ``1 turn``, ``10,000 turns``."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


_iso = partial(datetime.isoformat, timespec="seconds")
