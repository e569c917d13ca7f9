"""The settings of the web process: plain data, so that they pass between processes."""

from __future__ import annotations

from msgspec import Struct

from headish.content.prices import Prices, read_prices
from headish.errors import InvalidArgument, shown
from headish.values.access.hosts import check_networks, in_url, known_hosts
from headish.values.checks.addresses import parse_address

USER_SPACE = "user/{user}"
"""The default space of a user of the proxy: no user's name can make it anybody else's."""


class WebSettings(Struct, frozen=True):
    """How to serve a database. ``target`` and ``space`` are those of ``Store.open``."""

    target: str
    folder: str
    """Where the server keeps its logins: a folder of its own, made if it is missing."""
    space: str = "default"
    """The space of requests that name none."""
    host: str = "127.0.0.1"
    port: int = 8321
    public_urls: tuple[str, ...] = ()
    """Under which addresses a proxy or a tunnel offers it: scheme and host."""
    read_only: bool = False
    behind_proxy: tuple[str, ...] = ()
    """The networks (CIDR) of the proxies in front. Others than they and this machine are refused."""
    user_header: str | None = None
    """The header in which the proxy names the user; trusted from ``behind_proxy`` only."""
    user_space: str = USER_SPACE
    """The space of a user."""
    gateway: str | None = None
    """The address of the gateway beside it, on this machine; None without one."""
    prices: str | None = None
    """The table of prices of a user: a path; None without one."""

    def check(self) -> WebSettings:
        """Return these settings if they are valid.

        Raises: InvalidArgument for an address outside of this machine without ``behind_proxy``, and for what does not
        go together; InvalidAddress; InvalidPrices.
        """
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
        if self.user_space.replace("{user}", "", 1) == self.user_space or set(self._rest) & set("{}"):
            raise InvalidArgument(f"a template of spaces holds {{user}} once, not {shown(self.user_space)}")
        if self.user_space.startswith("{user}"):
            raise InvalidArgument(
                f"a template of spaces begins with a word of its own, as {USER_SPACE} does: with"
                f" {shown(self.user_space)} a user's name could make the space of anybody else"
            )
        return self

    def read_prices(self) -> Prices | None:
        """The table of prices, if there is one. Raises: InvalidPrices."""
        return None if self.prices is None else read_prices(self.prices)

    @property
    def _rest(self) -> str:
        return self.user_space.replace("{user}", "", 1)

    def space_of(self, user: str) -> str | None:
        """The space of a user of the proxy; None where it would be the server's own, which is no user's."""
        space = self.user_space.replace("{user}", user, 1)
        return None if space == self.space else space

    @property
    def cookie(self) -> str:
        """The name of the cookie. Browsers send a cookie to every port of a host, so its name says whose it is."""
        return f"headish_{self.port}"
