"""The settings of ``headish serve``, and those of each of its processes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from headish.errors import InvalidArgument
from headish.gateway.passing.upstreams import UPSTREAMS
from headish.gateway.settings import GatewaySettings
from headish.gateway.spool.writer import SPOOL_LIMIT_BYTES
from headish.serve.access.settings import USER_SPACE, WebSettings
from headish.serve.sync.timetable import SyncerSettings, SyncEvery
from headish.store.keeping.spooled import find_serve_folder
from headish.values.access.hosts import local_url
from headish.values.checks.addresses import parse_address


class ServeSettings(Struct, frozen=True, kw_only=True):
    """How to serve a database. ``target`` and ``space`` are those of ``Store.open``; port 0 takes a free port."""

    target: str
    space: str = "default"
    host: str = "127.0.0.1"
    port: int = 8321
    gateway_port: int = 8322
    no_gateway: bool = False
    read_only: bool = False
    behind_proxy: tuple[str, ...] = ()
    public_urls: tuple[str, ...] = ()
    user_header: str | None = None
    user_space: str = USER_SPACE
    allow_origins: tuple[str, ...] = ()
    require_record: bool = False
    spool_limit_bytes: int = SPOOL_LIMIT_BYTES
    upstreams: Mapping[str, str] = {}
    prices: str | None = None
    sync: tuple[SyncEvery, ...] = ()

    @property
    def syncs(self) -> bool:
        """Whether the server syncs with remotes. A read-only server stores nothing, so it does not."""
        return bool(self.sync) and not self.read_only

    @property
    def has_gateway(self) -> bool:
        """Whether a gateway runs. A read-only server stores nothing, so it has none."""
        return not (self.no_gateway or self.read_only)

    def check(self) -> ServeSettings:
        """Return these settings if they are valid. Raises: InvalidArgument, InvalidAddress."""
        self.web.check()
        if self.require_record and not self.has_gateway:
            raise InvalidArgument("--require-record goes with a gateway")
        for api, url in self.upstreams.items():
            if api not in UPSTREAMS:
                raise InvalidArgument(f"an upstream is one of {', '.join(UPSTREAMS)}, not {api[:80]!r}")
            parse_address(url)
        return self

    def with_ports(self, port: int, gateway_port: int) -> ServeSettings:
        """The same settings with the ports that were taken."""
        return msgspec.structs.replace(self, port=port, gateway_port=gateway_port)

    @property
    def folder(self) -> str:
        """The folder for the server's spool, its logins and the file for the gateway."""
        return str(find_folder(self.target))

    @property
    def web(self) -> WebSettings:
        """The settings of the web process."""
        return WebSettings(
            target=self.target,
            folder=self.folder,
            space=self.space,
            host=self.host,
            port=self.port,
            public_urls=self.public_urls,
            read_only=self.read_only,
            behind_proxy=self.behind_proxy,
            user_header=self.user_header,
            user_space=self.user_space,
            prices=self.prices,
            gateway=local_url(self.host, self.gateway_port) if self.has_gateway else None,
        )

    @property
    def gateway(self) -> GatewaySettings:
        """The settings of the gateway. They say nothing about the database, which it never opens."""
        return GatewaySettings(
            folder=self.folder,
            host=self.host,
            port=self.gateway_port,
            public_urls=self.public_urls,
            behind_proxy=self.behind_proxy,
            origins=self.allow_origins,
            require_record=self.require_record,
            spool_limit_bytes=self.spool_limit_bytes,
            base_urls=self.upstreams,
        )

    @property
    def syncer(self) -> SyncerSettings:
        """The settings of the syncer."""
        return SyncerSettings(self.target, self.folder, self.space, self.sync)

    @property
    def recorder(self) -> RecorderSettings:
        """The settings of the recorder."""
        return RecorderSettings(target=self.target, folder=self.folder, space=self.space)


class RecorderSettings(Struct, frozen=True):
    """The settings of the recorder: the database, the folder with the spool, and the space of calls without a token."""

    target: str
    folder: str
    space: str = "default"


def find_folder(target: str) -> Path:
    """The folder of this database's server.

    Raises: InvalidArgument for a database in memory, which no two processes share.
    """
    folder = find_serve_folder(target)
    if folder is None:
        raise InvalidArgument("a database in memory cannot be served: its processes would each have one of their own")
    return folder
