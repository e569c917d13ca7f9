"""A place for objects: a folder or a bucket, by obstore (extra ``remote``). The place runs no code of headish."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from headish.errors import InvalidArgument, RemoteUnavailable
from headish.remotes.folders import list_files
from headish.remotes.kinds import check_url

T = TypeVar("T")
OBJECT_LIMIT_BYTES = 512 * 1024 * 1024
"""The largest object that is read, since memory holds it whole. No device writes a larger one."""


_BEGUN_BY = set[int]()
"""The process whose first request started obstore's threads. A forked child has none of them and would wait forever."""


class ObjectPlace:
    """The objects at a URL. Every method is one request, and raises RemoteUnavailable."""

    def __init__(self, url: str, *, create: bool = False) -> None:
        """``create`` makes a folder that is missing. Otherwise it may lie on a disk that is not mounted now, and one of
        its name elsewhere would look like a remote that has lost everything. Raises: RemoteUnavailable."""
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise InvalidArgument("a remote needs the extra: pip install 'headish[remote]'") from None
        self.url, self._obstore = check_url(url), obstore
        if not create and is_missing(self.url):
            raise RemoteUnavailable(self.url, "the folder is missing; on a disk or share, is that mounted?")
        options: dict[str, Any] = {"mkdir": create} if self.url.startswith("file:") else {}
        self._store = self._try(lambda: from_url(self.url, **options))

    def put(self, path: str, data: bytes) -> None:
        """Store an object, replacing any that is there."""
        self._try(lambda: self._obstore.put(self._store, path, data))

    def put_new(self, path: str, data: bytes) -> bool:
        """Store an object unless there is one already. Returns whether it was stored."""
        from obstore.exceptions import AlreadyExistsError

        try:
            self._try(lambda: self._obstore.put(self._store, path, data, mode="create"))
        except AlreadyExistsError:
            return False
        return True

    def get(self, path: str) -> bytes | None:
        """The bytes of an object; None if there is none."""
        answer = self._try(lambda: self._get(path))
        if answer is None:
            return None
        if answer.meta["size"] > OBJECT_LIMIT_BYTES:
            raise RemoteUnavailable(self.url, f"{path} has more than {OBJECT_LIMIT_BYTES:,} bytes")
        return bytes(self._try(answer.bytes))

    def list(self, prefix: str) -> list[str]:
        """The paths of the objects below a prefix, sorted."""

        def read() -> list[str]:
            if self.url.startswith("file:"):
                return list_files(_folder_of(self.url), prefix)
            return sorted(each["path"] for page in self._obstore.list(self._store, prefix) for each in page)

        return self._try(read)

    def delete(self, path: str) -> None:
        """Remove an object. One that is not there counts as removed."""
        self._try(lambda: self._delete(path))

    def _get(self, path: str) -> Any:
        try:
            return self._obstore.get(self._store, path)
        except FileNotFoundError:
            return None

    def _delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._obstore.delete(self._store, path)

    def _try(self, work: Callable[[], T]) -> T:
        from obstore.exceptions import AlreadyExistsError, BaseError

        if _BEGUN_BY - {os.getpid()}:
            cause = "this process was forked from one that had reached a remote before, which cannot go on in a child"
            raise RemoteUnavailable(self.url, f"{cause}: fork first, or start it by 'spawn'")
        _BEGUN_BY.add(os.getpid())
        try:
            return work()
        except AlreadyExistsError:  # a BaseError, but an answer to ``put_new`` and not a failure of the place
            raise
        except (BaseError, OSError, ValueError) as error:
            # obstore adds its debug output in further lines.
            reason = next(iter(str(error).splitlines()), "") or type(error).__name__
            raise RemoteUnavailable(self.url, reason) from None


def is_missing(url: str) -> bool:
    """Whether the URL of a place for objects names a folder that is not there."""
    return url.startswith("file:") and not os.path.isdir(_folder_of(url))


def _folder_of(url: str) -> str:
    from urllib.request import url2pathname  # which loads much that only this needs

    return url2pathname(urlsplit(url).path)
