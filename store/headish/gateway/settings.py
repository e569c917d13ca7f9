"""How the gateway runs, for other processes too: nothing of HTTP is imported here, which takes a tenth of a second."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from msgspec import Struct

from headish.gateway.spool.writer import SPOOL_LIMIT_BYTES

STREAMS_SECONDS = 30.0
"""How long begun calls may continue after the gateway gets the signal to end."""
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class GatewaySettings(Struct, frozen=True):
    """How the gateway runs. Plain data, so that it passes between processes.

    ``folder`` holds the spool and the file of tokens. ``origins`` are pages and apps that may send calls.
    ``base_urls`` replaces base URLs of ``UPSTREAMS``, by the first word of the path.
    """

    folder: str
    host: str = "127.0.0.1"
    port: int = 8322
    public_urls: tuple[str, ...] = ()
    behind_proxy: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    require_record: bool = False
    spool_limit_bytes: int = SPOOL_LIMIT_BYTES
    base_urls: Mapping[str, str] = {}
