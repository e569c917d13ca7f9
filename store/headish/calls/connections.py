"""Connections that stay open between calls: a tool loop asks the same host again and again.

A client of one connection belongs to one call at a time. So the call knows which connection it waits on and can cut it
(ADR 0039). The next call to the same host takes the client that was given back last, which keeps no cookie and no key.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.request import getproxies

from headish.calls.deadline import Deadline
from headish.values.checks.addresses import Address
from headish.values.forking import PerProcess

if TYPE_CHECKING:
    import ssl

    import httpx2

KEPT_SECONDS = 60
"""The seconds that an unused connection stays open. Servers close theirs after 5 to 75 seconds."""
KEPT_PER_HOST = 8
"""The number of unused connections to a host that stay open."""
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")

Key = tuple[str, tuple[tuple[str, str], ...]]
"""A host, and the proxies and certificates that the environment sets for it."""


class IdleClient:
    """A client of one connection. ``since`` is the time when it was given back, ``socket`` that of the connection, once
    there is one.

    ``is_used``: it had a call before, so the server may have closed its connection meanwhile.
    """

    def __init__(self, client: httpx2.Client) -> None:
        self.client = client
        self.socket: socket.socket | None = None
        self.since = 0.0
        self.is_used = False


class _Clients:
    """The clients and certificates that this process keeps."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: dict[Key, list[IdleClient]] = {}
        self.certificates: dict[Key, ssl.SSLContext] = {}


_process = PerProcess(_Clients)
"""Per process: two processes on one connection would read each other's answers, and a forked child that closed a TLS
connection would end it in the parent."""


@contextmanager
def borrowed(address: Address, deadline: Deadline) -> Iterator[IdleClient]:
    """A client for a call to a host. The deadline can cut its connection; it is given back when the call is over.

    Raises: the error of httpx2 for a proxy or certificate that cannot be used; ImportError.
    """
    process, key = _process.now, _key_of(address)
    idle_client = _take(process, key) or IdleClient(_make(process, key, address))
    deadline.watch(idle_client.socket)
    is_sound = False
    try:
        yield idle_client
        is_sound = True
    except Exception:
        is_sound = True  # after its own errors httpx2 has closed the connection, or can use it again
        raise
    finally:
        idle_client.socket = deadline.socket
        deadline.cancel()  # first: it must not cut the next call's connection
        # The next call may be another user's, with another key.
        idle_client.client.cookies.clear()
        if is_sound:
            _give_back(process, key, idle_client)
        else:
            idle_client.client.close()


def close_all() -> None:
    """Close the connections that no call uses."""
    process = _process.now
    with process.lock:
        idle, process.idle = process.idle, {}
    for idle_client in (each for listed in idle.values() for each in listed):
        idle_client.client.close()


def _key_of(address: Address) -> Key:
    if address.is_in_the_clear:
        return address.origin, ()
    files = ((name, os.environ[name]) for name in _CERTIFICATES if name in os.environ)
    return address.origin, (*sorted(getproxies().items()), *files)


def _take(process: _Clients, key: Key) -> IdleClient | None:
    """Take the client that was given back last, and close those that are too old. None if none is left."""
    oldest = time.monotonic() - KEPT_SECONDS
    with process.lock:
        idle = process.idle.pop(key, [])
        fresh = [idle_client for idle_client in idle if idle_client.since > oldest]
        newest = fresh.pop() if fresh else None
        if fresh:
            process.idle[key] = fresh
    # Outside the lock: closing a TLS connection may take a while.
    for idle_client in idle:
        if idle_client.since <= oldest:
            idle_client.client.close()
    return newest


def _give_back(process: _Clients, key: Key, kept: IdleClient) -> None:
    kept.since, kept.is_used = time.monotonic(), True
    with process.lock:
        idle = process.idle.setdefault(key, [])
        idle.append(kept)
        # The oldest goes: it is the one that its server has most likely closed.
        surplus = idle.pop(0) if len(idle) > KEPT_PER_HOST else None
    if surplus is not None:
        surplus.client.close()


def _make(process: _Clients, key: Key, address: Address) -> httpx2.Client:
    import httpx2

    in_the_clear = address.is_in_the_clear
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_SECONDS)
    # A request in the clear to this machine must not pass through a proxy on another one. It needs no certificates
    # either: reading them takes longer than a small model takes to answer.
    verify = False if in_the_clear else _certificates(process, key)
    return httpx2.Client(limits=limits, trust_env=not in_the_clear, verify=verify)


def _certificates(process: _Clients, key: Key) -> ssl.SSLContext:
    """The trusted certificates, read once per host, because reading takes tens of milliseconds."""
    import httpx2

    with process.lock:
        context = process.certificates.get(key)
        if context is None:
            context = process.certificates[key] = httpx2.create_ssl_context()
        return context


atexit.register(close_all)
