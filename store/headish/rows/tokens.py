"""Rows of ``token``: the tokens that open a space, by label. A row has the hash of its token, never the token."""

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
    """Store a token under a label. False if the label is taken."""
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
    """Remove the token with a label. False if there is none."""
    return connection.run(REMOVE_TOKEN, space=space, label=label) > 0


REMOVE_TOKENS = Query("remove the tokens of a space", "DELETE FROM token WHERE space = :space")


def remove_tokens(connection: Connection, space: int) -> None:
    """Remove all tokens of a space."""
    connection.run(REMOVE_TOKENS, space=space)


NEXT_WITH_TOKENS = Query("the next space with a token", "SELECT min(space) FROM token WHERE space > :after")


def spaces_with_tokens(connection: Connection) -> Iterator[int]:
    """The numbers of the spaces that have tokens, in order.

    Cost: one statement for each, however many spaces there are.
    """
    row = connection.row(NEXT_WITH_TOKENS, after=0)
    while row is not None and row[0] is not None:
        yield int(row[0])
        row = connection.row(NEXT_WITH_TOKENS, after=row[0])
