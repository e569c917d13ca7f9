"""A connection under policies: the settings that it sends before a statement, and what the server's refusals mean."""

# ruff: noqa: S608 - the texts are put together here, and nothing that is given goes into them
from __future__ import annotations

from typing import Any

from headish.database.isolation.grants import EVERYWHERE, OWNER, VERSION, role_for
from headish.database.isolation.objects import FUNCTIONS, NO_SPACE, NOT_GUARDED, NOT_HERE, SETTING
from headish.database.isolation.takeovers import why_it_could
from headish.database.query import SECURED, Query, SchemaConnection
from headish.errors import DatabaseError, NotEntered, NotIsolated, RoleMissing

_ENTERING = "find space"


_REFUSED = "42501"
_BY_A_POLICY = "ExecWithCheckOptions"
"""The server's C function that refuses a row rather than a statement. The message depends on the server's language."""


class SentSettings:
    """The state of a transaction: the settings that it has yet to send, and the space that it is in.

    ``whole`` is the result of its work, once all of it was sent together with the commit and has no answer yet.
    """

    __slots__ = ("_all", "_settings", "_space", "is_confined", "latest", "whole")

    def __init__(self, settings: str, *, is_confined: bool) -> None:
        self._all = self._settings = settings
        self._space: int | None = None
        self.is_confined = is_confined
        self.latest: Query | None = None
        self.whole: Any = None

    def before(self, query: Query, space: int | None) -> str:
        """The SQL to send before a statement, in one message with it. ``space`` is the space of the statement."""
        settings, self._settings = self._settings, ""
        if not self.is_confined:
            return settings
        self.latest = query
        if space is not None and space != self._space:
            # Only for the transaction (``true``): behind a pooler, the connection is the next tenant's after it.
            entering = f"pg_catalog.set_config('{SETTING}', '{int(space)}', true)"
            settings = f"{settings}, {entering}" if settings else f"SELECT {entering}"
            self._space = space
        if query.name == _ENTERING:
            self._space = None  # the statement enters a space whose number is not known here yet
        return settings

    def end(self) -> None:
        """Note that the transaction has ended. The next one must send the settings again."""
        self._settings, self._space, self.whole = self._all, None, None


def translate_refusal(target: str, error: Any, sent: SentSettings) -> DatabaseError | None:
    """Our error for a refusal by the server; None for any other error."""
    state = error.sqlstate
    if state == NO_SPACE:
        return NotEntered(target)
    if state == NOT_GUARDED:
        return NotIsolated(target, f"{error.diag.message_primary}; run 'headish db secure'")
    if state == NOT_HERE:
        return RoleMissing(target, OWNER, ", or a login that may enter every space ('headish db secure --app LOGIN')")
    if state != _REFUSED or sent.latest is None:
        return None
    if error.diag.source_function == _BY_A_POLICY:
        return RoleMissing(target, OWNER)
    return RoleMissing(target, role_for(SECURED[sent.latest].sql))


_LOOK = f"""
SELECT to_regclass('turn') IS NULL, n.nspname::text, pg_get_userbyid(n.nspowner)::text = '{OWNER}',
    EXISTS (SELECT FROM aclexplode(n.nspacl) a WHERE a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner),
    ARRAY(SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = ANY(%s) AND NOT (
        row_security_active(c.oid)
        AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'headish_space')
    ) ORDER BY c.relname),
    ARRAY(SELECT f.name FROM unnest(%s::text[]) f(name) WHERE NOT EXISTS (
        SELECT FROM pg_proc p WHERE p.proname = f.name AND p.pronamespace = n.oid AND p.proowner = n.nspowner
    ))
FROM pg_namespace n WHERE n.nspname = current_schema()
"""
_IS_SECURED = f"""
SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = '{VERSION}' AND pg_get_userbyid(n.nspowner) = '{OWNER}')
"""


def why_not_held(connection: SchemaConnection) -> str | None:
    """The reason why spaces are not separated for this login; None if policies separate them."""
    values = (["space", *EVERYWHERE], list(FUNCTIONS))
    rows = connection.execute(_LOOK, values).fetchall()
    is_empty = not rows or rows[0][0]
    if is_empty and not connection.execute(_IS_SECURED).fetchone()[0]:
        return "it holds no headish tables yet, so nothing keeps spaces apart"
    could = why_it_could(connection)
    if could:
        return f"this login could take away what keeps spaces apart: {could}"
    if is_empty:
        return "no space is open to this login; 'headish spaces grant' opens one"
    [(_, schema, is_owners, others_create, open_tables, missing)] = rows
    if not is_owners or others_create:
        whose = "others may make objects in" if is_owners else f"not {OWNER} owns"
        return f"{whose} the schema {schema}, where its tables lie; run 'headish db secure'"
    if open_tables or missing:
        what = f"no policy holds this login in {', '.join(open_tables)}" if open_tables else f"it lacks {missing[0]}()"
        return f"{what}; run 'headish db secure'"
    return None
