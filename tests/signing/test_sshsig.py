"""What stands in a signature, taken apart, and what is kept of those that were judged."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from headish.errors import SigningFailed
from headish.signing import judging, keygen
from headish.signing.judging import UNKNOWN, Judgement
from headish.signing.sshsig import read_signature

FIELDS = {
    "ssh-ed25519": 1, "ssh-rsa": 2, "ecdsa-sha2-nistp256": 2, "ecdsa-sha2-nistp521": 2, "sk-ssh-ed25519": 2,
    "sk-ecdsa-sha2-nistp256": 3,
}  # fmt: skip
"""The fields of a public key of each kind, behind its name (OpenSSH, PROTOCOL.certkeys and PROTOCOL.u2f)."""


def packed(*strings: bytes) -> bytes:
    return b"".join(len(each).to_bytes(4, "big") + each for each in strings)


def fingerprint_of(key: bytes) -> str:
    signature = b"SSHSIG" + (1).to_bytes(4, "big") + packed(key, b"headish", b"", b"sha512", b"proof")
    return read_signature(signature).fingerprint


@pytest.mark.parametrize("kind", FIELDS)
def test_a_certificate_has_the_fingerprint_of_its_key(kind: str) -> None:
    public = [f"field {number}".encode() for number in range(FIELDS[kind])]
    plain = packed((f"{kind}@openssh.com" if kind.startswith("sk-") else kind).encode(), *public)
    certificate = packed(f"{kind}-cert-v01@openssh.com".encode(), b"a nonce", *public) + bytes(8) + packed(b"more")
    wanted = "SHA256:" + b64encode(sha256(plain).digest()).decode().rstrip("=")
    assert (fingerprint_of(plain), fingerprint_of(certificate)) == (wanted, wanted)


def test_so_many_judgements_are_kept_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "KEPT", 3)
    monkeypatch.setattr(judging, "_judged", {})
    held = []
    for number in range(5):
        judging._keep(bytes([number]), Judgement(UNKNOWN))
        held.append(len(judging._judged))
    assert held == [1, 2, 3, 1, 2]


@pytest.mark.parametrize(
    "written", [b"", b"nonsense", b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----"]
)
def test_a_program_that_writes_something_else_has_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bytes
) -> None:
    (tmp_path / "key").write_text("a key")
    monkeypatch.setattr(keygen, "run_keygen", lambda *_: (True, written, ""))
    with pytest.raises(SigningFailed, match="it is not what ssh-keygen -Y sign writes"):
        keygen.sign_message(b"message", tmp_path / "key")
