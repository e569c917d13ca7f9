"""Find the schema of a server that contains the tables, and move them into one that ``headish_owner`` alone owns.

Whoever owns a schema may drop each table and function in it, and whoever may create something in it can put an object
of the same name beside ours. So what decides who may read lies in a schema of its own. Tables in a schema
that others use, too, ``public`` above all, are moved to ``headish``; a schema that holds nothing else is taken over.

Every transaction of a secured database searches that schema, and no other one before it: tables of a session
(``pg_temp``) come last, since a pooler may have lent the connection to another tenant before.
"""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from headish.database.isolation.grants import MEMBER, OWNER, VERSION

HOME = "headish"
"""The schema that tables are moved to."""
_IS = "OPERATOR(pg_catalog.=)"
OWN_SCHEMA = (
    "SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname = current_schema() "
    f"AND pg_get_userbyid(nspowner) = '{OWNER}'"
)
"""The schema that is searched, if it is the owner's of our tables alone."""
# No function or operator is looked up by the search path in force: an owner of the database may have set it for all.
_IN_PATH = f"(SELECT v.relnamespace FROM pg_catalog.pg_class v WHERE v.oid {_IS} pg_catalog.to_regclass('{VERSION}'))"
_OWNED = f"pg_catalog.pg_get_userbyid(n.nspowner) {_IS} '{OWNER}'"
# Whoever took the schema from its owner is found out by what looks there.
_TAKEN = f"""{_IN_PATH} IS NULL AND EXISTS (
    SELECT FROM pg_catalog.pg_class m WHERE m.relnamespace {_IS} n.oid AND m.relname {_IS} '{MEMBER}'
)"""


def search(schema: str) -> str:
    """What sets the search path of a transaction to a schema, for a SELECT."""
    return f"pg_catalog.set_config('search_path', '{schema.replace(chr(39), chr(39) * 2)}, pg_temp', true)"


def find(*, is_given: bool) -> str:
    """As ``search``, for the schema that the server says is headish's: the one that the search path leads to or, unless
    whoever opens the database has ``given`` the path, ``headish``. If no schema is secured, the path stays
    unchanged."""
    home = f"n.nspname {_IS} '{HOME}'"
    or_home = "" if is_given else f" OR ({home} AND ({_OWNED} OR ({_TAKEN})))"
    found = (
        "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c "
        f"ON c.relnamespace {_IS} n.oid AND c.relname {_IS} '{VERSION}' "
        f"WHERE (n.oid {_IS} {_IN_PATH} AND {_OWNED}){or_home} ORDER BY {home} LIMIT 1"
    )
    path = f"pg_catalog.textcat(({found}), ', pg_temp')"  # null where nothing is found
    return f"pg_catalog.set_config('search_path', coalesce({path}, pg_catalog.current_setting('search_path')), true)"


def is_given(arguments: Mapping[str, Any]) -> bool:
    """Whether whoever opens a database says in which schema it lies."""
    return "search_path" in f"{arguments.get('options', '')} {os.environ.get('PGOPTIONS', '')}"


class SearchPath:
    """Where the transactions of a process look for the tables. ``settings`` go with each BEGIN: they ask the server
    until that is noted; where nothing is secured there are none."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.find = find(is_given=is_given(arguments))
        self.asking = self.settings = f", {self.find}"
        self.was_found = False

    def ask(self) -> None:
        """Find out again."""
        self.settings = self.asking

    def note(self, schema: str | None, *, is_confined: bool) -> None:
        """The tables lie in a ``schema`` of their owner's; None: they are not secured, or in one of others."""
        self.was_found = True
        guarded = f", {schema}.headish_guarded()" if is_confined else ""
        self.settings = "" if schema is None else f", {search(schema)}{guarded}"


def take_over(schema: str) -> str:
    """The statement that gives a schema to the owner of the tables."""
    return f"ALTER SCHEMA {schema} OWNER TO {OWNER}"


def move(schema: str, tables: Sequence[str], functions: Sequence[str], *, exists: bool) -> str:
    """The statements that move tables and functions into a schema of their own, and look for them there."""
    made = take_over(HOME) if exists else f"CREATE SCHEMA {HOME} AUTHORIZATION {OWNER}"
    return "; ".join(
        [
            made,
            *(f'ALTER TABLE {schema}."{name}" SET SCHEMA {HOME}' for name in tables),
            *(f"ALTER FUNCTION {schema}.{signature} SET SCHEMA {HOME}" for signature in functions),
            f"SELECT {search(HOME)}",
        ]
    )
