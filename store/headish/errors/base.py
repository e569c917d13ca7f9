"""The two classes that others stand below, and how an error shows a value that was given."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN_CHARACTERS = 200
"""How many characters of a value an error shows."""


def shown(value: object) -> str:
    """A value as an error shows it, whatever it is: in short, and without failing itself."""
    try:
        text = repr(value)
    except Exception:  # one nested too deep, a number of too many digits, a __repr__ that fails
        return f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean 'main' or 'man'?``; empty where nothing known is like it. Lists cut long names: what begins so
    comes first."""
    from difflib import get_close_matches  # late: only an error needs it

    listed = list(known)
    longer = [each for each in listed if name and each.startswith(name.rstrip("…"))]
    close = longer[:3] or get_close_matches(name[:SHOWN_CHARACTERS], listed, 3)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


class HeadishError(Exception):
    """The base of them all. ``code`` is a specification's error code, or None."""

    code: str | None = None

    def __str__(self) -> str:
        return Exception.__str__(self)  # some are a KeyError too, which would show its message as a repr

    def __reduce__(self) -> tuple[object, ...]:
        # Exception's own would call __init__ with the finished sentence in the place of its arguments: a pickle of
        # most would not load, and that of others would say its sentence within its sentence.
        return _remake, (type(self), *self.args), self.__dict__


def _remake(kind: type[HeadishError], *args: object) -> HeadishError:
    """An error as it was pickled or copied: its attributes follow from the pickle."""
    return kind.__new__(kind, *args)


class InputError(HeadishError):
    """What was given cannot be taken: mend the call."""
