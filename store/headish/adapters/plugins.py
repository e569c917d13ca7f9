"""Let other packages describe the conversations of their adapters, by the entry point group ``headish.adapters``.

A conversation names its adapter: ``record.app["adapter"]`` is the name of the entry point. headish looks for entry
points only if a conversation names one, and imports only that package.
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
    """The title that ``list`` shows for a conversation without one, and the lines that ``show`` adds about what is kept
    beside it."""

    title: str = ""
    lines: Sequence[str] = ()


class Describe(Protocol):
    """The function that an entry point names. It describes a conversation, or returns None if it has nothing to say."""

    def __call__(self, read: ReadTransaction, conversation: Conversation) -> Description | None: ...


class Descriptions:
    """The descriptions of a store's conversations. A broken package is reported once through ``tell``, and stops
    nothing."""

    def __init__(self, store: Store, tell: Callable[[str], object]) -> None:
        self._store, self._tell = store, tell
        self._found: dict[str, tuple[Extension, Describe] | None] = {}

    def of(self, conversation: Conversation) -> Description:
        """The description of a conversation, or an empty one. Cost: reads what the adapter reads."""
        name = conversation.record.app.get(ADAPTER)
        if not isinstance(name, str):
            return Description()
        try:
            if name not in self._found:
                extension = find_extension(GROUP, name)
                self._found[name] = None if extension is None else (extension, extension.load())
            loaded = self._found[name]
            return Description() if loaded is None else self._describe(*loaded, conversation)
        except BrokenExtension as error:
            self._found[name] = None
            self._tell(str(error))
            return Description()

    def _describe(self, extension: Extension, describe: Describe, conversation: Conversation) -> Description:
        """Call a package's function. Raises: BrokenExtension."""
        try:
            description = self._store.read(lambda read: describe(read, conversation)) or Description()
            title, lines = description
            return Description(str(title), [str(each) for each in lines])
        except DatabaseError:  # not the package's fault
            raise
        except Exception as error:
            raise BrokenExtension(GROUP, extension.name, extension.package, error) from error
