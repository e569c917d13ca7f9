"""``/t/ID/explain``: the request that continues a turn, and why it is so; and the thread as text to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from headish.aio import AsyncStore
from headish.calls.endpoints import find_endpoint
from headish.errors import HeadishError, InvalidArgument, UnknownPointer
from headish.providers import PROVIDERS
from headish.providers import Request as Asked
from headish.serve.access.state import enter
from headish.serve.pages.drawing import draw
from headish.serve.pages.threads import own_pointer
from headish.values.access.wording import words_for_people
from headish.values.ids import TurnId, as_turn_id

SHOWN_CHARACTERS = 20_000
"""How many characters of a text the page shows; the file has the rest."""
MARKDOWN_TURNS = 2_000
"""The page writes threads of up to this many turns as Markdown; longer ones only for their file."""
UNNAMED = "This thread names no provider. Choose one above."


class Copy(NamedTuple):
    """A text that can be copied: its label, and the name of its file."""

    words: str
    file: str


COPIES = {
    "request": Copy("The request as JSON", "request.json"),
    "curl": Copy("The request as a command of curl; the key stays in your shell", "request.sh"),
    "markdown": Copy("The thread as Markdown", "thread.md"),
}


class ShownOption(Struct, frozen=True):
    """An option, its value as JSON, and the turn that set it."""

    path: str
    value: str
    turn: TurnId
    handle: str


async def show_explain(request: Request) -> Response:
    """Show the request that continues a turn at a provider (``to``) or by a pointer (``ptr``)."""
    store = await enter(request, "read")
    turn = await store.get(request.path_params["headish"])
    refusal, asked = "", None
    try:
        asked = await _ask(request, store, turn.id)
    except HeadishError as error:  # the page gives the reason, and still shows the thread
        is_unnamed = isinstance(error, UnknownPointer) and error.name is None
        refusal = UNNAMED if is_unnamed else words_for_people(error)
    is_long = (await store.stretch(turn.id, limit=1)).total > MARKDOWN_TURNS
    kinds = [kind for kind in COPIES if kind != "markdown" or not is_long]
    texts = {kind: text for kind in kinds if (text := await _text(store, turn.id, asked, kind)) is not None}
    excerpts = {kind: (text[:SHOWN_CHARACTERS], len(text) > SHOWN_CHARACTERS) for kind, text in texts.items()}
    if is_long:
        excerpts["markdown"] = ("", True)
    pointers = await store.pointers.list()
    return await draw(
        request, "explain.html", turn=turn, asked=asked, refusal=refusal, shown=excerpts, copies=COPIES,
        options=await _options(store, turn.id, asked), to=request.query_params.get("to", ""),
        name=request.query_params.get("name") or None,
        ptr=request.query_params.get("ptr", ""), providers=list(PROVIDERS), pointers=pointers,
        own=await own_pointer(store, turn.id, pointers), default=await store.pointers.default(),
        handles=await store.abbreviate(_named(asked)),
    )  # fmt: skip


async def send_copy(request: Request) -> Response:
    """Send one of the texts, whole, as a file. Raises: InvalidArgument for an unknown kind; as ``Store.request``."""
    kind = request.path_params["kind"]
    if kind not in COPIES:
        raise InvalidArgument(f"what can be copied is one of {', '.join(COPIES)}")
    store = await enter(request, "read")
    turn = await store.get(request.path_params["headish"])
    asked = None if kind == "markdown" else await _ask(request, store, turn.id)
    text = await _text(store, turn.id, asked, kind)
    headers = {"Content-Disposition": f'attachment; filename="{COPIES[kind].file}"'}
    return PlainTextResponse(text or "", headers=headers)


async def _ask(request: Request, store: AsyncStore, turn: TurnId) -> Asked:
    to, ptr = request.query_params.get("to"), request.query_params.get("ptr")
    return await store.request(turn, to or None, ptr=ptr or None)


async def _text(store: AsyncStore, turn: TurnId, asked: Asked | None, kind: str) -> str | None:
    """The text of one of ``COPIES``; None if it needs a request and there is none."""
    if kind == "markdown":
        return await store.render(turn, "markdown")
    if asked is None:
        return None
    return write_curl(asked) if kind == "curl" else json.dumps(asked.body, ensure_ascii=False, indent=2)


def _named(asked: Asked | None) -> list[TurnId]:
    """The turns that the notes of a request name."""
    notes = asked.notes if asked else ()
    return [turn_id for note in notes if note.turn and (turn_id := as_turn_id(note.turn)) is not None]


async def _options(store: AsyncStore, turn: TurnId, asked: Asked | None) -> list[ShownOption]:
    if asked is None:
        return []
    values = await store.options(turn)
    handles = await store.abbreviate(list(dict.fromkeys(asked.options.values())))
    return [
        ShownOption(path, json.dumps(_value(values, path), ensure_ascii=False), origin, handles[origin])
        for path, origin in asked.options.items()
    ]


def _value(values: Mapping[str, Any], path: str) -> Any:
    """The value of an option. Keys that contain dots are not found."""
    value: Any = values
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def write_curl(asked: Asked) -> str:
    """Write the request as a curl command. The key stays in a variable of the shell."""
    endpoint = find_endpoint(asked.provider)
    base = (asked.base_url or endpoint.base_url).rstrip("/")
    path = endpoint.path.replace("{model}", asked.model or "MODEL")
    variable = asked.key_env or next(iter(endpoint.key_variables), "KEY")
    headers = {"content-type": "application/json", **endpoint.headers}
    lines = [f"curl {shlex.quote(base + path)}"]
    lines += [f"  -H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    lines.append(f'  -H "{endpoint.key_header}: {endpoint.key_prefix}${variable}"')
    lines.append(f"  -d {shlex.quote(json.dumps(asked.body, ensure_ascii=False))}")
    return " \\\n".join(lines)
