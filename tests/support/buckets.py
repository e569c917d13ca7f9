"""A bucket of a server on loopback that behaves as S3 does."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest


@contextmanager
def started_bucket() -> Iterator[str]:
    """Its URL as a place; the environment says where it is, and with which keys."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT": f"http://{host}:{port}",
            "AWS_ALLOW_HTTP": "true",
        }.items():
            patch.setenv(name, value)
        bucket = f"histories-{uuid4().hex}"  # all servers of a process have the same buckets
        request = urllib.request.Request(f"http://{host}:{port}/{bucket}", method="PUT")
        urllib.request.urlopen(request).close()
        yield f"s3://{bucket}/mine"
    server.stop()
