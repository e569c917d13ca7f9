"""Tell from a URL what kind of remote it names: a place for objects, a command, a server, or a database."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from headish.errors import InvalidArgument

SCHEMES = ("file", "s3", "s3a", "gs", "az", "azure", "abfs", "abfss")
"""The schemes of places for objects."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SERVERS = ("postgresql:", "postgresql+psycopg:")


def is_live(url: str) -> bool:
    """Whether a URL names a store that answers; otherwise it names a place for objects."""
    return url.startswith(("ssh:", "cmd:")) or is_http(url) or is_database(url)


def is_http(url: str) -> bool:
    """Whether a URL names a server of headish."""
    return url.startswith(("https:", "http:"))


def is_database(url: str) -> bool:
    """Whether a URL names a database that this process opens: the path of a file, or a database on a server."""
    return is_server(url) or _SCHEME.match(url) is None


def is_server(url: str) -> bool:
    """Whether a URL names a database on a server."""
    return url.startswith(_SERVERS)


def check_url(url: str) -> str:
    """Check the URL of a place for objects, and return it with its scheme in lower case. Raises: InvalidArgument for
    another scheme or for a key."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidArgument(f"the URL of a remote, {url[:80]!r}, cannot be read ({error})") from None
    if parts.scheme not in SCHEMES:
        raise InvalidArgument(
            "a remote is a folder or a bucket (file:///…, s3://…, gs://…, az://…), another machine (ssh://…, https://…,"
            f" cmd:…) or a database (its path, postgresql://…), not {url[:80]!r}"
        )
    # The database stores the URL, and no key may be in a database.
    if parts.password or parts.username or parts.query:
        raise InvalidArgument("keys stay out of a remote's URL: they come from the environment or the provider's files")
    if parts.scheme == "file" and "#" in url:  # nothing behind it would be read
        raise InvalidArgument("a # in the name of a folder is written %23")
    if parts.scheme == "file" and (parts.netloc not in ("", "localhost") or not parts.path.startswith("/")):
        raise InvalidArgument("a folder is file:/// and its whole path")
    return parts.scheme + url[len(parts.scheme) :]
