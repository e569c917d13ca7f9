"""Verbs for requests: a headish as what a provider is asked with, and what would be repaired in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.merge import merge
from headish.database.query import Connection
from headish.errors import InvalidArgument, UnknownPointer
from headish.history.definitions import find_pointer, tools_served
from headish.history.documents import with_documents
from headish.history.replies import Pinned, pin_turns
from headish.history.resolve import option_origins, resolve_window
from headish.history.walk import walk
from headish.providers.pointers import Pointer
from headish.providers.registry import check_provider
from headish.providers.shared.values import Finding, Request
from headish.store.space import Headishes, Space
from headish.values.doors import door
from headish.values.grammar import parse_headishes
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow
from headish.values.names import check_name
from headish.values.places import Place

ToolList = Sequence[Mapping[str, Any]]


class Asked(NamedTuple):
    """What is read from the store for a request, in one transaction."""

    window: ContextWindow
    pinned: Pinned
    origins: dict[str, TurnId]
    ptr: str | None
    pointer: Pointer | None
    tools: list[Mapping[str, Any]]


@door()
def request(
    space: Space,
    headish: Headishes = "@",
    to: str | None = None,
    *,
    ptr: str | None = None,
    tools: ToolList | None = None,
    model: str | None = None,
    **settings: Any,
) -> Request:
    """The request that asks a provider to continue a headish.

    The provider is ``to``, else that of the pointer ``ptr``, else that of the thread's option ``provider_ptr``. A
    pointer's parameters stand below the thread's own. The tools are those of the thread's ``servers``
    (``Store.tools``), and ``tools`` besides. Further ``settings`` are those of ``headish.providers.Settings``.
    Cost: six statements and one for each server, however long the thread.
    Raises: UnknownPointer if nothing names a provider; UnknownServer; Unsupported for what the provider cannot
    take; UnknownFormat, InvalidArgument; CorruptTurn.
    """
    from headish.providers.preparing import prepare_request  # late: most processes make no request

    provider, asked = _ask(space, headish, to, ptr)
    pointer = asked.pointer
    prepared = prepare_request(
        provider,
        asked.window,
        tools=[*asked.tools, *(tools or ())],
        model=model or (pointer.model if pointer else None),
        **settings,
    )
    return replace(
        prepared,
        turns=asked.pinned.turns,
        bookmark=asked.pinned.bookmark,
        options=asked.origins,
        ptr=asked.ptr,
        base_url=pointer.base_url if pointer else None,
        key_env=pointer.key_env if pointer else None,
    )


@door()
def lint(
    space: Space, headish: Headishes = "@", to: str | None = None, *, ptr: str | None = None,
    tools: ToolList | None = None, **settings: Any,
) -> list[Finding]:  # fmt: skip
    """What a request would repair, leave out or refuse; refusals first. Nothing is changed.

    Raises: as ``request``, but for Unsupported.
    """
    from headish.providers.preparing import lint

    provider, asked = _ask(space, headish, to, ptr)
    return lint(provider, asked.window, [*asked.tools, *(tools or ())], **settings)


def _ask(space: Space, headish: Headishes, to: str | None, ptr: str | None) -> tuple[str, Asked]:
    if to is not None:
        check_provider(to)
    named = None if ptr is None else check_name(ptr, "provider pointer")
    listed = parse_headishes(headish)
    if not listed:
        raise InvalidArgument("a request needs a headish")
    first = listed[0].bookmark
    asked = space._read_from(
        [each.text for each in listed],
        lambda connection, places: _gather(connection, space._number, places, first, to, named),
    )
    if to is None and asked.pointer is None:
        raise UnknownPointer(None)
    return to or (asked.pointer.provider if asked.pointer else ""), asked


def _gather(
    connection: Connection, space: int, places: list[Place], name: str | None, to: str | None, ptr: bytes | None
) -> Asked:
    walked = walk(connection, space, places)
    window = resolve_window(walked)
    window = replace(window, messages=with_documents(connection, space, window.messages))
    ptr = ptr or pointer_named(window.options)
    pointer = None if ptr is None else usable_pointer(connection, space, ptr, to)
    if pointer is not None and pointer.params:
        params = merge(pointer.params, window.options.get("params") or {})
        window = replace(window, options={**window.options, "params": params})
    return Asked(
        window=window,
        pinned=pin_turns(connection, space, places, name),
        origins=option_origins(walked),
        ptr=ptr.decode() if ptr is not None and pointer is not None else None,
        pointer=pointer,
        tools=tools_served(connection, space, window.options.get("servers")),
    )


def usable_pointer(connection: Connection, space: int, ptr: bytes, to: str | None) -> Pointer | None:
    """The pointer, unless ``to`` names another provider: then it does not apply, and need not exist."""
    try:
        pointer = find_pointer(connection, space, ptr)
    except UnknownPointer:
        if to is None:
            raise
        return None
    return pointer if to in (None, pointer.provider) else None


def pointer_named(options: Mapping[str, Any]) -> bytes | None:
    """The provider pointer that a thread's options name."""
    named = options.get("provider_ptr")
    return None if named is None else check_name(named, "provider pointer")
