"""Find logins that could remove the separation of spaces, or read past it: one query, and a sentence for each finding.

A right counts if a login has it, or is a member of a role that has it, through any number of roles: a member can become
the role. Members of ``headish_owner`` can do what it can, and no policy stops them.
"""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

from typing import Any

from headish.database.isolation.grants import OURS, OWNER, READER
from headish.database.query import SchemaConnection

_READS_ALL = (
    "pg_read_all_data",
    "pg_write_all_data",
    "pg_read_server_files",
    "pg_write_server_files",
    "pg_execute_server_program",
)
_HERE = "n.nspname = current_schema()"
_OTHERS = f"r.rolname <> '{OWNER}'"
# If a login has several rights, the finding names the first. ``of`` is the role that has the right itself.
# Before PostgreSQL 16, CREATEROLE could grant any role that is not a superuser; since then it needs ADMIN OPTION on it.
_RIGHTS = f"""
SELECT 1, r.oid, 'is a superuser, whom no policy holds' FROM pg_roles r WHERE r.rolsuper
UNION ALL SELECT 2, r.oid, 'has BYPASSRLS, so no policy holds it' FROM pg_roles r WHERE r.rolbypassrls
UNION ALL SELECT 3, r.oid, 'may take the policies away' FROM pg_roles r WHERE r.rolname = '{OWNER}'
UNION ALL SELECT 4, r.oid, 'has REPLICATION, and so reads every change that is written' FROM pg_roles r
    WHERE r.rolreplication
UNION ALL SELECT 5, r.oid, 'has CREATEROLE, and so may make itself a member of {OWNER}' FROM pg_roles r
    WHERE r.rolcreaterole AND current_setting('server_version_num')::int < 160000
UNION ALL SELECT 6, r.oid, 'may set the password of ' || t.rolname FROM pg_roles r
    JOIN pg_roles t ON t.oid <> r.oid AND t.rolcanlogin AND pg_has_role(r.oid, t.oid, 'MEMBER WITH ADMIN OPTION')
    JOIN pg_roles m ON m.rolname = '{READER}' AND pg_has_role(t.oid, m.oid, 'MEMBER')
    WHERE r.rolcreaterole AND NOT r.rolsuper AND current_setting('server_version_num')::int >= 160000
UNION ALL SELECT 7, r.oid, 'reads or writes what no policy guards' FROM pg_roles r
    WHERE r.rolname IN ({", ".join(f"'{name}'" for name in _READS_ALL)})
UNION ALL SELECT 8, r.oid, 'owns the database' FROM pg_roles r JOIN pg_database d ON d.datdba = r.oid
    WHERE d.datname = current_database() AND {_OTHERS}
UNION ALL SELECT 9, r.oid, 'owns the schema ' || n.nspname FROM pg_roles r JOIN pg_namespace n ON n.nspowner = r.oid
    WHERE {_HERE} AND {_OTHERS}
UNION ALL SELECT 10, r.oid, 'owns the table ' || c.relname FROM pg_roles r JOIN pg_class c ON c.relowner = r.oid
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_HERE} AND c.relname IN ({OURS}) AND {_OTHERS}
UNION ALL SELECT 11, r.oid, 'owns the function ' || p.proname FROM pg_roles r JOIN pg_proc p ON p.proowner = r.oid
    JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {_HERE} AND {_OTHERS}
"""
_TAKEOVERS = f"""
WITH rights(rank, of, what) AS MATERIALIZED ({_RIGHTS})
SELECT DISTINCT ON (l.rolname) l.rolname::text, o.rolname::text, rights.what
FROM rights JOIN pg_roles o ON o.oid = rights.of JOIN pg_roles l ON pg_has_role(l.oid, o.oid, 'MEMBER')
WHERE {{which}} ORDER BY l.rolname, l.oid <> o.oid, rights.rank, rights.what
"""


def find_takeovers(connection: SchemaConnection) -> dict[str, str]:
    """Every role that could take over the database, with the reason: ``it is a member of X, which …``."""
    return _find(connection, "true")


def why_it_could(connection: SchemaConnection) -> str | None:
    """The reason why the login of a connection could take over the database; None if it could not."""
    return next(iter(_find(connection, "l.rolname = session_user").values()), None)


def _find(connection: SchemaConnection, which: str) -> dict[str, str]:
    rows: Any = connection.execute(_TAKEOVERS.replace("{which}", which))
    return {
        login: f"it {what}" if login == role else f"it is a member of {role}, which {what}"
        for login, role, what in rows
    }
