"""The text that a signature covers, and the format of ``ssh-keygen -Y sign`` (OpenSSH, PROTOCOL.sshsig).

The signed text is lines: ``headish-sign-1``, the kind, and hashes in lower-case hex. A ``turn`` has the seal of one
turn (rule I4, digest and seal), a ``thread`` those of all turns that lead to one, in walk order. A ``bundle`` has, in
the bundle's order, the BLAKE3 of its header, receipts, names and records, and the seals of its turns. A ``head``, that
of a log, has the BLAKE3 of all its other fields. Any change here needs a new word in place of ``headish-sign-1``.
"""

from __future__ import annotations

from base64 import b64encode
from binascii import Error, a2b_base64
from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from headish.errors import InvalidContent
from headish.values.limits import SIGNATURE_LIMIT_BYTES

NAMESPACE = "headish"
TURN, THREAD, BUNDLE, HEAD = "turn", "thread", "bundle", "head"
_WORD = b"headish-sign-1\n"
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
_MAGIC, _VERSION = b"SSHSIG", (1).to_bytes(4, "big")
CERTIFIED = "-cert-v01@openssh.com"
_FIELDS = {b"ssh-ed25519": 1, b"ssh-rsa": 2, b"ecdsa-sha2": 2, b"sk-ssh-ed25519": 2, b"sk-ecdsa-sha2": 3}
"""The number of fields of the public key in a certificate of each kind (PROTOCOL.certkeys, PROTOCOL.u2f)."""


class SshSignature(NamedTuple):
    """The parts of a signature: the public key that it names, in the protocol's encoding, and the key's fingerprint."""

    key: bytes
    fingerprint: str


def signed_message(kind: str, seals: Iterable[bytes]) -> bytes:
    """The bytes that a signature of this kind covers."""
    return b"%b%b\n%b" % (_WORD, kind.encode(), b"".join(each.hex().encode() + b"\n" for each in seals))


def read_signature(data: bytes) -> SshSignature:
    """Parse a signature; that proves nothing. Raises: InvalidContent."""
    if len(data) > SIGNATURE_LIMIT_BYTES:
        raise _refusal(f"it has {len(data):,} bytes and the limit is {SIGNATURE_LIMIT_BYTES:,}")
    if not data.startswith(_MAGIC + _VERSION):
        raise _refusal("it is not what ssh-keygen -Y sign writes")
    fields = strings_of(data[len(_MAGIC) + len(_VERSION) :])
    # ``strings_of`` stops at the first string that is cut off: the lengths show whether anything is left over.
    whole = len(_MAGIC) + len(_VERSION) + sum(4 + len(each) for each in fields)
    if len(fields) != 5 or whole != len(data) or not fields[0]:
        raise _refusal("it is not what ssh-keygen -Y sign writes")
    key, namespace = fields[:2]
    # Otherwise a signature that a person made for git or a file could pass for one of headish.
    if namespace != NAMESPACE.encode():
        raise _refusal(f"its namespace is {namespace[:80]!r}, not {NAMESPACE!r}")
    return SshSignature(key, "SHA256:" + b64encode(sha256(_plain_key(key)).digest()).decode().rstrip("="))


def _plain_key(key: bytes) -> bytes:
    """The public key in a certificate, of which its fingerprint is made; any other key unchanged."""
    fields = strings_of(key)
    kind, rest = (fields[0], fields[1:]) if fields else (b"", [])
    if not kind.endswith(CERTIFIED.encode()):
        return key
    plain = kind.removesuffix(CERTIFIED.encode())
    count = next((count for name, count in _FIELDS.items() if plain.startswith(name)), 0)
    plain += b"@openssh.com" if plain.startswith(b"sk-") else b""
    return b"".join(len(each).to_bytes(4, "big") + each for each in (plain, *rest[1 : 1 + count]))


def strings_of(data: bytes) -> list[bytes]:
    """Read the length-prefixed strings of the protocol until one does not fit: a certificate has other fields, too."""
    strings: list[bytes] = []
    at = 0
    while at + 4 <= len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            break
        strings.append(data[at + 4 : end])
        at = end
    return strings


def to_armour(data: bytes) -> bytes:
    """Armour a signature, as ``ssh-keygen`` reads it from a file."""
    text = b64encode(data)
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return b"\n".join([_BEGIN, *lines, _END, b""])


def from_armour(text: bytes) -> bytes:
    """Remove the armour that ``ssh-keygen`` writes. Raises: InvalidContent."""
    try:
        first, *lines, last = text.strip().splitlines()
        if (first, last) != (_BEGIN, _END):
            raise ValueError
        return a2b_base64(b"".join(lines))
    except (ValueError, Error):
        raise _refusal("it is not what ssh-keygen -Y sign writes") from None


def _refusal(reason: str) -> InvalidContent:
    return InvalidContent("a signature", reason)
