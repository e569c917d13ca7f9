"""The measures that keep spaces apart: for each, a check that finds it missing, and the statement that repairs it.

``secure`` runs the statements of missing measures, in this order; ``--check`` lists them. So both mean the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headish.database.isolation import collected, locating
from headish.database.isolation.catalog import PUBLIC, Catalog, SampledColumn
from headish.database.isolation.grants import ERASER, HELD, MEMBER, OWNER, READER, ROLES, VERSION, WRITER, Grant, grants
from headish.database.isolation.objects import ALL_SPACES, FUNCTIONS, GUARDED, MEMBERS, Policy, policies_of
from headish.values.results.plain import PlainResult

DIGESTS = ("turn_digest_whole", "turn", "(space, digest)")
"""The index of whole digests that the statements of a secured database use: its name, table and columns."""


class Measure(PlainResult, frozen=True):
    """A missing measure. ``kind`` is role, schema, owner, table, index, statistics, function, policy, planted, grant or
    login; ``on`` is the object that it is about. ``statement`` repairs it; None if no statement of ours can."""

    kind: str
    on: str
    what: str
    statement: str | None = None


def find_missing(catalog: Catalog, logins: Sequence[str], apps: Sequence[str] = ()) -> list[Measure]:
    """The missing measures, in the order of their repair. ``logins`` are checked; ``apps`` must be able to enter every
    space."""
    return [
        *_roles(catalog),
        *_place(catalog),
        *_schema(catalog),
        *_owners(catalog),
        *_indexes(catalog),
        *_statistics(catalog),
        *_functions(catalog),
        *_policies(catalog),
        *_planted(catalog),
        *_grants(catalog),
        *_apps(catalog, apps),
        *_logins(catalog, logins),
    ]


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal. Backslashes need no escape: since 9.1 a server takes them literally."""
    return "'" + text.replace("'", "''") + "'"


def _roles(catalog: Catalog) -> Iterator[Measure]:
    for name in ROLES:
        role = catalog.roles.get(name)
        if role is None:
            # Roles belong to the whole server, and another of its databases may be secured at the same moment.
            create = (
                f"DO $headish$ BEGIN CREATE ROLE {name} NOLOGIN; "
                "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $headish$"
            )
            yield Measure("role", name, "the role is missing", create)
        elif role.may_log_in or role.is_superuser or role.bypasses:
            alter = f"ALTER ROLE {name} NOLOGIN NOSUPERUSER NOBYPASSRLS"
            yield Measure("role", name, "the role may log in, or no policy holds it", alter)
    for role_name, member in ((READER, WRITER), (WRITER, ERASER)):
        if (role_name, member) not in catalog.memberships:
            what = f"it lacks the rights of {role_name}"
            yield Measure("role", member, what, f"GRANT {role_name} TO {member}")


def _place(catalog: Catalog) -> Iterator[Measure]:
    """Check that the tables are in a schema that the owner alone has. The repair moves them there, or the finding says
    what is in the way."""
    schema = catalog.schema
    if catalog.schema_owner == OWNER:
        return
    what = f"it belongs to {catalog.schema_owner}, who may drop what keeps spaces apart"
    ours = [name for name in (*GUARDED, VERSION, MEMBER) if name in catalog.tables]
    others = sorted({name for where, name in catalog.relations if where == schema} - {*ours})
    if schema != "public" and not others:
        yield Measure("schema", schema, what, locating.take_over(schema))
    elif schema != "public":
        yield Measure("schema", schema, f"{what}, and holds {', '.join(others)} of another program: move that away")
    elif any(where == locating.HOME for where, _ in catalog.relations):
        yield Measure("schema", schema, f"{what}; the schema {locating.HOME}, where tables belong, holds others")
    else:
        functions = [_signature(name) for name in FUNCTIONS if name in catalog.functions]
        moved = locating.move(schema, ours, functions, exists=catalog.has_home)
        yield Measure("schema", schema, f"{what}; its tables belong in the schema {locating.HOME}", moved)


def _signature(name: str) -> str:
    return f"{name}({FUNCTIONS[name].arguments.partition(' ')[2]})"


def _schema(catalog: Catalog) -> Iterator[Measure]:
    for role, privilege in ((READER, "USAGE"), (OWNER, "USAGE"), (OWNER, "CREATE")):
        if (role, privilege) not in catalog.of_schema:
            what = f"it lacks {privilege} on the schema {catalog.schema}"
            yield Measure("role", role, what, f"GRANT {privilege} ON SCHEMA {catalog.schema} TO {role}")
    for name in sorted(who for who, privilege in catalog.of_schema if privilege == "CREATE" and who != OWNER):
        what = f"may make tables and functions in the schema {catalog.schema}"
        problem = f"everybody {what}" if name == PUBLIC else f"it {what}"
        whom = PUBLIC if name == PUBLIC else quoted(name)
        yield Measure("role", name, problem, f"REVOKE CREATE ON SCHEMA {catalog.schema} FROM {whom}")


def _owners(catalog: Catalog) -> Iterator[Measure]:
    if MEMBER not in catalog.tables:
        what = "the table that says which login may enter which space is missing"
        yield Measure("table", MEMBER, what, MEMBERS.replace("{schema}", catalog.schema))
    elif not catalog.tables[MEMBER].is_enabled:
        # Row-level security without a policy: even members of pg_write_all_data see no row of it, only its owner does.
        what = "no policy guards who may enter which space"
        yield Measure("policy", MEMBER, what, f"ALTER TABLE {_table(catalog, MEMBER)} ENABLE ROW LEVEL SECURITY")
    for name in dict.fromkeys((*guarded(catalog), VERSION, MEMBER)):
        table = catalog.tables.get(name)
        if name == MEMBER if table is None else table.owner != OWNER:
            owner = table.owner if table else catalog.session
            what = f"its owner is {owner}, whom no policy has to hold"
            yield Measure("owner", name, what, f"ALTER TABLE {_table(catalog, name)} OWNER TO {OWNER}")


def guarded(catalog: Catalog) -> list[str]:
    """The tables that need a policy: ``space``, and every table with a column of that name."""
    known = (*GUARDED, MEMBER)
    ours = catalog.tables.items() if catalog.schema_owner == OWNER else ()  # a shared schema has others' tables
    theirs = [name for name, table in ours if "space" in table.columns and name not in known]
    return [*(name for name in GUARDED if name in catalog.tables), *sorted(theirs)]


def _indexes(catalog: Catalog) -> Iterator[Measure]:
    name, table, columns = DIGESTS
    if name not in catalog.indexes and table in catalog.tables:
        create = f"CREATE INDEX {name} ON {_table(catalog, table)} {columns}"
        yield Measure("index", table, f"it lacks the index {name}, without which lists read whole spaces", create)


def _statistics(catalog: Catalog) -> Iterator[Measure]:
    """Check that columns of words have no statistics.

    ANALYZE samples the values of all spaces, the planner estimates by them, and EXPLAIN shows the estimates to
    everybody. By asking for one name after the other, a tenant could find out names of others. No policy prevents that.
    """
    for table in guarded(catalog):
        columns = [each for each in catalog.collected if each.table == table]
        if columns:
            what = "its statistics tell what other spaces hold, by the rows that EXPLAIN expects"
            statements = [_uncollected(each, catalog) for each in columns]
            yield Measure("statistics", table, what, "; ".join(statements))


def _uncollected(each: SampledColumn, catalog: Catalog) -> str:
    """The statements that stop the collection for a column, and remove what was collected. Before PostgreSQL 18 only a
    superuser can do the latter."""
    relation = _table(catalog, each.relation)
    if each.column is None:
        stop = f"ALTER INDEX {relation} ALTER COLUMN {each.number} SET STATISTICS 0"
    else:
        stop = f"ALTER TABLE {relation} ALTER COLUMN {quoted(each.column)} SET STATISTICS 0"
    of_column = f"a.attrelid = {literal(relation)}::regclass AND a.attnum = {each.number}"
    if catalog.version >= collected.CLEARING:
        clear = (
            f"SELECT pg_clear_attribute_stats(current_schema()::text, {literal(each.relation)}, a.attname::text, false)"
        )
        return f"{stop}; {clear} FROM pg_attribute a WHERE {of_column}"
    if catalog.is_superuser:
        of_statistics = f"s.starelid = a.attrelid AND s.staattnum = a.attnum AND {of_column}"
        return f"{stop}; DELETE FROM pg_catalog.pg_statistic s USING pg_attribute a WHERE {of_statistics}"  # noqa: S608
    return stop


def _functions(catalog: Catalog) -> Iterator[Measure]:
    for name, function in FUNCTIONS.items():
        signature = f"{catalog.schema}.{_signature(name)}"
        source, is_ours, owner = catalog.functions.get(name, (None, False, None))
        if source != function.source(catalog.schema) or not is_ours:
            what = "the function is missing" if source is None else "the function is not ours"
            yield Measure("function", name, what, function.create(name, catalog.schema))
        if owner != OWNER:
            yield Measure(
                "function", name, "it lacks the rights of the owner", f"ALTER FUNCTION {signature} OWNER TO {OWNER}"
            )
        if source is None or (PUBLIC, name) in catalog.executed:
            yield Measure("function", name, "everybody may call it", f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
        if (function.users, name) not in catalog.executed:
            what = f"{function.users} may not call it"
            yield Measure("function", name, what, f"GRANT EXECUTE ON FUNCTION {signature} TO {function.users}")


def _policies(catalog: Catalog) -> Iterator[Measure]:
    for name in guarded(catalog):
        state, table = catalog.tables[name], _table(catalog, name)
        wanted = {policy.name: policy for policy in policies_of(name)}
        for on, policy_name in catalog.policies:
            if on == name and policy_name not in wanted:
                what = f"it has a policy {policy_name} that is not ours"
                yield Measure("policy", name, what, f"DROP POLICY {quoted(policy_name)} ON {table}")
        for policy in wanted.values():
            found = catalog.policies.get((name, policy.name))
            if found is None:
                what = f"it lacks the policy {policy.name}"
                yield Measure("policy", name, what, policy.create(name, catalog.schema))
            elif not _is_same(found, policy, catalog.schema):
                drop = f"DROP POLICY {policy.name} ON {table}"
                what = f"its policy {policy.name} is not ours"
                yield Measure("policy", name, what, f"{drop}; {policy.create(name, catalog.schema)}")
        if not state.is_enabled:
            yield Measure("policy", name, "its policies are off", f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        if not state.is_forced:
            what = "its policies do not hold its owner"
            yield Measure("policy", name, what, f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")


def _planted(catalog: Catalog) -> Iterator[Measure]:
    for on, what, statement in sorted(catalog.planted):
        yield Measure("planted", on, what, statement or None)


_COMMANDS = {"*": "ALL", "r": "SELECT"}


def _is_same(found: tuple[object, ...], policy: Policy, schema: str) -> bool:
    command, using, check, is_permissive = found
    ours = (_bare(policy.using, schema), _bare(policy.check or "", schema))
    theirs = (_bare(str(using or ""), schema), _bare(str(check or ""), schema))
    return bool(is_permissive) and _COMMANDS.get(str(command)) == policy.what and ours == theirs


def _bare(text: str, schema: str) -> str:
    """A condition without the parts that a server spells differently: schema, aliases, blanks, parentheses and case."""
    plain = text.replace("{schema}.", "").replace(f"{schema}.", "")
    return re.sub(r"\bAS \w+|[\s()]", "", plain).lower()


def _grants(catalog: Catalog) -> Iterator[Measure]:
    ours = [each for each in grants() if each.table in catalog.tables]
    wanted = {
        each for each in ours if each.column is None or each.column in catalog.tables[each.table].columns
    }  # an older revision lacks some
    for grant in sorted(wanted, key=lambda each: (ROLES.index(each.role), each.words)):
        if tuple(grant) not in catalog.grants:
            yield Measure("grant", grant.table, f"{grant.role} lacks {grant.words}", _to(grant, "GRANT", catalog))
    wanted_rows = {tuple(each) for each in wanted}
    tables = {*guarded(catalog), VERSION, MEMBER}
    # By their texts: a grant on a whole table has None for its column, which does not compare with a name.
    for row in sorted(catalog.grants - wanted_rows, key=str):
        extra = Grant(*row)
        # Others may have SELECT, because the policy chooses the rows that they see, but no writes and nothing on
        # ``member``. Our own roles must have no more than is listed.
        if extra.table in tables and (extra.privilege != "SELECT" or extra.table == MEMBER or extra.role in ROLES):
            yield Measure("grant", extra.table, f"{extra.role} has {extra.words}", _to(extra, "REVOKE", catalog))


def _to(grant: Grant, verb: str, catalog: Catalog) -> str:
    column = f" ({quoted(grant.column)})" if grant.column else ""
    who = grant.role if grant.role == PUBLIC else quoted(grant.role)
    towards = "TO" if verb == "GRANT" else "FROM"
    return f"{verb} {grant.privilege}{column} ON {_table(catalog, grant.table)} {towards} {who}"


def _apps(catalog: Catalog, apps: Sequence[str]) -> Iterator[Measure]:
    for name in apps:
        if not any(catalog.reaches(name, role) for role in HELD[ERASER]):
            yield Measure("login", name, f"it lacks the role {WRITER}", f"GRANT {WRITER} TO {quoted(name)}")
        if catalog.members is not None and (name, ALL_SPACES) not in catalog.members:
            yield Measure("login", name, "it may not enter every space", member_added(catalog.schema, name, ALL_SPACES))


def member_added(schema: str, login: str, space: int) -> str:
    """The statement that opens a space to a login."""
    return f"INSERT INTO {schema}.member (login, space) VALUES ({literal(login)}, {space}) ON CONFLICT DO NOTHING"  # noqa: S608


def _logins(catalog: Catalog, logins: Sequence[str]) -> Iterator[Measure]:
    members = {login for login, _ in catalog.members or ()}
    for name in sorted(members - catalog.roles.keys()):
        gone = f"DELETE FROM {catalog.schema}.member WHERE login = {literal(name)}"  # noqa: S608
        yield Measure("login", name, "it may enter spaces, and the server has no such login", gone)
    for name in sorted((members & catalog.roles.keys()) | set(logins)):
        if name in catalog.takeovers:
            yield Measure("login", name, catalog.takeovers[name])


def _table(catalog: Catalog, name: str) -> str:
    return f"{catalog.schema}.{quoted(name)}"
