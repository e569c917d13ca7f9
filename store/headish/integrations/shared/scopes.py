"""``with`` for the objects of adapters."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Scoped:
    """An adapter's object that is closed at the end of its block, whatever ends it."""

    def close(self) -> None:
        """Each adapter says what it lets go of."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
