"""Read the owners, policies, functions and grants of our tables from a server. ``measures`` judges them."""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

from typing import Any, NamedTuple

from headish.database.isolation.collected import NUMBERS
from headish.database.isolation.grants import OURS, ROLES
from headish.database.isolation.locating import HOME
from headish.database.isolation.takeovers import find_takeovers
from headish.database.query import SchemaConnection

PUBLIC = "PUBLIC"

_HERE = "c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')"
_GRANTEE = f"coalesce(g.rolname, '{PUBLIC}')"
# The schema comes quoted, because ``measures`` builds its statements with it.
_SESSION = (
    "SELECT quote_ident(current_schema()), pg_get_userbyid(n.nspowner), session_user, rolsuper, "
    "current_setting('server_version_num')::int "
    "FROM pg_roles, pg_namespace n WHERE rolname = session_user AND n.nspname = current_schema()"
)
_RELATIONS = """
SELECT n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN (current_schema(), %s) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_HAS_HOME = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = %s)"
_ROLES = "SELECT rolname, rolcanlogin, rolsuper, rolbypassrls FROM pg_roles"
_MEMBERSHIPS = (
    "SELECT r.rolname, m.rolname FROM pg_auth_members a JOIN pg_roles r ON r.oid = a.roleid "
    "JOIN pg_roles m ON m.oid = a.member"
)
_TABLES = f"""
SELECT c.relname, o.rolname, c.relrowsecurity, c.relforcerowsecurity,
    ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped)
FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner WHERE {_HERE}
"""
_POLICIES = f"""
SELECT c.relname, p.polname, p.polcmd::text, pg_get_expr(p.polqual, p.polrelid),
    pg_get_expr(p.polwithcheck, p.polrelid), p.polpermissive
FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE {_HERE}
"""
_FUNCTIONS = """
SELECT p.proname, p.prosrc, p.prosecdef AND p.provolatile::text = ANY(ARRAY['s', 'v'])
    AND p.proconfig = ARRAY['search_path=pg_catalog, pg_temp'], o.rolname
FROM pg_proc p JOIN pg_roles o ON o.oid = p.proowner
WHERE p.pronamespace = current_schema()::regnamespace AND p.proname ~ '^headish'
"""
_GRANTS = f"""
SELECT {_GRANTEE}, a.privilege_type, c.relname, NULL FROM pg_class c, aclexplode(c.relacl) a
LEFT JOIN pg_roles g ON g.oid = a.grantee WHERE {_HERE} AND a.grantee <> c.relowner
UNION ALL
SELECT {_GRANTEE}, a.privilege_type, c.relname, t.attname::text
FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND NOT t.attisdropped, aclexplode(t.attacl) a
LEFT JOIN pg_roles g ON g.oid = a.grantee WHERE {_HERE} AND a.grantee <> c.relowner
"""
_EXECUTED = f"""
SELECT {_GRANTEE}, p.proname FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
LEFT JOIN pg_roles g ON g.oid = a.grantee
WHERE p.pronamespace = current_schema()::regnamespace AND p.proname ~ '^headish'
"""
_OF_SCHEMA = f"""
SELECT {_GRANTEE}, a.privilege_type FROM pg_namespace n, aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
LEFT JOIN pg_roles g ON g.oid = a.grantee WHERE n.nspname = current_schema()
"""
_INDEXES = "SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema()"
# Statistics of numbers stay: they reveal no names, and without them plans begin at the wrong end. An index has
# statistics of its own for a column that is an expression.
_COLLECTED = f"""
SELECT c.relname, c.relname, t.attname::text, t.attnum::int FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND t.attnum > 0
    AND NOT t.attisdropped AND coalesce(t.attstattarget, -1) <> 0
    AND t.atttypid NOT IN {NUMBERS}
UNION ALL
SELECT o.relname, c.relname, NULL, t.attnum::int FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
JOIN pg_class o ON o.oid = i.indrelid JOIN pg_attribute t ON t.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND i.indkey[t.attnum - 1] = 0
    AND coalesce(t.attstattarget, -1) <> 0
ORDER BY 1, 2, 4
"""
_MEMBERS = "SELECT login, space FROM member"
_MAY_READ_MEMBERS = "SELECT coalesce(has_table_privilege(to_regclass('member'), 'SELECT'), false)"
# Foreign objects on or beside our tables, which the server runs with the rights of every user of the tables. A former
# owner of a table, or a role with the right TRIGGER on it, may have left one there: a trigger, a rule, a default, a
# check, or an index whose expression calls a function of theirs. The server prefers their function or operator in our
# schema to ours or its own wherever it fits the types better. A view shows all rows if no policy applies to its owner.
# Each row is ``(table, what, statement)``. The statement removes the object; it is empty if a person must decide.
_OF_OURS = f"c.relnamespace = current_schema()::regnamespace AND c.relname IN ({OURS})"
_ON = "format('%I.%I', current_schema(), c.relname)"
_PLANTED = f"""
SELECT c.relname::text, 'it has a trigger ' || t.tgname, format('DROP TRIGGER %I ON %s', t.tgname, {_ON})
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND {_OF_OURS}
UNION ALL
SELECT c.relname::text, 'it has a rule ' || w.rulename, format('DROP RULE %I ON %s', w.rulename, {_ON})
FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class WHERE w.rulename <> '_RETURN' AND {_OF_OURS}
UNION ALL
SELECT c.relname::text, pg_describe_object(d.classid, d.objid, 0) || ' calls ' || p.oid::regprocedure, ''
FROM pg_depend d JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
LEFT JOIN pg_index i ON d.classid = 'pg_class'::regclass AND i.indexrelid = d.objid
JOIN pg_class c ON c.oid = coalesce(f.adrelid, k.conrelid, i.indrelid)
WHERE p.pronamespace <> 'pg_catalog'::regnamespace AND {_OF_OURS}
UNION ALL
SELECT p.proname::text, 'the function ' || p.oid::regprocedure || ' is in its schema, and is not ours',
    format('DROP FUNCTION %s', p.oid::regprocedure)
FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace AND p.proname !~ '^headish'
    AND current_schema() <> 'public'
UNION ALL
SELECT o.oprname::text, 'the operator ' || o.oid::regoperator || ' is in its schema, and is not ours',
    format('DROP OPERATOR %s', o.oid::regoperator)
FROM pg_operator o WHERE o.oprnamespace = current_schema()::regnamespace AND current_schema() <> 'public'
UNION ALL
SELECT DISTINCT c.relname::text, 'the view ' || v.oid::regclass || ' shows what no policy keeps from its owner', ''
FROM pg_depend d JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
JOIN pg_class v ON v.oid = w.ev_class JOIN pg_roles r ON r.oid = v.relowner
JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid AND c.oid <> v.oid
WHERE (v.relkind = 'm' OR r.rolsuper OR r.rolbypassrls) AND {_OF_OURS}
    AND NOT coalesce(v.reloptions && ARRAY['security_invoker=true', 'security_invoker=on'], false)
"""


class Role(NamedTuple):
    """A role of the server."""

    name: str
    may_log_in: bool
    is_superuser: bool
    bypasses: bool


class OwnedTable(NamedTuple):
    """A table: its owner, whether policies apply (``is_enabled``), and whether they apply to its owner, too."""

    name: str
    owner: str
    is_enabled: bool
    is_forced: bool
    columns: list[str]


class SampledColumn(NamedTuple):
    """A column of a table, or of an index on it, whose values ANALYZE collects."""

    table: str
    relation: str
    column: str | None
    """None for an expression of an index."""
    number: int


class Catalog(NamedTuple):
    """The answers of a server at one moment."""

    schema: str
    schema_owner: str
    session: str
    is_superuser: bool
    version: int
    roles: dict[str, Role]
    memberships: set[tuple[str, str]]
    """``(role, member)``, as granted."""
    tables: dict[str, OwnedTable]
    policies: dict[tuple[str, str], tuple[Any, ...]]
    functions: dict[str, tuple[Any, ...]]
    grants: set[tuple[str, str, str, str | None]]
    executed: set[tuple[str, str]]
    of_schema: set[tuple[str, str]]
    collected: list[SampledColumn]
    indexes: set[str]
    members: set[tuple[str, int]] | None
    """``(login, space)``; None if the session may not read them."""
    relations: set[tuple[str, str]]
    """``(schema, name)`` of every table and view in the schema of our tables, and in ``locating.HOME``."""
    has_home: bool
    """Whether the schema ``locating.HOME`` exists."""
    planted: set[tuple[str, str, str]]
    """``(table, what, statement)`` of each foreign object that ``planted`` finds."""
    takeovers: dict[str, str]
    """The roles that could take over the database, with the reason."""

    def reaches(self, member: str, role: str) -> bool:
        """Whether a role is a member of another one, directly or through others."""
        seen, waiting = {member}, [member]
        while waiting:
            now = waiting.pop()
            new = {of for of, who in self.memberships if who == now} - seen
            seen |= new
            waiting += new
        return role in seen


def read_catalog(connection: SchemaConnection) -> Catalog:
    """Read the catalog of the server. Every login may read it, except for ``members``."""

    def rows(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in connection.execute(statement, values or None)]

    [(schema, schema_owner, session, is_superuser, version)] = rows(_SESSION)
    [(may_read,)] = rows(_MAY_READ_MEMBERS)
    return Catalog(
        schema=schema,
        schema_owner=schema_owner,
        session=session,
        is_superuser=is_superuser,
        version=version,
        roles={row[0]: Role(*row) for row in rows(_ROLES)},
        memberships=set(rows(_MEMBERSHIPS)),
        tables={row[0]: OwnedTable(*row) for row in rows(_TABLES)},
        policies={row[:2]: row[2:] for row in rows(_POLICIES)},
        functions={row[0]: row[1:] for row in rows(_FUNCTIONS)},
        grants=set(rows(_GRANTS)),
        executed=set(rows(_EXECUTED)),
        of_schema=set(rows(_OF_SCHEMA)),
        collected=[SampledColumn(*row) for row in rows(_COLLECTED)],
        indexes={name for (name,) in rows(_INDEXES)},
        members=set(rows(_MEMBERS)) if may_read else None,
        relations=set(rows(_RELATIONS, HOME)),
        has_home=rows(_HAS_HOME, HOME)[0][0],
        planted=set(rows(_PLANTED)),
        takeovers=find_takeovers(connection),
    )


def run(connection: SchemaConnection, statement: str) -> int:
    """Run a statement. Returns the number of rows that it changed."""
    return int(connection.execute(statement).rowcount)


def is_secured(catalog: Catalog) -> bool:
    """Whether the tables were ever secured: a policy applies even to the owner of one, and the roles exist."""
    return any(each.is_forced for each in catalog.tables.values()) and set(ROLES) <= catalog.roles.keys()
