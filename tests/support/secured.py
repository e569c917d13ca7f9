"""A PostgreSQL database whose spaces the server keeps apart, with logins of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from uuid import uuid4

import psycopg
from sqlalchemy import make_url

from headish import Database
from headish.database.isolation.measures import quoted
from headish.database.isolation.members import GRANTED
from headish.database.urls import parse_url, server_arguments
from support.places import ServerPlace

SEARCH = {"options": "-csearch_path=headish,public"}
"""Where whoever sends statements of their own looks for the tables."""
PASSWORD = "of-the-tests"


class Logins:
    """The URL of the database for whom no policy holds, and those of logins, by name."""

    def __init__(self, url: str, kept: psycopg.Connection[Any] | None = None, *, suffix: str = "") -> None:
        """``kept``: a connection of the owner's, for what is run many times; without it, each has one of its own.
        ``suffix``: what their names end in, where a database knows them already."""
        self.url, self.suffix, self._made = url, suffix or uuid4().hex[:8], list[str]()
        self._kept = kept

    def name(self, who: str) -> str:
        """The login's name on the server, which other tests use, too."""
        return f"{who}_{self.suffix}"

    def make(self, who: str, more: str = "") -> str:
        """A new login; its name."""
        name = self.name(who)
        self.run(f"CREATE ROLE {quoted(name)} LOGIN PASSWORD '{PASSWORD}' {more}")
        self._made.append(name)
        return name

    def at(self, who: str) -> str:
        """The URL with which a login opens the database."""
        url = make_url(self.url).set(username=self.name(who), password=PASSWORD)
        return url.render_as_string(hide_password=False)

    def run(self, statement: str, who: str | None = None, space: str | None = None) -> list[tuple[Any, ...]]:
        """What a statement of one's own gives, without headish: as a login, inside a space that it may enter."""
        kept = self._kept if who is None else None
        opened = nullcontext(kept) if kept else connected(self.url if who is None else self.at(who))
        with opened as connection, connection.transaction():
            if space is not None:
                connection.execute("SELECT headish_enter(%s)", (space.encode(),))
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def renew(self) -> None:
        """Make the spaces of ana and ben anew: nobody enters the former ones any more, whatever was done there."""
        with Database.open(self.url) as database:
            for space in SPACES:
                former = f"{space}-{uuid4().hex}"
                database.spaces.rename(space, former)
                fill(database, space)
                here, there = (f"(SELECT id FROM space WHERE name = '{name}')" for name in (former, space))
                self.run(f"UPDATE member SET space = {there} WHERE space = {here}")

    def drop(self) -> None:
        for name in self._made:
            role = quoted(name)
            self.run(f"REASSIGN OWNED BY {role} TO CURRENT_USER; DROP OWNED BY {role}; DROP ROLE {role}")


def connected(url: str) -> psycopg.Connection[Any]:
    """A connection without headish, which closes at the end of its block."""
    arguments: dict[str, Any] = {**SEARCH, **server_arguments(parse_url(url)), "autocommit": True}
    return psycopg.connect(**arguments)


def fill(database: Database, space: str) -> None:
    """Make a space with a turn."""
    database.store(space).add_turn(f"the secret of {space}", bookmark="main")


def secure_spaces(url: str) -> None:
    """Secure a database with the spaces of ana and ben, which nobody enters yet; their turns go in before."""
    with Database.open(url) as database:
        for space in SPACES:
            fill(database, space)
        database.secure()


@contextmanager
def secured_database(url: str, *, suffix: str = "") -> Iterator[Logins]:
    """``app`` may enter every space; ``ana`` and ``ben`` a space of their own each; ``reader`` and ``eraser`` that of
    ana; ``owner`` may do everything that the owner of the tables may. ``suffix``: it is a copy of one that had these
    logins, and says who of them enters which space; their roles went with them."""
    if not suffix:
        secure_spaces(url)
    with connected(url) as kept:
        logins = Logins(url, kept, suffix=suffix)
        made = [logins.make(who) for _, who, _ in WHO]
        if suffix:  # first: to secure it closes the spaces to logins without a role
            for login, (_, _, role) in zip(made, WHO, strict=True):
                logins.run(f"GRANT {GRANTED[role]} TO {quoted(login)}")
        with Database.open(url) as database:
            database.secure(apps=[logins.make("app")])
            if not suffix:
                for login, (space, _, role) in zip(made, WHO, strict=True):
                    database.spaces.grant(space, login, role=role)
            logins.run(f'GRANT headish_owner TO "{logins.make("owner")}"')
        try:
            yield logins
        finally:
            logins.drop()


SPACES = ("ana", "ben")
WHO: tuple[tuple[str, str, Any], ...] = (
    ("ana", "ana", "writer"),
    ("ben", "ben", "writer"),
    ("ana", "reader", "reader"),
    ("ana", "eraser", "eraser"),
)


class WriterPlace(ServerPlace):
    """A space of a secured database, opened by a login that may write, and do no more."""

    def __init__(self, logins: Logins, space: str, *, is_warm: bool) -> None:
        super().__init__(logins.at("app"), space, is_warm=is_warm)
