"""Files that age opens with a passphrase, made with little work: as a program would that a test has no seconds for.

Source: the age format, https://age-encryption.org/v1 (read 2026-11-26).
"""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import b64encode

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

LOG_WORK = 8
"""The base-2 logarithm of scrypt's cost; pyrage makes files with about 18 to 20, by the machine."""


def encrypt_with_little_work(data: bytes, passphrase: str) -> bytes:
    """What ``pyrage.passphrase.encrypt`` makes of up to 64 KB, but for the work."""
    key, salt, nonce = os.urandom(16), os.urandom(16), os.urandom(16)
    label = b"age-encryption.org/v1/scrypt" + salt
    wrapping = hashlib.scrypt(passphrase.encode(), salt=label, n=1 << LOG_WORK, r=8, p=1, dklen=32)
    wrapped = ChaCha20Poly1305(wrapping).encrypt(bytes(12), key, None)
    lines = [b"age-encryption.org/v1", b"-> scrypt %b %d" % (_base64(salt), LOG_WORK), _base64(wrapped), b"---"]
    header = b"\n".join(lines)
    mac = hmac.digest(_derived(key, b"", b"header"), header, "sha256")
    last = bytes(11) + b"\1"
    body = ChaCha20Poly1305(_derived(key, nonce, b"payload")).encrypt(last, data, None)
    return header + b" " + _base64(mac) + b"\n" + nonce + body


def _derived(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt, purpose).derive(key)


def _base64(data: bytes) -> bytes:
    return b64encode(data).rstrip(b"=")
