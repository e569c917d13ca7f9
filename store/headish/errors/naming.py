"""The caller's fault: a turn, a bookmark or a conversation that is not here, is one of several, or is gone.

Mend the call: give another name, or make what it should name.
"""

from __future__ import annotations

from headish.errors.base import InputError


class UnknownTurn(InputError):
    """No turn of this space is named so. A turn of another space is simply unknown."""

    def __init__(self, headish: str, reason: str = "") -> None:
        self.headish = headish
        super().__init__(f"no turn is named {headish!r} in this space" + (f": {reason}" if reason else ""))

    def tell(self, more: str) -> None:
        """Add ``more`` to the end of the sentence."""
        self.args = (f"{self}; {more}",)


class Ambiguous(InputError):
    """More than one turn has this id prefix or handle; ``candidates`` are their ids, oldest first.

    ``described`` has a line for each candidate of a handle: its own handle, its id, when it was said, its role, names
    and first words.
    """

    def __init__(self, prefix: str, candidates: tuple[str, ...], described: tuple[str, ...] = ()) -> None:
        self.prefix, self.candidates, self.described = prefix, candidates, described
        if described:
            super().__init__(f"several turns have the handle {prefix!r}; take one of these: {'; '.join(described)}")
        else:
            super().__init__(f"several turns begin with {prefix!r}: {', '.join(candidates)}; give more digits")


# A KeyError too, since ``store.bookmarks[name]`` is a look-up in a mapping; so are the others that look up a name.
class UnknownBookmark(UnknownTurn, KeyError):
    """No bookmark of this name."""

    def __init__(self, name: str, reason: str = "there is no such bookmark") -> None:
        super().__init__(name, reason)


class UnknownConversation(InputError, KeyError):
    """No conversation has this key, or a turn is in none: only system turns lead to it."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"no conversation is named {name!r} in this space: {reason}")


class TurnErased(InputError):
    """What this turn said was erased; ``number`` is that of the erasure."""

    def __init__(self, turn: str, number: int, when: str) -> None:
        self.turn, self.number = turn, number
        super().__init__(f"what turn {turn} said is gone: it was {when} (erasure {number})")


class BarredContent(InputError):
    """These bytes were erased, and are refused since; ``number`` is that of the erasure. Nothing was stored."""

    def __init__(self, hash: str, number: int) -> None:
        self.hash, self.number = hash, number
        super().__init__(f"this content cannot be stored: erasure {number} barred it ({hash[:16]}…)")
