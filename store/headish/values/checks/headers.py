"""The headers of a request: their grammar, and which may be kept with a provider pointer.

The headers of a pointer are stored in the database. So a header that carries a key is refused, by its name or by the
shape of its value. So is one that frames the request or says where it goes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from headish.errors import InvalidArgument

SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "api-key", "x-api-key"})
HEADERS_LIMIT = 50
"""How many headers a pointer may have."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
"""Source: RFC 9110 §5.1 and §5.5, without what is not ASCII. A line end never matches, so no header hides another."""
_NAMED_LIKE_A_KEY = re.compile(
    r"(?:.*-)?(?:api-?keys?|auth|authori[sz]ation|cookie2?|secret|password|credentials?"
    r"|(?:access|auth|refresh|api|session|security|id|bearer)-?tokens?|(?:access|auth|private|secret|subscription)-key"
    r"|signature)"
)
_FRAMING = frozenset({
    "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "date", "expect", "host",
    "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "x-amz-date",
})  # fmt: skip
"""Headers that headish or its client must set themselves."""
_LIKE_A_KEY = re.compile(
    r"(?:(?:Basic|Bearer|Token) +)?"
    r"(?:eyJ[\w-]+\.[\w-]+\.[\w-]*"  # a JSON web token
    r"|(?=[^ ]*[0-9])(?=[^ ]*[a-z])(?=[^ ]*[A-Z])[A-Za-z0-9+/_-]{32,}={0,2}"
    r"|[0-9a-f]{32,}|[0-9A-F]{32,})"
    r"|(?:Basic|Bearer) +\S{8,}",
)
"""Long runs of random characters. The ids that belong in headers (of an organization, a project) are shorter."""


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Check that headers can be sent, and return them with names in lower case.

    Raises: InvalidArgument, which does not repeat a value: it may be a key.
    """
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidArgument(f"{str(name)[:80]!r} cannot be the name of a header")
        if not isinstance(value, str) or not _VALUE.fullmatch(value):
            raise InvalidArgument(f"the header {name[:80]} has a value that cannot be sent")
    return {name.lower(): value for name, value in headers.items()}


def lower_names(headers: Mapping[str, str] | None) -> dict[str, str]:
    """The headers with names in lower case, otherwise unchanged."""
    return {name.lower(): value for name, value in (headers or {}).items()}


def check_kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Check that headers may be kept with a pointer, and return them with names in lower case.

    Raises: as ``check_headers``.
    """
    checked = check_headers(headers)
    if len(checked) > HEADERS_LIMIT:
        raise InvalidArgument(f"a pointer has at most {HEADERS_LIMIT} headers")
    for name, value in checked.items():
        if name in SECRET_HEADERS or _NAMED_LIKE_A_KEY.fullmatch(name):
            raise InvalidArgument(f"the header {name[:80]} carries a key: name the key's variable with key_env instead")
        if name in _FRAMING:
            raise InvalidArgument(f"the header {name[:80]} is headish's own to send: a pointer cannot set it")
        if _LIKE_A_KEY.fullmatch(value):
            raise InvalidArgument(f"the value of the header {name[:80]} looks like a key: keys stay in the environment")
    return checked
