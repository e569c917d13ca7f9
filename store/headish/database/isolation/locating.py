"""Find the schema of a server that contains the tables, and move them into one that ``headish_owner`` alone owns.

The owner of a schema may drop every table and function in it, and everybody who may create objects there can put one of
the same name beside ours. So everything that decides who may read is in a schema of its own. Tables in a schema that
others use, too, above all ``public``, are moved to ``headish``; a schema that has nothing else is taken over.

Every transaction of a secured database searches that schema first. Tables of the session (``pg_temp``) come last,
because a pooler may have lent the connection to another tenant before.
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
"""The current schema, if it belongs to ``headish_owner``."""
# Every function and operator has its schema: the owner of the database may have set a search path for all logins.
_IN_PATH = f"(SELECT v.relnamespace FROM pg_catalog.pg_class v WHERE v.oid {_IS} pg_catalog.to_regclass('{VERSION}'))"
_OWNED = f"pg_catalog.pg_get_userbyid(n.nspowner) {_IS} '{OWNER}'"
# A schema ``headish`` that another role has taken from its owner is searched as well, so that the checks there notice.
_TAKEN = f"""{_IN_PATH} IS NULL AND EXISTS (
    SELECT FROM pg_catalog.pg_class m WHERE m.relnamespace {_IS} n.oid AND m.relname {_IS} '{MEMBER}'
)"""


def search(schema: str) -> str:
    """The SQL expression that sets the search path of a transaction to a schema."""
    return f"pg_catalog.set_config('search_path', '{schema.replace(chr(39), chr(39) * 2)}, pg_temp', true)"


def find(*, is_given: bool) -> str:
    """The SQL expression that sets the search path to the secured schema, which the server finds: the one that the
    current path leads to or, unless the caller has given the path (``is_given``), ``headish``. If there is none, the
    path stays as it is."""
    home = f"n.nspname {_IS} '{HOME}'"
    or_home = "" if is_given else f" OR ({home} AND ({_OWNED} OR ({_TAKEN})))"
    schema_query = (
        "SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c "
        f"ON c.relnamespace {_IS} n.oid AND c.relname {_IS} '{VERSION}' "
        f"WHERE (n.oid {_IS} {_IN_PATH} AND {_OWNED}){or_home} ORDER BY {home} LIMIT 1"
    )
    path = f"pg_catalog.textcat(({schema_query}), ', pg_temp')"  # null if nothing is found
    return f"pg_catalog.set_config('search_path', coalesce({path}, pg_catalog.current_setting('search_path')), true)"


def is_given(arguments: Mapping[str, Any]) -> bool:
    """Whether the caller has given the schema, in the options of the URL or in the environment."""
    return "search_path" in f"{arguments.get('options', '')} {os.environ.get('PGOPTIONS', '')}"


class SearchPath:
    """The search path of the transactions of a process. ``settings`` go with each BEGIN.

    Until the schema is known, they have the server find it. Afterwards they name it; without a secured schema they are
    empty.
    """

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        self.find = find(is_given=is_given(arguments))
        self.asking = self.settings = f", {self.find}"
        self.was_found = False

    def ask(self) -> None:
        """Have the server find the schema again."""
        self.settings = self.asking

    def note(self, schema: str | None, *, is_confined: bool) -> None:
        """Remember the schema of the tables; None if they are not secured, or in a schema of others."""
        self.was_found = True
        guarded = f", {schema}.headish_guarded()" if is_confined else ""
        self.settings = "" if schema is None else f", {search(schema)}{guarded}"


def take_over(schema: str) -> str:
    """The statement that gives a schema to the owner of the tables."""
    return f"ALTER SCHEMA {schema} OWNER TO {OWNER}"


def move(schema: str, tables: Sequence[str], functions: Sequence[str], *, exists: bool) -> str:
    """The statements that move tables and functions into ``HOME``, and set the search path to it."""
    make_home = take_over(HOME) if exists else f"CREATE SCHEMA {HOME} AUTHORIZATION {OWNER}"
    return "; ".join(
        [
            make_home,
            *(f'ALTER TABLE {schema}."{name}" SET SCHEMA {HOME}' for name in tables),
            *(f"ALTER FUNCTION {schema}.{signature} SET SCHEMA {HOME}" for signature in functions),
            f"SELECT {search(HOME)}",
        ]
    )
