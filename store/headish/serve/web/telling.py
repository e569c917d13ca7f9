"""Tell the gateway who may send calls. The gateway opens no database: it reads a file, which this module rewrites
within a second of a change.

The file holds hashes of tokens and the names of variables, never a token or a key.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from headish.calls.endpoints import ENDPOINTS, find_endpoint
from headish.errors import HeadishError
from headish.gateway.files import write_whole
from headish.gateway.passing.access import ACCESS_FILE, RIGHT, Access, PointerPlace
from headish.providers.pointers import Pointer
from headish.serve.access.state import WebState

LOG = logging.getLogger("headish.serve")
TELL_SECONDS = 1.0
"""How often to check for changes."""


async def keep_telling(web: WebState) -> None:
    """Write the file now, and again whenever a token or a pointer has changed, until the task is cancelled."""
    last_written: Access | None = None
    while True:
        try:
            access = await read_access(web)
            if access != last_written:
                write_whole(Path(web.settings.folder) / ACCESS_FILE, access)
                last_written = access
        except (HeadishError, OSError) as error:  # the old file stays valid until a new one can be written
            LOG.warning("the gateway cannot be told who may send calls: %s", error)
        await asyncio.sleep(TELL_SECONDS)


async def read_access(web: WebState) -> Access:
    """Read the tokens and pointers that the gateway needs; no pointers of a space that cannot be read.
    Raises: DatabaseError."""
    tokens = tuple(each for each in await web.tokens.list(fresh=True) if RIGHT in each.rights)
    space = web.settings.space
    pointers = {name: await _pointers(web, name) for name in sorted({space, *(each.space for each in tokens)})}
    return Access(tokens, pointers, space)


async def _pointers(web: WebState, space: str) -> dict[str, PointerPlace]:
    try:
        store = await web.database.store(space, create=False)
        pointers = [(each.name, each.pointer) for each in await store.pointers.list()]
    except HeadishError as error:  # one space must not keep the others' tokens from being revoked
        LOG.warning("the gateway is told no pointers of the space %s: %s", space, error)
        return {}
    return {name: _place(each) for name, each in pointers if each is not None and _has_place(each)}


def _has_place(pointer: Pointer) -> bool:
    """Whether the gateway can reach what a pointer names."""
    # A cloud takes signed requests (ADR 0046), and the gateway adds nothing but a key. A newer headish may have stored
    # a provider whose address is not known here.
    return pointer.cloud is None and (pointer.base_url is not None or pointer.provider in ENDPOINTS)


def _place(pointer: Pointer) -> PointerPlace:
    base_url = pointer.base_url or find_endpoint(pointer.provider).base_url
    return PointerPlace(pointer.provider, base_url, pointer.base_url is None, pointer.key_env)
