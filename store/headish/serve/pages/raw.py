"""``/raw/ID/N``: the bytes of a document, as a download; pictures of four kinds are shown, because they cannot run."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from headish.aio import AsyncStore
from headish.content.media import NotDecodable, decode_bytes
from headish.errors import InvalidArgument, UnknownTurn
from headish.renderings.marking import show_unseen
from headish.serve.access.state import enter
from headish.serve.pages.turns import SHOWN_INLINE
from headish.values.blocks import Base64Source, Document, TurnSource
from headish.values.turns import DOCUMENT

SANDBOX = "sandbox; default-src 'none'"
_BEGINNINGS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
"""The first bytes of each kind of picture: the type that a message claims proves nothing."""


async def send_raw(request: Request) -> Response:
    """Send a document: the block with a number, or the turn itself if it is a document."""
    store = await enter(request, "read")
    data, media_type, name = await read_document(store, request.path_params["turn"], request.path_params["number"])
    is_shown = is_picture(media_type, data)
    kind = "inline" if is_shown else "attachment"
    headers = {
        "Content-Security-Policy": SANDBOX,
        "Content-Disposition": f"{kind}; filename*=UTF-8''{quote(show_unseen(name).replace('/', '_'), safe='')}",
    }
    return Response(data, headers=headers, media_type=media_type if is_shown else "application/octet-stream")


def is_picture(media_type: str, data: bytes) -> bool:
    """Whether bytes are the picture that they claim to be, of a kind that a browser shows."""
    return media_type in SHOWN_INLINE and data.startswith(_BEGINNINGS[media_type])


async def read_document(store: AsyncStore, headish: str, number: int) -> tuple[bytes, str, str]:
    """Read the bytes, the type and the name of a document of a turn.

    Raises: UnknownTurn if the turn has no such block; InvalidArgument if its bytes are not in the database.
    """
    turn = await store.get(headish)
    if turn.meta.type == DOCUMENT:
        return await store.payload(turn.id), turn.meta.content_type, turn.meta.document_name or "document"
    blocks = await store.blocks(turn.id)
    block = blocks[number] if number < len(blocks) else None
    if not isinstance(block, Document):
        raise UnknownTurn(headish, f"its block {number} is not a document")
    if isinstance(block.source, TurnSource):
        return await read_document(store, block.source.turn, 0)
    if not isinstance(block.source, Base64Source):
        raise InvalidArgument("the bytes of this document are not in the database")
    try:
        data = decode_bytes(block)
    except NotDecodable:
        raise InvalidArgument("this document is not base64") from None
    return data, block.source.media_type.lower(), block.name or "document"
