"""Where the words of the model stand in the events of an answer.

They are kept as they came, whatever they say; everything else in an event may be redacted.
"""

from __future__ import annotations

from typing import NamedTuple


class TextPlace(NamedTuple):
    """A place of text. ``path`` leads there through the event, with ``*`` for each item of a list.

    ``event`` is the type of the event and ``holder`` that of the object around the text; None is any.
    """

    path: tuple[str, ...]
    event: str | None = None
    holder: str | None = None


def words(path: str, *, event: str | None = None, holder: str | None = None) -> TextPlace:
    """The place at a path as it is written: ``content.*.text``."""
    return TextPlace(tuple(path.split(".")), event, holder)
