"""The headers of a call: headish's own, those of the caller, and which of them hold a key."""

from __future__ import annotations

import re
from collections.abc import Mapping

from headish.calls.endpoints import Endpoint
from headish.errors import InvalidArgument
from headish.version import __version__

_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "api-key", "x-api-key"})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")


def write_headers(endpoint: Endpoint, key: str | None, *, stream: bool) -> dict[str, str]:
    """What a request carries beside its body; names in lower case."""
    sent = {
        **endpoint.headers,
        "accept": "text/event-stream, application/json" if stream else "application/json",
        # A compressed answer would need two limits, and single events hardly shrink.
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": f"headish/{__version__}",
    }
    return sent if key is None else sent | {endpoint.key_header: endpoint.key_prefix + key}


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The caller's headers, names in lower case.

    Raises: InvalidArgument, which does not repeat a value: it may be a key.
    """
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise InvalidArgument(f"{name[:80]!r} cannot be the name of a header")
        if not _HEADER_VALUE.fullmatch(value):
            raise InvalidArgument(f"the header {name[:80]} has a value that cannot be sent")
    return {name.lower(): value for name, value in headers.items()}


def find_secrets(endpoint: Endpoint, given: Mapping[str, str]) -> list[str]:
    """The values of the caller's headers that no error may show: each value, and the word after a scheme such as
    Bearer."""
    values = [value for name, value in given.items() if name in _SECRET_HEADERS or name == endpoint.key_header]
    return [secret for value in values for secret in (value, value.rpartition(" ")[2]) if secret]
