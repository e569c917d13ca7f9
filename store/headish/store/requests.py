"""The part of the door for requests: a headish as what a provider is asked with, and what would be repaired in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from headish.content.merge import merge
from headish.database.query import Connection
from headish.errors import InvalidArgument, UnknownPointer, UnknownTurn
from headish.history.resolve import option_origins, resolve_window
from headish.history.walk import walk
from headish.providers.pointers import Pointer
from headish.providers.registry import check_provider
from headish.providers.shared.tools import served_tools
from headish.providers.shared.values import Emission, Finding
from headish.rows.bookmarks import find_bookmark
from headish.rows.turns import StoredTurn, parent_at
from headish.store.pointers import DefiningSpace
from headish.store.space import Heads
from headish.values.grammar import parse_headish
from headish.values.ids import TurnId
from headish.values.messages import ContextWindow
from headish.values.names import check_name
from headish.values.places import Place
from headish.values.turns import Turn

ToolList = Sequence[Mapping[str, Any]]


class Asked(NamedTuple):
    """What is read from the store for a request, in one transaction."""

    window: ContextWindow
    turns: tuple[TurnId, ...]
    bookmark: str | None
    options: dict[str, TurnId]
    ptr: str | None
    pointer: Pointer | None
    tools: list[Mapping[str, Any]]


class RequestingSpace(DefiningSpace):
    """The methods that write requests."""

    def request(
        self,
        headish: Heads = "@",
        to: str | None = None,
        *,
        ptr: str | None = None,
        tools: ToolList | None = None,
        model: str | None = None,
        **settings: Any,
    ) -> Emission:
        """The request that asks a provider to continue a headish.

        Who is asked: the provider ``to``, else what the pointer ``ptr`` says, else what the thread's option
        ``provider_ptr`` names. A pointer's parameters stand below the thread's own. The tools are those of the thread's
        ``servers`` (``Store.set_tools``), and ``tools`` besides. Further ``settings`` are those of
        ``headish.providers.Settings``.
        Cost: six statements and one for each server, however long the thread.
        Raises: UnknownPointer where nothing says who is asked; UnknownServer; Unsupported for what the provider cannot
        take; UnknownFormat, InvalidArgument; CorruptTurn.
        """
        from headish.providers.preparing import prepare_request  # late: most processes ask nobody

        provider, asked = self._ask(headish, to, ptr)
        model = model or (asked.pointer.model if asked.pointer else None)
        given = [*asked.tools, *(tools or ())]
        emission = prepare_request(provider, asked.window, tools=given, model=model, **settings)
        return replace(
            emission,
            turns=asked.turns,
            bookmark=asked.bookmark,
            options=asked.options,
            ptr=asked.ptr,
            base_url=asked.pointer.base_url if asked.pointer else None,
            key_env=asked.pointer.key_env if asked.pointer else None,
        )

    def lint(
        self, headish: Heads = "@", to: str | None = None, *, ptr: str | None = None, tools: ToolList | None = None,
        **settings: Any,
    ) -> list[Finding]:  # fmt: skip
        """What a request would repair, leave out or refuse, what it refuses first; nothing is changed.

        Raises: as ``request``, but for Unsupported.
        """
        from headish.providers.preparing import lint

        provider, asked = self._ask(headish, to, ptr)
        return lint(provider, asked.window, [*asked.tools, *(tools or ())], **settings)

    def _ask(self, headish: Heads, to: str | None, ptr: str | None) -> tuple[str, Asked]:
        if to is not None:
            check_provider(to)
        named = None if ptr is None else check_name(ptr, "provider pointer")
        listed = [headish] if isinstance(headish, str) else list(headish)
        if not listed:
            raise InvalidArgument("a request needs a headish")
        first = parse_headish(listed[0]).bookmark
        asked = self._walk(headish, lambda connection, places: self._gather(connection, places, first, to, named))
        if to is None and asked.pointer is None:
            raise UnknownPointer(None)
        return to or (asked.pointer.provider if asked.pointer else ""), asked

    def _gather(
        self, connection: Connection, places: list[Place], name: str | None, to: str | None, ptr: bytes | None
    ) -> Asked:
        walked = walk(connection, self._number, places)
        window = resolve_window(walked)
        turns, bookmark = self._pin(connection, places, name)
        ptr = ptr or _pointer_named(window.options)
        pointer = None if ptr is None else self._usable(connection, ptr, to)
        if pointer is not None and pointer.params:
            params = merge(pointer.params, window.options.get("params") or {})
            window = replace(window, options={**window.options, "params": params})
        return Asked(
            window, turns, bookmark, option_origins(walked),
            ptr.decode() if ptr is not None and pointer is not None else None, pointer,
            self._served(connection, window.options.get("servers")),
        )  # fmt: skip

    def _pin(
        self, connection: Connection, places: Sequence[Place], name: str | None
    ) -> tuple[tuple[TurnId, ...], str | None]:
        """The turns at these places, and the name if it is a bookmark that points at the first: what is continued."""
        at = None if name is None else find_bookmark(connection, self._number, name.encode())
        turns = tuple(self._id_at(connection, place) for place in dict.fromkeys(places))
        return turns, name if at is not None and at == places[0] else None

    def _pinned(self, connection: Connection, stored: StoredTurn, name: str | None) -> tuple[Turn, str | None]:
        """A turn, and the name if it is a bookmark that points at it."""
        return self._complete(connection, stored), self._pin(connection, [stored.place], name)[1]

    def _usable(self, connection: Connection, ptr: bytes, to: str | None) -> Pointer | None:
        """The pointer, unless another provider is asked by name: then it says nothing, and need not exist."""
        try:
            pointer = self._find_pointer(connection, ptr)
        except UnknownPointer:
            if to is None:
                raise
            return None
        return pointer if to in (None, pointer.provider) else None

    def _served(self, connection: Connection, servers: Any) -> list[Mapping[str, Any]]:
        if servers is None:
            return []
        if not isinstance(servers, list | tuple) or not all(isinstance(each, str) for each in servers):
            raise InvalidArgument(f"the option servers={servers!r}: it is a list of names")
        return [
            tool
            for server in dict.fromkeys(servers)
            for tool in served_tools(server, self._find_tools(connection, check_name(server, "server")))
        ]

    def _id_at(self, connection: Connection, place: Place) -> TurnId:
        found = parent_at(connection, self._number, place)
        if found is None:
            raise UnknownTurn(str(place))
        return found[0]


def _pointer_named(options: Mapping[str, Any]) -> bytes | None:
    named = options.get("provider_ptr")
    return None if named is None else check_name(named, "provider pointer")
