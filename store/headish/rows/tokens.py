"""Rows of ``token``: the tokens that open a space, by label. Only their hashes are here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headish.database.query import Connection, Query, Row

ADD_TOKEN = Query(
    "add token",
    """
    INSERT INTO token (space, label, hash, rights, milliseconds, expires)
    VALUES (:space, :label, :hash, :rights, :milliseconds, :expires) ON CONFLICT DO NOTHING
    """,
)


def add_token(
    connection: Connection, space: int, label: bytes, *, hash: bytes, rights: str, milliseconds: int,
    expires: int | None,
) -> bool:  # fmt: skip
    """Whether the label was free, and is the token's now."""
    return connection.run(
        ADD_TOKEN, space=space, label=label, hash=hash, rights=rights, milliseconds=milliseconds, expires=expires
    ) > 0  # fmt: skip


TOKENS = Query(
    "tokens of a space",
    "SELECT label, hash, rights, milliseconds, expires FROM token WHERE space = :space ORDER BY label",
)


def tokens_of(connection: Connection, space: int) -> Sequence[Row]:
    """``(label, hash, rights, milliseconds, expires)``, by label."""
    return connection.rows(TOKENS, space=space)


REMOVE_TOKEN = Query("remove token", "DELETE FROM token WHERE space = :space AND label = :label")


def remove_token(connection: Connection, space: int, label: bytes) -> bool:
    """Whether there was one."""
    return connection.run(REMOVE_TOKEN, space=space, label=label) > 0


REMOVE_TOKENS = Query("remove the tokens of a space", "DELETE FROM token WHERE space = :space")


def remove_tokens(connection: Connection, space: int) -> None:
    """Shut out whoever has a token of a space."""
    connection.run(REMOVE_TOKENS, space=space)


NEXT_WITH_TOKENS = Query("the next space with a token", "SELECT min(space) FROM token WHERE space > :after")


def spaces_with_tokens(connection: Connection) -> Iterator[int]:
    """The numbers of the spaces that have tokens: one seek for each, however many spaces there are."""
    row = connection.row(NEXT_WITH_TOKENS, after=0)
    while row is not None and row[0] is not None:
        yield int(row[0])
        row = connection.row(NEXT_WITH_TOKENS, after=row[0])
