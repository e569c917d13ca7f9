"""The headers of a call: headish's own, those of the caller, and which of them hold a key."""

from __future__ import annotations

from collections.abc import Mapping

from headish.calls.endpoints import Endpoint
from headish.values.checks.headers import SECRET_HEADERS
from headish.values.checks.headers import check_headers as check_headers
from headish.version import __version__


def write_headers(endpoint: Endpoint, *, stream: bool) -> dict[str, str]:
    """The headers of a request, without the key; names in lower case."""
    return {
        **endpoint.headers,
        "accept": "text/event-stream, application/json" if stream else "application/json",
        # A compressed answer would need two limits, and single events hardly shrink.
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": f"headish/{__version__}",
    }


def find_secrets(endpoint: Endpoint, given: Mapping[str, str]) -> list[str]:
    """The values of the caller's headers that no error may show: each value, and the word after a scheme such as
    Bearer."""
    values = [value for name, value in given.items() if name in SECRET_HEADERS or name == endpoint.key_header]
    return [secret for value in values for secret in (value, value.rpartition(" ")[2]) if secret]
