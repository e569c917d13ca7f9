"""Rounds of those who come in by another door: forks beside threads, hard links, a login that owns the database."""

from __future__ import annotations

import os
import threading
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import sqlalchemy

from headish import Database, Store
from headish.database.urls import parse_url, server_arguments
from headish.errors import DatabaseUnavailable, NotIsolated
from soak.rounds import Failed, Round, Soak, Where, finish, kind_of, writing
from soak.writer import read_notes
from support.secured import SEARCH, Logins, secured_database


def fork_beside_threads(soak: Soak) -> Round:
    """A process whose threads write forks again and again; its children write, and it closes while they do."""
    where = soak.either("forks beside threads")
    parent = soak.writer(where, turns=40, forks=12)
    if parent.process.wait(300):
        raise Failed(f"{where}: a forked child failed; it says why above")
    notes = [read_notes(path, seed) for path, seed in parent.family(12) if path.exists()]
    return finish(soak, where, notes, 12, how=kind_of(where))


def link_the_file(soak: Soak) -> Round:
    """A second name of the file beside two writers: whoever opens it by that name is refused."""
    where = soak.file()
    refused = 0
    with writing(soak, where, 2) as writers:
        for number in range(10):
            for writer in writers:
                writer.wait_for(10 * (number + 1))
            other = Path(where.target).with_name(f"other-{number}.db")
            os.link(where.target, other)
            try:
                Store.open(other).close()
            except DatabaseUnavailable:
                refused += 1
            other.unlink()
    if refused != 10:
        raise Failed(f"{where}: a second name of the file was opened")
    return finish(soak, where, [writer.notes() for writer in writers], refused, how="SQLite")


ATTEMPTS = (
    "DROP TABLE headish.member",
    "DROP FUNCTION headish.headish_space() CASCADE",
    "ALTER SCHEMA headish OWNER TO CURRENT_USER",
    "DROP SCHEMA headish CASCADE",
    "CREATE SCHEMA IF NOT EXISTS mine",
    "CREATE TABLE IF NOT EXISTS mine.member AS SELECT session_user::text AS login, {number}::bigint AS space",
    "CREATE TABLE IF NOT EXISTS mine.turn (space bigint, data bytea)",
    "GRANT ALL ON SCHEMA mine TO PUBLIC",
    'ALTER DATABASE "{database}" SET search_path = mine, public',
    "SET search_path = mine, headish",
    "SET headish.space = '{number}'",
    "CREATE FUNCTION mine.headish_space() RETURNS bigint LANGUAGE sql AS 'SELECT {number}::bigint'",
    "GRANT headish_owner TO CURRENT_USER",
    "ALTER TABLE headish.turn DISABLE ROW LEVEL SECURITY",
    "CREATE TRIGGER spy AFTER INSERT ON headish.turn EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "REASSIGN OWNED BY headish_owner TO CURRENT_USER",
    "SELECT encode(data, 'escape') FROM headish.turn",
    "TABLE headish.space",
    "TABLE headish.member",
)
"""What the owner of a database tries by hand."""


def own_the_database(soak: Soak) -> Round:
    """A login that owns the database tries what it can by hand, while a tenant writes; it reads and breaks nothing."""
    engine = sqlalchemy.create_engine(
        soak.server().url.replace("postgresql://", "postgresql+psycopg://"),
        isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool,
    )  # fmt: skip
    name = f"soak_{uuid4().hex}"
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    url = engine.url.set(database=name).render_as_string(hide_password=False)
    with secured_database(url) as logins:
        mallory = logins.make("mallory")
        with Database.open(url) as database:
            database.spaces.grant("ana", mallory)
        logins.run(f'ALTER DATABASE {name} OWNER TO "{mallory}"')
        _check_refused(logins)
        done = _attack(soak, logins, name)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    return done


def _check_refused(logins: Logins) -> None:
    try:
        Store.open(logins.at("mallory"), space="ana", isolation="required").close()
    except NotIsolated:
        return
    raise Failed("the owner of the database was let in where isolation is required")


def _attack(soak: Soak, logins: Logins, name: str) -> Round:
    with Store.open(logins.at("ben"), space="ben", isolation="required") as ben:
        acknowledged, done, number = dict[str, str](), threading.Event(), ben._number

        def write() -> None:
            for each in count():
                if done.is_set():
                    return
                text = f"of ben {each}"
                acknowledged[ben.add_turn(text, continues="main").id] = text

        writer = threading.Thread(target=write)
        writer.start()
        try:
            seen = [_try_all(soak, logins, number, name) for _ in range(20)]
        finally:
            done.set()
            writer.join()
        if any("of ben" in each for each in seen):
            raise Failed("the owner of the database read another tenant's turns")
    where = Where(logins.url, "ben")
    with Store.open(logins.at("ben"), space="ben", isolation="required") as again:
        lost = sum(again.text(id) != text for id, text in acknowledged.items())
        if again.verify().problems:
            raise Failed(f"{where}: verify finds {again.verify().problems[:5]}")
    return Round(20 * len(ATTEMPTS), len(acknowledged), lost, "PostgreSQL")


def _try_all(soak: Soak, logins: Logins, number: int, name: str) -> str:
    """What the attempts read, in another order each time."""
    seen: list[Any] = []
    attempts = soak.chance.sample(ATTEMPTS, len(ATTEMPTS))
    with psycopg.connect(**(SEARCH | _arguments(logins)), autocommit=True) as connection:
        for attempt in attempts:
            try:
                cursor = connection.execute(attempt.format(number=number, database=name).encode())
                seen.append(cursor.fetchall() if cursor.description else None)
            except psycopg.Error as error:
                seen.append(str(error))
    return str(seen)


def _arguments(logins: Logins) -> dict[str, Any]:
    return server_arguments(parse_url(logins.at("mallory")))
