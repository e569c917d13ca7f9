"""The part of a space that an MCP server may show. A call can narrow it, but never widen it."""

from __future__ import annotations

from datetime import datetime
from fnmatch import fnmatchcase

from msgspec import Struct

from headish.aio import AsyncStore
from headish.errors import UnknownConversation, UnknownTurn
from headish.values.turns import Turn


class Scope(Struct, frozen=True):
    """The conversations whose bookmark matches one of ``names`` and has ``tag``; turns that were said ``since``.

    ``exclude_session`` leaves out the conversations whose bookmark contains that text, such as the agent's own.
    """

    names: tuple[str, ...] = ()
    since: datetime | None = None
    tag: str | None = None
    exclude_session: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the scope is the whole space."""
        return self == Scope()

    def without(self, session: str | None) -> tuple[str, ...]:
        """The texts that names of conversations must not contain: the scope's and a call's own."""
        return tuple(each for each in (self.exclude_session, session) if each)

    def takes_time(self, turn: Turn) -> bool:
        """Whether a turn was said late enough."""
        return self.since is None or turn.said_at >= self.since

    def takes_name(self, name: str) -> bool:
        """Whether a conversation of this name may be shown, if it has the tag."""
        is_left_out = any(session in name for session in self.without(None))
        return not is_left_out and (not self.names or any(fnmatchcase(name, each) for each in self.names))

    async def takes_names(self, store: AsyncStore, names: tuple[str, ...], without: tuple[str, ...]) -> bool:
        """Whether a turn that leads to bookmarks of these names may be shown."""
        if any(session in name for name in names for session in without):
            return False
        if not self.names and self.tag is None:
            return True
        chosen = [name for name in names if not self.names or any(fnmatchcase(name, each) for each in self.names)]
        if self.tag is None:
            return bool(chosen)
        return any([self.tag in await _tags(store, name) for name in chosen])  # a list: any() takes no async generator


async def _tags(store: AsyncStore, name: str) -> tuple[str, ...]:
    try:
        return (await store.conversations.get(name)).record.tags
    except (UnknownConversation, UnknownTurn):
        return ()
