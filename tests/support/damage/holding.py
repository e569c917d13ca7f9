"""Doing damage, and holding what sees it to the verdict. Used by tests/corruption."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Table

from headish.values.results.reports import Problem
from support.damage.databases import Damaged, Refused, damage_done, problems_near, problems_of
from support.damage.reading import read_all
from support.damage.rows import Damage, names_of
from support.damage.verdicts import READING, REFUSED, UNWRITTEN, VERIFY, Listed, Seen, Verdict

READ = 1
"""How many damages of a kind are read after verify has found them: reading costs ten times as much."""


def hold(damaged: Damaged, table: Table, attempts: Sequence[Damage], said: Verdict) -> list[Seen | None]:
    """Do each damage and hold what sees it to the verdict; returns what saw each that the database took."""
    if said == UNWRITTEN:
        assert not attempts, "something writes it now: give it a verdict in the table"
        return []
    assert attempts
    read = spread(attempts, READ)
    done = [(damage, what_sees(damaged, table, damage, reading=damage in read)) for damage in attempts]
    seen = [(damage, by) for damage, by in done if by != REFUSED]
    if isinstance(said, Seen):
        assert [damage for damage, by in seen if by not in (VERIFY, said)] == []
    if said == REFUSED:
        assert not seen
    return [by for _, by in seen if not isinstance(by, Listed)]


def what_sees(damaged: Damaged, table: Table, damage: Damage, *, reading: bool) -> Verdict | None:
    """What sees a damage. Whatever it is, nothing but a HeadishError is raised.

    ``reading``: verify everything and read everything, even if something is found before.
    """
    names = names_of(table, damage)
    try:
        with damage_done(damaged, table, damage):
            problems = [] if reading else problems_near(damaged, table, damage)
            if not _tells(problems, names):
                problems = problems_of(damaged.database)
            errors = read_all(damaged.database) if reading or not problems else []
    except Refused:
        return REFUSED
    assert not problems or _tells(problems, names), problems
    if problems:
        return VERIFY
    return READING if errors else None


def _tells(problems: Sequence[Problem], names: Collection[str]) -> bool:
    """Whether one of the names stands in a problem."""
    told = "\n".join(f"{problem.subject}: {problem.what}" for problem in problems)
    return any(name in told for name in names)


def spread(attempts: Sequence[Damage], count: int) -> Sequence[Damage]:
    """So many of them, from the first to the last."""
    return attempts[:: max(1, len(attempts) // count)][:count]
