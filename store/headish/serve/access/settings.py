"""The settings of the web process: plain data, so that they pass between processes."""

from __future__ import annotations

from msgspec import Struct

from headish.content.prices import Prices, read_prices
from headish.errors import InvalidArgument, shown
from headish.values.access.hosts import check_networks, in_url, known_hosts
from headish.values.checks.addresses import parse_address

USER_SPACE = "user/{user}"
"""The default space of a proxy's user. Because of its first word, no user's name can name another space."""


class WebSettings(Struct, frozen=True):
    """How to serve a database. ``target`` and ``space`` are those of ``Store.open``."""

    target: str
    folder: str
    """The server's own folder, where it keeps its logins; made if it is missing."""
    space: str = "default"
    """The space of requests that name none."""
    host: str = "127.0.0.1"
    port: int = 8321
    public_urls: tuple[str, ...] = ()
    """The addresses under which a proxy or a tunnel offers the server: scheme and host."""
    read_only: bool = False
    behind_proxy: tuple[str, ...] = ()
    """The networks (CIDR) of the proxies in front. Only they and this machine may connect."""
    user_header: str | None = None
    """The header in which the proxy names the user; trusted from ``behind_proxy`` only."""
    user_space: str = USER_SPACE
    """The template for the space of a proxy's user."""
    gateway: str | None = None
    """The address of the gateway on this machine; None without one."""
    prices: str | None = None
    """The path of the user's own table of prices; None without one."""

    def check(self) -> WebSettings:
        """Return these settings if they are valid.

        Raises: InvalidArgument for an address outside of this machine without ``behind_proxy``, and for settings that
        contradict each other; InvalidAddress; InvalidPrices.
        """
        # These raise for settings that they cannot read, before anything listens.
        self.read_prices()
        known_hosts(self.port, self.public_urls)
        check_networks(self.behind_proxy)
        if not parse_address(f"http://{in_url(self.host)}:{self.port or 1}").is_loopback and not self.behind_proxy:
            raise InvalidArgument(
                f"{shown(self.host)} can be reached from other machines: put a proxy with TLS in front, and say"
                " --behind-proxy CIDR"
            )
        if self.user_header is not None and not self.behind_proxy:
            raise InvalidArgument("--user-header is believed from a proxy alone: say --behind-proxy CIDR")
        rest = self.user_space.replace("{user}", "", 1)
        if rest == self.user_space or set(rest) & set("{}"):
            raise InvalidArgument(f"a template of spaces holds {{user}} once, not {shown(self.user_space)}")
        if self.user_space.startswith("{user}"):
            raise InvalidArgument(
                f"a template of spaces begins with a word of its own, as {USER_SPACE} does: with"
                f" {shown(self.user_space)} a user's name could make the space of anybody else"
            )
        return self

    def read_prices(self) -> Prices | None:
        """Read the table of prices; None without one. Raises: InvalidPrices."""
        return None if self.prices is None else read_prices(self.prices)

    def space_of(self, user: str) -> str | None:
        """The space of a proxy's user; None if it would be the server's own space, which belongs to no user."""
        space = self.user_space.replace("{user}", user, 1)
        return None if space == self.space else space

    @property
    def cookie(self) -> str:
        """The name of the session's cookie. It has the port, because browsers send a cookie to every port of a host."""
        return f"headish_{self.port}"
