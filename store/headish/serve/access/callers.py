"""A caller: who sent an admitted request, and its rights."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from headish.errors import RightMissing, UnknownSpace
from headish.values.access.tokens import RIGHTS, Right, Token
from headish.values.results.erasures import Erasure

CHANGING: frozenset[Right] = frozenset(("write", "gateway", "erase"))
"""The rights that a read-only server grants nobody. A store that syncs with it can fetch, but not send."""


class Caller(Struct, frozen=True):
    """The sender of a request. ``name`` is the label of a token or the name of a proxy's user; ``space`` is the one
    space that the caller may enter, None for every space."""

    how: Literal["login", "token", "proxy"]
    rights: frozenset[Right]
    name: str = ""
    space: str | None = None

    def may(self, right: Right) -> bool:
        """Whether the caller has a right in the spaces that it may enter."""
        return right in self.rights

    def check(self, target: str, space: str, right: Right) -> None:
        """Check that the caller has a right in a space.

        Raises: UnknownSpace if it has no right there at all, as for a space that does not exist (rule R6, another
        space is unknown); RightMissing if it has other rights there.
        """
        if not self.rights or self.space not in (None, space):
            raise UnknownSpace(target, space)
        if right not in self.rights:
            raise RightMissing(right, space)


def within_reach(erasure: Erasure, caller: Caller) -> Erasure:
    """Return an erasure without the facts that the caller may not read: a caller of a single space learns neither the
    names of other spaces nor paths of the server. The receipt still says that copies stay."""
    if caller.space is None:
        return erasure
    return msgspec.structs.replace(erasure, found=msgspec.structs.replace(erasure.found, elsewhere={}, copies=()))


def by_login(*, read_only: bool) -> Caller:
    """The caller who opened the printed address: the person who runs the server."""
    return Caller("login", rights_left(RIGHTS, read_only=read_only))


def by_token(token: Token, *, read_only: bool) -> Caller:
    """The program that showed a token."""
    rights = rights_left(token.rights, read_only=read_only)
    return Caller("token", rights, token.label, token.space)


def by_proxy(user: str, space: str, *, read_only: bool) -> Caller:
    """A user whom the proxy in front has logged in."""
    return Caller("proxy", rights_left(("read", "write", "erase"), read_only=read_only), user, space)


def rights_left(rights: tuple[Right, ...], *, read_only: bool) -> frozenset[Right]:
    """The rights that a server grants: fewer if it is read-only."""
    return frozenset(rights) - (CHANGING if read_only else frozenset())
