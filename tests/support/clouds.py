"""What the clouds do, for tests/calls and tests/answers: AWS checks a signature and sends frames, Google checks a
signed request for a token. Written from the clouds' own pages, and not with what the library uses.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote
from zlib import crc32

from support.loopback import Request

FRAMES = {"content-type": "application/vnd.amazon.eventstream"}


def frame(payload: bytes, **headers: str) -> bytes:
    """A frame of an AWS event stream; a header's ``_`` is written ``-``, and ``:`` before it."""
    named = b"".join(
        bytes([len(name) + 1]) + b":" + name.replace("_", "-").encode() + b"\7" + len(value.encode()).to_bytes(2, "big")
        + value.encode()
        for name, value in headers.items()
    )  # fmt: skip
    prelude = (16 + len(named) + len(payload)).to_bytes(4, "big") + len(named).to_bytes(4, "big")
    checked = prelude + crc32(prelude).to_bytes(4, "big") + named + payload
    return checked + crc32(checked).to_bytes(4, "big")


def chunk(event: Any, padding: str = "abcd") -> bytes:
    """An event of the model's as Bedrock frames it."""
    payload = json.dumps({"bytes": b64encode(json.dumps(event).encode()).decode(), "p": padding}).encode()
    return frame(payload, event_type="chunk", content_type="application/json", message_type="event")


def chunks(events: Iterable[Any]) -> list[bytes]:
    return [chunk(event) for event in events]


def expected_signature(request: Request, raw: bytes, secret: str) -> str:
    """The signature that a request must have. Source: "Create a signed AWS API request", AWS IAM user guide."""
    scheme, _, rest = request.headers["authorization"].partition(" ")
    assert scheme == "AWS4-HMAC-SHA256"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    _, day, region, service, end = parts["Credential"].split("/")
    path, _, query = request.path.partition("?")
    signed = parts["SignedHeaders"].split(";")
    assert {"host", "x-amz-date"} <= set(signed), "the host and the date must be signed"
    canonical = "\n".join([
        request.method, "/".join(quote(segment, safe="-._~") for segment in path.split("/")), query,
        *(f"{name}:{' '.join(request.headers[name].split())}" for name in signed), "", ";".join(signed),
        hashlib.sha256(raw).hexdigest(),
    ])  # fmt: skip
    date = request.headers["x-amz-date"]
    assert date.startswith(day)
    text = "\n".join([
        "AWS4-HMAC-SHA256", date, f"{day}/{region}/{service}/{end}", hashlib.sha256(canonical.encode()).hexdigest(),
    ])  # fmt: skip
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, end):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def signature(request: Request) -> str:
    """The signature that a request has."""
    return request.headers["authorization"].rpartition("Signature=")[2]


def write_service_account(file: Path, token_uri: str) -> Any:
    """A key file of a service account whose tokens come from a server of the test; the public key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    account = {"type": "service_account", "project_id": "p", "private_key_id": "1", "private_key": pem}
    account |= {"client_email": "robot@p.iam.gserviceaccount.com", "client_id": "1", "token_uri": token_uri}
    file.write_text(json.dumps(account), "utf-8")
    return private.public_key()


def check_assertion(request: Request, public: Any) -> Mapping[str, Any]:
    """The claims of a request for a token, once its signature is right."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256

    form = parse_qs(request.body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
    signed, _, signature = form["assertion"][0].rpartition(".")
    public.verify(_decode(signature), signed.encode(), PKCS1v15(), SHA256())
    claims: dict[str, Any] = json.loads(_decode(signed.partition(".")[2]))
    return claims


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
