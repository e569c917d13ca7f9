"""``store.pointers``: short names for a provider, a model and its parameters, each with its history."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import Any

from headish.database.query import Connection
from headish.history.definitions import (
    DEFAULT_NAME,
    encode_default,
    find_default,
    find_pointer,
    read_named_pointer,
    unknown_pointer,
)
from headish.providers.pointers import NamedPointer, Pointer, encode_pointer, make_pointer
from headish.rows.definitions import (
    DEFAULT,
    POINTER,
    definition_history,
    definition_is,
    list_definitions,
    set_definition,
)
from headish.store.space import Space, SpacePart
from headish.values.checks.doors import door
from headish.values.names import check_name

KIND = "provider pointer"


class Pointers(SpacePart, Mapping[str, Pointer]):
    """The provider pointers of a space: a mapping from each name to what it points at."""

    def __getitem__(self, name: str) -> Pointer:
        """What a name points at. Raises: UnknownPointer (an InputError and a KeyError), InvalidName."""
        return self._space._read_by(find_pointer, check_name(name, KIND))

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in self.list())

    def __len__(self) -> int:
        return len(self.list())

    def list(self) -> builtins.list[NamedPointer]:
        """All provider pointers, by name. Cost: one statement."""
        space = self._space
        return space._read(
            lambda connection: [read_named_pointer(row) for row in list_definitions(connection, space._number, POINTER)]
        )

    @door()
    def set(
        self,
        name: str,
        target: str,
        *,
        params: Mapping[str, Any] | None = None,
        base_url: str | None = None,
        key_env: str | None = None,
        context_window: int | None = None,
        cloud: str | None = None,
        region: str | None = None,
        project: str | None = None,
        profile: str | None = None,
        resource: str | None = None,
        api_version: str | None = None,
        headers: Mapping[str, str] | None = None,
        dialect: str | None = None,
        timeouts: Mapping[str, float] | None = None,
    ) -> Pointer:
        """Point a name at ``PROVIDER/MODEL``. Its history keeps what it pointed at before.

        ``params`` are defaults below the option ``params`` of a thread. ``base_url`` is the server of a compatible
        provider, ``key_env`` the environment variable that holds the key for it; a key itself is refused.
        ``context_window`` is how many tokens the model takes, its answer included: ``budget="auto"`` goes by it.
        ``cloud`` is ``bedrock`` (with ``region``, perhaps ``profile``), ``vertex`` (``region``, ``project``) or
        ``azure`` (``resource``, or the endpoint as ``base_url``; perhaps ``api_version``): who serves the model, if not
        its provider. ``headers`` go with each request, as ``anthropic-beta`` does; one that carries a key is refused.
        ``dialect`` is how a server that is not OpenAI's speaks Chat Completions (``headish.providers.dialects``);
        without it, the server's host decides, and ``Pointer.spoken`` gives the result. ``timeouts`` are seconds:
        ``connect``, ``first_byte`` of an answer, ``silence`` between two bytes, ``total``.
        Raises: InvalidName, InvalidArgument, InvalidContent; UnknownFormat for the dialect.
        """
        encoded = check_name(name, KIND, is_new=True)
        pointer = make_pointer(
            target, params=params, base_url=base_url, key_env=key_env, context_window=context_window, cloud=cloud,
            headers=headers, dialect=dialect, region=region, project=project, profile=profile, resource=resource,
            api_version=api_version, timeouts=timeouts,
        )  # fmt: skip
        define(self._space, POINTER, encoded, encode_pointer(pointer))
        return pointer

    @door()
    def url(self, name: str, *, stream: bool = True) -> str:
        """The URL that a name's requests go to. Sends nothing, and looks for no key.

        Raises: UnknownPointer, InvalidName; InvalidArgument for a model that no URL can hold.
        """
        from headish.calls.routes import find_route  # late: most processes call nobody

        pointer = self[name]
        return find_route(
            pointer.provider, model=pointer.model, base_url=pointer.base_url, cloud=pointer.cloud, stream=stream
        ).url

    def remove(self, name: str) -> None:
        """Remove a name; its history stays. Raises: UnknownPointer."""
        encoded = check_name(name, KIND)
        if not define(self._space, POINTER, encoded, None):
            raise self._space._read_by(unknown_pointer, encoded)

    @property
    def default(self) -> str | None:
        """The pointer of threads that have none; None if there is no default. ``set_default`` chooses it."""
        return self._space._read_by(find_default)

    @door()
    def set_default(self, name: str | None) -> None:
        """Make a pointer the default for threads that name none; None removes the default.

        A thread keeps the pointer that it was first asked by, whatever the default is later.
        Raises: UnknownPointer, InvalidName.
        """
        space = self._space
        if name is not None:
            space._read_by(find_pointer, check_name(name, KIND))
        define(space, DEFAULT, DEFAULT_NAME, None if name is None else encode_default(name))

    def history(self, name: str) -> builtins.list[NamedPointer]:
        """Everything that a name ever pointed at, newest first. Raises: UnknownPointer if there never was such a
        name."""
        space, encoded = self._space, check_name(name, KIND)

        def work(connection: Connection) -> builtins.list[NamedPointer]:
            rows = definition_history(connection, space._number, POINTER, encoded)
            if not rows:
                raise unknown_pointer(connection, space._number, encoded)
            return [read_named_pointer(row) for row in rows]

        return space._read(work)


def define(space: Space, kind: str, name: bytes, data: bytes | None) -> bool:
    """Set a definition of a space, or remove it if ``data`` is None; return whether anything changed."""
    key = (space._number, kind, name)
    number = space._write(
        lambda connection: set_definition(connection, *key, data),
        lambda connection, number: definition_is(connection, *key, number, data),
    )
    return number is not None
