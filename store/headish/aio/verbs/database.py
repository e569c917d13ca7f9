"""The verbs of a database for asyncio, written by ``make aio``. They run in threads."""

# ruff: noqa: E501
from __future__ import annotations

from typing import TYPE_CHECKING

from headish.aio.fronts import Front
from headish.aio.verbs.parts import AsyncAccessTokens, AsyncSpaces

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from headish.database.isolation.securing import Secured
    from headish.database.spreading import Placed
    from headish.history.writing.copies import Copied
    from headish.store.database import Database
    from headish.store.space import Headishes
    from headish.values.results.erasures import Collected
    from headish.values.results.exports import Backup
    from headish.values.results.reports import Report
    from headish.verify.space import Progress
    from typing import Literal


class DatabaseVerbs(Front["Database"]):
    """For asyncio: a database of conversations, kept apart in spaces. Safe to share between threads; a context manager."""

    @property
    def access_tokens(self) -> AsyncAccessTokens:
        """The access tokens: each lets a program use a headish server."""
        return AsyncAccessTokens(self.sync.access_tokens)

    async def backup(
        self, dest: str | os.PathLike[str], *, verify: Literal['full', 'quick'] = 'full', progress: Progress |
        None = None
    ) -> Backup:
        """Back up all spaces as they are at one moment; writers go on meanwhile."""
        return await self._wait(self.sync.backup, dest=dest, verify=verify, progress=progress)

    async def distribute(self, *, dry_run: bool = False) -> list[Placed]:
        """Spread the tables over the machines of a PostgreSQL with the extension Citus, by space."""
        return await self._wait(self.sync.distribute, dry_run=dry_run)

    async def gc(self, *, dry_run: bool = False, scrub: bool = False) -> Collected:
        """Remove what nothing uses any more: large payloads, streams that ended a day ago, parts of unfinished
        copies."""
        return await self._wait(self.sync.gc, dry_run=dry_run, scrub=scrub)

    async def move(self, headish: Headishes, *, space: str = 'default', to: str, keep: bool = False) -> Copied:
        """Move the threads that lead to a headish, or to several, from one space into another: ``Store.copy_to``."""
        return await self._wait(self.sync.move, headish=headish, space=space, to=to, keep=keep)

    @property
    def read_only(self) -> bool:
        """Whether it was opened read-only."""
        return self.sync.read_only

    async def search_index(self, on: bool | None = None) -> bool:
        """Return whether the database keeps a search index; ``on`` switches it on or off first, for all spaces."""
        return await self._wait(self.sync.search_index, on=on)

    async def secure(self, *, apps: Sequence[str] = (), check: bool = False) -> Secured:
        """Have a PostgreSQL server keep the spaces apart: make the roles, grants, functions and policies that it
        lacks."""
        return await self._finish(self.sync.secure, apps=apps, check=check)

    @property
    def spaces(self) -> AsyncSpaces:
        """The spaces of the database."""
        return AsyncSpaces(self.sync.spaces)

    @property
    def target(self) -> str:
        """The path or URL, without a password."""
        return self.sync.target

    async def verify(self, progress: Progress | None = None) -> dict[str, Report]:
        """Verify the database; return a report for each space, by name, and one for the database as a whole under the
        empty name."""
        return await self._wait(self.sync.verify, progress=progress)
