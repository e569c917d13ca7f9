"""The routes of the page."""

from __future__ import annotations

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from headish.serve.access.state import enter
from headish.serve.pages.changing import do_action, show_erasure
from headish.serve.pages.comparing import show_diff
from headish.serve.pages.drawing import ASSETS, draw
from headish.serve.pages.explaining import send_copy, show_explain
from headish.serve.pages.listing import show_list
from headish.serve.pages.live import show_live
from headish.serve.pages.passed import show_calls
from headish.serve.pages.raw import send_raw
from headish.serve.pages.threads import (
    show_arriving,
    show_change,
    show_conversation,
    show_turn,
    show_version,
    show_whole,
)


async def show_new(request: Request) -> Response:
    """Show the form that begins a conversation."""
    store = await enter(request, "write")
    pointers, default = await store.pointers.list(), await store.pointers.default()
    return await draw(request, "new.html", pointers=pointers, default=default, own=None)


async def show_keys(request: Request) -> Response:
    """Show the keys of the page, and the switch that turns them off."""
    return await draw(request, "keys.html")


class _NumberConvertor(IntegerConvertor):
    """A number of at most nine digits: Python refuses to read one of thousands, and a thread has no such turn."""

    regex = "[0-9]{1,9}"


register_url_convertor("number", _NumberConvertor())


def page_routes() -> list[BaseRoute]:
    """The routes of the views, the actions, the stream of events, and the assets."""
    return [
        Route("/", show_list),
        Route("/new", show_new),
        Route("/calls", show_calls),
        Route("/keys", show_keys),
        Route("/live", show_live),
        Route("/arriving/{call:str}", show_arriving),
        Route("/c/{name:path}", show_conversation),
        Route("/t/{headish:str}", show_turn),
        Route("/t/{headish:str}/whole", show_whole),
        Route("/t/{headish:str}/change", show_change),
        Route("/t/{headish:str}/explain", show_explain),
        Route("/t/{headish:str}/copy/{kind:str}", send_copy),
        Route("/t/{headish:str}/version/{number:number}", show_version),
        Route("/diff", show_diff),
        Route("/diff/{between:path}", show_diff),
        Route("/raw/{turn:str}/{number:number}", send_raw),
        Route("/erase/{headish:str}", show_erasure),
        Route("/do/{action:str}", do_action, methods=["POST"]),
        Mount("/assets", StaticFiles(directory=ASSETS)),
    ]
