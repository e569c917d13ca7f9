"""The objects of a secured database beside its tables: memberships of spaces, the functions that read them, and
policies.

The functions belong to the owner of the tables and run with its rights, so that a login asks them what it may not read
itself. Each has a fixed search path: nobody can put an object of the same name before ours. ``session_user`` is the
login, whatever role it has set.
"""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them

from __future__ import annotations

from typing import NamedTuple

from headish.database.isolation.grants import EVERYWHERE, OWNER, READER, WRITER

SETTING = "headish.space"
"""The setting that says which space a transaction works in."""
ALL_SPACES = 0
"""The number that lets a login enter every space: no space has it."""
NO_SPACE, NOT_HERE, NOT_GUARDED = "HS001", "HS002", "HS003"
"""The SQLSTATEs of our functions: no space was entered; this login may make no spaces; a table lacks its policy."""

MEMBERS = (
    'CREATE TABLE {schema}.member (login text COLLATE "C" NOT NULL, space bigint NOT NULL, PRIMARY KEY (space, login))'
)
"""Which login may enter which space. It is no table of the record: it names logins of this server."""

GUARDED = ("space", *EVERYWHERE)
"""The tables that have a policy."""
_TABLES = ", ".join(f"'{{text}}.{name}'::regclass" for name in GUARDED)
_MAY = (
    "EXISTS (SELECT FROM {schema}.member AS m WHERE m.space IN ({number}, 0) AND m.login = session_user) "
    f"OR pg_has_role(session_user, '{OWNER}', 'MEMBER')"
)
_SERVES_ALL = _MAY.replace("IN ({number}, 0)", "= 0")
_ENTERED = f"""
DECLARE
  given text := current_setting('{SETTING}', true);
BEGIN
  IF given ~ '^[1-9][0-9]{{{{0,17}}}}$' AND ({_MAY.replace("{number}", "given::bigint")}) THEN
    RETURN given::bigint;
  END IF;
  {{otherwise}};
END
"""


class Function(NamedTuple):
    """A function of a secured database. The braces of its body hold the schema, ``text`` inside quotes."""

    arguments: str
    returns: str
    kind: str
    body: str
    users: str = READER

    def create(self, name: str, schema: str) -> str:
        """The statement that makes it, or makes it anew."""
        return (
            f"CREATE OR REPLACE FUNCTION {schema}.{name}({self.arguments}) RETURNS {self.returns} LANGUAGE plpgsql "
            f"{self.kind} SECURITY DEFINER SET search_path = pg_catalog, pg_temp "
            f"AS $headish${self.source(schema)}$headish$"
        )

    def source(self, schema: str) -> str:
        return self.body.replace("{schema}", schema).replace("{text}", schema.replace("'", "''"))


FUNCTIONS = {
    # A policy that compared with null would make a store look empty to whoever forgot to enter a space.
    "headish_space": Function(
        "", "bigint", "STABLE",
        _ENTERED.format(
            schema="{schema}",
            otherwise=f"RAISE EXCEPTION 'no space was entered that is open to this login' USING ERRCODE = '{NO_SPACE}'",
        ),
    ),
    "headish_entered": Function("", "bigint", "STABLE", _ENTERED.format(schema="{schema}", otherwise="RETURN NULL")),
    "headish_enter": Function(
        "name bytea", "bigint", "VOLATILE",
        f"""
DECLARE
  found bigint;
BEGIN
  SELECT s.id INTO found FROM {{schema}}.space AS s WHERE s.name = $1 AND ({_MAY.replace("{number}", "s.id")});
  IF found IS NOT NULL THEN
    PERFORM set_config('{SETTING}', found::text, true);
  END IF;
  RETURN found;
END
""",
    ),
    # Row-level security without a policy hides every row: an empty store is believed. Each transaction asks this first.
    "headish_guarded": Function(
        "", "void", "STABLE",
        f"""
BEGIN
  IF {len(GUARDED)} > (SELECT count(*) FROM pg_policy
      WHERE polname = 'headish_space' AND polrelid = ANY(ARRAY[{_TABLES}]))
  THEN
    RAISE EXCEPTION 'a policy that keeps spaces apart is missing' USING ERRCODE = '{NOT_GUARDED}';
  END IF;
END
""",
    ),
    "headish_serves_all": Function("", "boolean", "STABLE", f"\nBEGIN\n  RETURN {_SERVES_ALL};\nEND\n"),
    "headish_spaces": Function(
        "", "SETOF bigint", "STABLE",
        "\nBEGIN\n  RETURN QUERY SELECT m.space FROM {schema}.member AS m WHERE m.login = session_user;\nEND\n",
    ),
    # The right comes first: a name that is taken and one that is not get the same answer.
    "headish_add_space": Function(
        "name bytea", "boolean", "VOLATILE",
        f"""
BEGIN
  IF NOT ({_SERVES_ALL}) THEN
    RAISE EXCEPTION 'this login may make no spaces' USING ERRCODE = '{NOT_HERE}';
  END IF;
  INSERT INTO {{schema}}.space (name) VALUES ($1) ON CONFLICT DO NOTHING;
  RETURN FOUND;
END
""",
        WRITER,
    ),
    # Below PostgreSQL 17 only the owner of a table may look at it anew.
    "headish_analyze": Function(
        "", "void", "VOLATILE",
        "\nBEGIN\n  ANALYZE "
        + ", ".join(f"{{schema}}.{table}" for table in ("turn", "payload", "link", "bookmark", "bookmark_log"))
        + ";\nEND\n",
        WRITER,
    ),
}  # fmt: skip


class Policy(NamedTuple):
    """Which rows a role sees and writes. The braces hold the schema."""

    name: str
    what: str
    using: str
    check: str | None = None
    role: str = "public"

    def create(self, table: str, schema: str) -> str:
        checked = f" WITH CHECK ({self.check.replace('{schema}', schema)})" if self.check else ""
        return (
            f'CREATE POLICY {self.name} ON {schema}."{table}" FOR {self.what} TO {self.role} '
            f"USING ({self.using.replace('{schema}', schema)}){checked}"
        )


_OWN = "space = (SELECT {schema}.headish_space())"
_ENTERED_OR_SWITCH = "space = (SELECT {schema}.headish_entered()) OR space = 0"
OF_A_SPACE = (Policy("headish_space", "ALL", _OWN, _OWN),)
"""As a scalar sub-select the function runs once for a statement; the rows of another space are never looked for."""
OTHERS = {
    # The row of the space 0 says that the database keeps no index: everybody reads it, the owner writes it.
    "search": (
        Policy("headish_space", "ALL", _ENTERED_OR_SWITCH, "space = (SELECT {schema}.headish_entered())"),
        Policy("headish_owner", "ALL", "space = 0", "space = 0", OWNER),
    ),
    "space": (
        Policy(
            "headish_space", "SELECT",
            "(SELECT {schema}.headish_serves_all()) OR id IN (SELECT {schema}.headish_spaces())",
        ),
        Policy("headish_owner", "ALL", "true", "true", OWNER),
    ),
}  # fmt: skip


def policies_of(table: str) -> tuple[Policy, ...]:
    """The policies of a table with a space, ours or one that came later."""
    return OTHERS.get(table, OF_A_SPACE)
