"""Verbs that compare: list the versions of a turn, and the differences between two branches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headish.database.query import Connection
from headish.history.reading.decode import complete_turns
from headish.history.reading.versions import Siblings, Version, VersionLink, find_versions, number_versions
from headish.rows.keys import turns_by_ids
from headish.rows.turns import StoredTurn
from headish.store.space import Space
from headish.values.checks.doors import door
from headish.values.grammar import parse_headish
from headish.values.ids import TurnId, known_id

if TYPE_CHECKING:
    from headish.history.edits.differences import Diff


@door()
def siblings(space: Space, headish: str, *, versions: bool = False) -> Siblings:
    """The versions of a turn, in commit order, and which of them it is: ``turns``, ``current``, ``version``.

    Versions continue the same turns in the same role, or one supersedes another, as an edit does. At the beginning of a
    conversation only the second counts: other conversations may begin after the same system turn. If an answer grew
    between two imports, only its last version counts; with ``versions`` all do.
    Cost: about seven statements, and as many more where a version supersedes a turn of another place.
    """

    def work(connection: Connection, stored: StoredTurn) -> Siblings:
        stored_versions = find_versions(connection, space._number, stored, halves=versions)
        turns = complete_turns(connection, space._number, stored_versions, space._options_at)
        return Siblings(tuple(turns), [each.id for each in stored_versions].index(stored.id))

    return space._read_at(headish, work)


@door()
def versions(space: Space, ids: Iterable[TurnId]) -> dict[TurnId, Version]:
    """The version number of each of these turns, and how many versions it has; turns without other versions are left
    out. For lists.

    Cost: five statements, however many ids there are, and as many more where a version supersedes a turn of another
    place.
    """
    listed = [known_id(each, "versions") for each in ids]

    def work(connection: Connection) -> dict[TurnId, Version]:
        turns = turns_by_ids(connection, space._number, listed)
        seen = [VersionLink(each.id, each.place, each.supersedes) for each in turns.values()]
        return number_versions(connection, space._number, seen)

    return space._read(work)


def diff(space: Space, first: str, second: str | None = None) -> Diff:
    """Compare two branches from their fork on: turn by turn, then word by word.

    ``diff(a, b)``, or ``diff("a..b")`` for both. Turns that say the same (role, attributes, content) are the same,
    whatever they continue; inherited options and meta are not compared. Two turns of one role in the same place are
    ``changed``, any other is ``removed`` or ``added``. Reasoning, calls and results are compared as text, documents by
    their addresses. Memory holds the turns that only one of the branches has.
    Cost: about ten statements, and a few more if thousands of turns follow the fork; time grows with the length of what
    differs, not with its square.
    Raises: UnknownTurn, Ambiguous, InvalidHeadish, CorruptTurn; InvalidArgument for anything but a pair.
    """
    from headish.history.edits.differences import diff_branches  # late: a log asks for versions alone
    from headish.history.edits.ranges import parse_range

    parsed = parse_range(first)
    other = None if second is None else parse_headish(second)
    return space._read_by(diff_branches, parsed, other, space._options_at)
