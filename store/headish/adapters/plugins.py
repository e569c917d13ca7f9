"""Other packages describe the conversations of their adapters through the entry point group ``headish.adapters``.

A conversation names its adapter: ``record.app["adapter"]`` is the name of the entry point. headish looks up only entry
points that a conversation names, and imports only their packages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from headish.errors import BrokenExtension, DatabaseError
from headish.values.extensions import Extension, find_extension

if TYPE_CHECKING:
    from headish import ReadTransaction, Store
    from headish.values.results.conversations import Conversation

GROUP = "headish.adapters"
ADAPTER = "adapter"
"""The key of a conversation's ``app`` that names the entry point."""


class Description(NamedTuple):
    """The title that ``list`` shows for a conversation without one, and the lines that ``show`` adds about what the
    adapter keeps beside it."""

    title: str = ""
    lines: Sequence[str] = ()


class Describe(Protocol):
    """The function that an entry point names. It describes a conversation, or returns None if there is nothing to
    say."""

    def __call__(self, read: ReadTransaction, conversation: Conversation) -> Description | None: ...


class Descriptions:
    """The descriptions of a store's conversations. A package that fails is reported once, by ``tell``, and does not
    stop the list."""

    def __init__(self, store: Store, tell: Callable[[str], object]) -> None:
        self._store, self._tell = store, tell
        self._found: dict[str, tuple[Extension, Describe] | None] = {}

    def of(self, conversation: Conversation) -> Description:
        """Describe a conversation; empty if no adapter does. Cost: that of the adapter's own reads."""
        name = conversation.record.app.get(ADAPTER)
        if not isinstance(name, str):
            return Description()
        try:
            if name not in self._found:
                extension = find_extension(GROUP, name)
                self._found[name] = None if extension is None else (extension, extension.load())
            found = self._found[name]
            return Description() if found is None else self._describe(*found, conversation)
        except BrokenExtension as error:
            self._found[name] = None
            self._tell(str(error))
            return Description()

    def _describe(self, extension: Extension, describe: Describe, conversation: Conversation) -> Description:
        """Call an adapter's function. Raises: BrokenExtension; DatabaseError, for which the adapter is not to blame."""
        try:
            given = self._store.read(lambda read: describe(read, conversation)) or Description()
            title, lines = given
            return Description(str(title), [str(each) for each in lines])
        except DatabaseError:
            raise
        except Exception as error:
            raise BrokenExtension(GROUP, extension.name, extension.package, error) from error
