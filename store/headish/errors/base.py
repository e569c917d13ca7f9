"""The two base classes of all errors, and helpers for their sentences."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN_CHARACTERS = 200
"""How many characters of a value an error shows."""


def shown(value: object) -> str:
    """Any value as an error shows it: shortened, and without ever raising."""
    try:
        text = repr(value)
    except Exception:  # one nested too deep, a number of too many digits, a __repr__ that fails
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean 'main' or 'man'?``; empty if no known name is similar.

    Lists cut long names, and people copy them: known names that begin like ``name`` come first.
    """
    from difflib import get_close_matches  # late: only an error needs it

    listed = list(known)
    longer = [each for each in listed if name and each.startswith(name.rstrip("…"))]
    # Cut, because difflib takes the square of the length.
    close = longer[:3] or get_close_matches(name[:SHOWN_CHARACTERS], listed, 3)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


class HeadishError(Exception):
    """The base of them all. ``code`` is a specification's error code, or None."""

    code: str | None = None

    def __str__(self) -> str:
        return Exception.__str__(self)  # some are a KeyError too, whose own ``__str__`` would be the message's repr

    def __reduce__(self) -> tuple[object, ...]:
        # Exception's own would call __init__ with the finished sentence in place of its arguments: most pickles would
        # not load, and the others would have the sentence inside their sentence.
        return _remake, (type(self), *self.args), self.__dict__


def _remake(kind: type[HeadishError], *args: object) -> HeadishError:
    """Rebuild an error from its pickle or copy, without ``__init__``; its attributes come from the pickled state."""
    return kind.__new__(kind, *args)


class InputError(HeadishError):
    """What was given cannot be taken: mend the call."""
