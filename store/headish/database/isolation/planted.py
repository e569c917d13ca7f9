"""Find foreign objects on or beside our tables, which the server runs with the rights of every user of the tables.

A former owner of a table, or a role with the right TRIGGER on it, may have left one there: a trigger, a rule, a
default, a check, or an index whose expression calls a function of theirs. The server prefers their function or operator
in our schema to ours or its own wherever it fits the types better. A view shows all rows if no policy applies to its
owner.
"""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

from headish.database.isolation.grants import OURS
from headish.database.query import SchemaConnection

_TABLES = f"c.relnamespace = current_schema()::regnamespace AND c.relname IN ({OURS})"
_ON = "format('%I.%I', current_schema(), c.relname)"
_PLANTED = f"""
SELECT c.relname::text, 'it has a trigger ' || t.tgname, format('DROP TRIGGER %I ON %s', t.tgname, {_ON})
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND {_TABLES}
UNION ALL
SELECT c.relname::text, 'it has a rule ' || w.rulename, format('DROP RULE %I ON %s', w.rulename, {_ON})
FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class WHERE w.rulename <> '_RETURN' AND {_TABLES}
UNION ALL
SELECT c.relname::text, pg_describe_object(d.classid, d.objid, 0) || ' calls ' || p.oid::regprocedure, ''
FROM pg_depend d JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = p.oid
LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
LEFT JOIN pg_index i ON d.classid = 'pg_class'::regclass AND i.indexrelid = d.objid
JOIN pg_class c ON c.oid = coalesce(f.adrelid, k.conrelid, i.indrelid)
WHERE p.pronamespace <> 'pg_catalog'::regnamespace AND {_TABLES}
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
WHERE (v.relkind = 'm' OR r.rolsuper OR r.rolbypassrls) AND {_TABLES}
    AND NOT coalesce(v.reloptions && ARRAY['security_invoker=true', 'security_invoker=on'], false)
"""


def find_planted(connection: SchemaConnection) -> set[tuple[str, str, str]]:
    """``(table, what, statement)`` for each foreign object. The statement removes it; it is empty if a person must
    decide."""
    return {(on, what, statement) for on, what, statement in connection.execute(_PLANTED)}
