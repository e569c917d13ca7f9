"""``database.access_tokens``: the tokens that let programs use a server of headish (``headish serve``)."""

from __future__ import annotations

import builtins
import time
from collections.abc import Sequence

from headish.database.query import Connection, Row
from headish.errors import InvalidArgument, TokenTaken, UnknownToken, did_you_mean, shown
from headish.rows.spaces import name_of_space, space_numbers
from headish.rows.tokens import add_token, remove_token, spaces_with_tokens, tokens_of
from headish.store.connections import Connections, number_of
from headish.values.access.tokens import RIGHTS, Right, Token, make_token, token_hash
from headish.values.checks.doors import SECONDS, TEXT, WORDS, door
from headish.values.names import check_name, stored_name


class AccessTokens:
    """The tokens of a database: each opens one space to its bearer, with some rights. Backups leave them out."""

    def __init__(self, connections: Connections) -> None:
        self._connections, self._backend = connections, connections.backend

    @door(label=TEXT, rights=WORDS, expires_seconds=SECONDS)
    def add(
        self, label: str, *, space: str = "default", rights: Sequence[Right], expires_seconds: float | None = None
    ) -> str:
        """Make a token for an existing space, and return it. It is shown only this once: headish stores just its hash.

        ``rights`` are some of read, write, gateway, sync, erase and trust; none implies another. It ends after
        ``expires_seconds``, or when it is removed. ``label`` is its name in the space.
        Raises: TokenTaken for a label that is in use; InvalidArgument; InvalidName; UnknownSpace; RoleMissing on a
        secured database unless the login is its owner.
        """
        listed = self._check_rights([rights] if isinstance(rights, str) else rights)
        name, key = check_name(space, "space"), check_name(label, "token", is_new=True)
        token, now = make_token(), time.time_ns() // 1_000_000
        expires = None if expires_seconds is None else now + int(expires_seconds * 1000)

        def work(connection: Connection) -> None:
            number = self._find(connection, name)
            if not add_token(
                connection, number, key, hash=token_hash(token), rights=listed, milliseconds=now, expires=expires
            ):
                raise TokenTaken(label)

        self._backend.write(work)
        return token

    def list(self) -> builtins.list[Token]:
        """The tokens of every space, expired ones included, by the number of the space and by label.

        On a secured database, only of the spaces that are open to this login.
        Cost: three statements for each space that has tokens.
        """
        # A confined connection sees one space at a time, so each space is asked by itself.
        if self._backend.is_confined:
            spaces = self._backend.read(space_numbers)
            return [
                token
                for number, name in spaces
                for token in self._backend.within(number).read(lambda connection: _tokens(connection, number, name))  # noqa: B023
            ]
        return self._backend.read(_all_tokens)

    @door(label=TEXT)
    def remove(self, label: str, *, space: str = "default") -> None:
        """Remove a token. Servers notice within seconds.

        Raises: UnknownToken; InvalidName; UnknownSpace; RoleMissing.
        """
        name, key = check_name(space, "space"), check_name(label, "token")

        def work(connection: Connection) -> None:
            number = self._find(connection, name)
            if not remove_token(connection, number, key):
                labels = (token.label for token in _tokens(connection, number, name))
                raise UnknownToken(label, did_you_mean(label, labels))

        self._backend.write(work)

    def _find(self, connection: Connection, name: bytes) -> int:
        return number_of(connection, name, self._backend.target)

    def _check_rights(self, rights: Sequence[str]) -> str:
        wrong = [each for each in rights if each not in RIGHTS]
        if wrong or not rights:
            suffix = f", not {shown(wrong[0])}" if wrong else ""
            raise InvalidArgument(f"rights are one or more of {', '.join(RIGHTS)}{suffix}")
        return ",".join(each for each in RIGHTS if each in rights)

    def __repr__(self) -> str:
        return f"<AccessTokens of {self._backend.target}>"


def _all_tokens(connection: Connection) -> builtins.list[Token]:
    tokens: builtins.list[Token] = []
    for number in spaces_with_tokens(connection):
        name = name_of_space(connection, number)
        if name is not None:
            tokens += _tokens(connection, number, name)
    return tokens


def _tokens(connection: Connection, number: int, name: bytes) -> builtins.list[Token]:
    return [_as_token(row, number, stored_name(name)) for row in tokens_of(connection, number)]


def _as_token(row: Row, number: int, space: str) -> Token:
    label, hashed, rights, created, expires = row
    listed = str(rights).split(",")
    known: tuple[Right, ...] = tuple(right for right in RIGHTS if listed.count(right))
    return Token(stored_name(bytes(label)), number, space, known, bytes(hashed), created, expires)
