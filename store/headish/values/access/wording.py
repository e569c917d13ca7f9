"""Word errors for callers: the words of a database can name a path, a server or a statement."""

from __future__ import annotations

from headish import errors
from headish.errors import DatabaseError, HeadishError


def words_for_callers(error: HeadishError) -> str:
    """An error in words that name nothing outside of the caller's space."""
    if isinstance(error, errors.UnknownSpace):
        return f"there is no space {error.space!r}"
    if isinstance(error, DatabaseError):
        # The nearest class decides, so that each kind of error can have words of its own.
        return next(_WORDS[kind] for kind in type(error).__mro__ if kind in _WORDS)
    return str(error)


def words_for_people(error: HeadishError) -> str:
    """An error in words for a page, where nobody sees the JSON into which its path leads."""
    words = words_for_callers(error)
    if isinstance(error, errors.InvalidContent | errors.InvalidInterchange):
        words = words.removesuffix(f" (at {error.path})")
    return words


_WORDS: dict[type, str] = {
    errors.SpaceRestoring: "the space is being restored, or a restore of it was cut off",
    errors.CorruptRecord: "something stored does not decode, or disagrees with its address; 'headish verify' lists it",
    errors.DatabaseLocked: "another process holds the database; try again",
    errors.DatabaseFull: "the database has no space left",
    errors.DatabaseReadOnly: "the database cannot be written",
    errors.DatabaseUnavailable: "the database cannot be reached",
    errors.DatabaseTimedOut: "the database took longer than its limit; nothing was stored",
    errors.DatabaseError: "the database cannot do this; the server's log says why",
}
