"""The objects of a secured database beside its tables: the table of memberships, functions that read it, and policies.

The functions belong to the owner of the tables and run with its rights, so a login can ask them about rows that it may
not read itself. Each function has a fixed search path, so that nobody can put an object of the same name before ours.
They check ``session_user``, which is the login whatever role it has set.
"""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them

from __future__ import annotations

from typing import NamedTuple

from headish.database.isolation.grants import EVERYWHERE, OWNER, READER, WRITER

SETTING = "headish.space"
"""The setting that has the number of the transaction's space."""
ALL_SPACES = 0
"""The number that opens every space to a login. No space has it."""
NO_SPACE, NOT_HERE, NOT_GUARDED = "HS001", "HS002", "HS003"
"""The SQLSTATEs of our functions: no space was entered; the login may not make spaces; a table lacks its policy."""

MEMBERS = (
    'CREATE TABLE {schema}.member (login text COLLATE "C" NOT NULL, space bigint NOT NULL, PRIMARY KEY (space, login))'
)
"""The table of the logins that may enter each space. No backup has it, because it names logins of this server."""

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
    """A function of a secured database. In its body, ``{schema}`` is the schema, and ``{text}`` the same in quotes."""

    arguments: str
    returns: str
    kind: str
    body: str
    users: str = READER

    def create(self, name: str, schema: str) -> str:
        """The statement that makes or replaces the function."""
        return (
            f"CREATE OR REPLACE FUNCTION {schema}.{name}({self.arguments}) RETURNS {self.returns} LANGUAGE plpgsql "
            f"{self.kind} SECURITY DEFINER SET search_path = pg_catalog, pg_temp "
            f"AS $headish${self.source(schema)}$headish$"
        )

    def source(self, schema: str) -> str:
        return self.body.replace("{schema}", schema).replace("{text}", schema.replace("'", "''"))


FUNCTIONS = {
    # It raises: if a policy compared with null, a store would look empty to code that forgot to enter a space.
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
    # Each transaction calls this first: row-level security without a policy hides every row, and people would believe
    # in an empty store.
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
    # The right is checked first, so that a login without it cannot find out which names are taken.
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
    # Before PostgreSQL 17 only the owner of a table may ANALYZE it.
    "headish_analyze": Function(
        "", "void", "VOLATILE",
        "\nBEGIN\n  ANALYZE "
        + ", ".join(f"{{schema}}.{table}" for table in ("turn", "payload", "link", "bookmark", "bookmark_log"))
        + ";\nEND\n",
        WRITER,
    ),
}  # fmt: skip


class Policy(NamedTuple):
    """A policy: the rows that a role sees and writes. ``{schema}`` is the schema."""

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
"""As a scalar sub-select, the function runs once for a statement, and an index leads to the rows of that space only."""
OTHERS = {
    # A row of the space 0 says that the database keeps no index. Everybody may read it, only the owner may write it.
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
    """The policies of a table with a column ``space``, even one that headish does not know."""
    return OTHERS.get(table, OF_A_SPACE)
