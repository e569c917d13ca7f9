"""A connection that policies hold: what it sends before a statement, and what a refusal of the server means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headish.database.isolation.grants import EVERYWHERE, OWNER, role_for
from headish.database.isolation.objects import NO_SPACE, NOT_HERE, SETTING
from headish.database.query import SECURED, Query
from headish.errors import DatabaseError, NotEntered, RoleMissing

if TYPE_CHECKING:
    import sqlalchemy

_ENTERING = "find space"


_REFUSED = "42501"
_BY_A_POLICY = "ExecWithCheckOptions"
"""Where the server refuses a row, and not a statement: its words are those of its language."""


class Sent:
    """What a transaction has sent: its settings, and the space that it is in now."""

    __slots__ = ("_settings", "_space", "is_confined", "latest")

    def __init__(self, settings: str, *, is_confined: bool) -> None:
        self._settings = settings
        self._space: int | None = None
        self.is_confined = is_confined
        self.latest: Query | None = None

    def before(self, query: Query, space: int | None) -> str:
        """What goes in one message with a statement, before it; ``space`` is where it works."""
        settings, self._settings = self._settings, ""
        if not self.is_confined:
            return settings
        self.latest = query
        if space is not None and space != self._space:
            entering = f"set_config('{SETTING}', '{int(space)}', true)"  # LOCAL: at the next tenant's turn it is gone
            settings = f"{settings}, {entering}" if settings else f"SELECT {entering}"
            self._space = space
        if query.name == _ENTERING:
            self._space = None
        return settings


def translate_refusal(target: str, error: Any, sent: Sent) -> DatabaseError | None:
    """What the server's refusal means; None for any other error."""
    state = error.sqlstate
    if state == NO_SPACE:
        return NotEntered(target)
    if state == NOT_HERE:
        return RoleMissing(target, OWNER, ", or a login that may enter every space ('headish db secure --app LOGIN')")
    if state != _REFUSED or sent.latest is None:
        return None
    if error.diag.source_function == _BY_A_POLICY:
        return RoleMissing(target, OWNER)
    return RoleMissing(target, role_for(SECURED[sent.latest].sql))


_LOOK = """
SELECT to_regclass('turn') IS NULL, r.rolsuper, r.rolbypassrls,
    EXISTS (SELECT FROM pg_roles o WHERE o.rolname = %s AND pg_has_role(session_user, o.oid, 'MEMBER')),
    ARRAY(SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
        AND c.relname = ANY(%s) AND NOT row_security_active(c.oid) ORDER BY c.relname)
FROM pg_roles r WHERE r.rolname = session_user
"""


def why_not_held(connection: sqlalchemy.Connection) -> str | None:
    """Why nothing keeps spaces apart from this login; None where policies do."""
    [(is_empty, is_superuser, bypasses, is_owner, open_tables)] = connection.exec_driver_sql(
        _LOOK, (OWNER, ["space", *EVERYWHERE])
    ).fetchall()
    if is_empty:
        return "it holds no headish tables yet, so nothing keeps spaces apart"
    if is_superuser or bypasses:
        return "this login is a superuser or has BYPASSRLS, and no policy holds it"
    if is_owner:
        return f"this login is a member of {OWNER}, which may take the policies away"
    if open_tables:
        return f"no policy holds this login in {', '.join(open_tables)}; run 'headish db secure'"
    return None
