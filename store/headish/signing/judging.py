"""Judge signatures by the user's lists of signers and of revoked keys (ssh-keygen(1), ALLOWED SIGNERS)."""

from __future__ import annotations

import os
import time
from base64 import b64encode
from binascii import Error, a2b_base64
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from blake3 import blake3

from headish.errors import InvalidContent, SigningFailed
from headish.signing.keygen import read_list, run_keygen
from headish.signing.sshsig import CERTIFIED, NAMESPACE, read_signature, strings_of, to_armour

GOOD, UNKNOWN, BAD = "good", "unknown", "bad"
"""Made by a listed signer; made by a key that no list names; or proving nothing."""
SIGNERS_VARIABLE, REVOKED_VARIABLE = "HEADISH_SIGNERS", "HEADISH_REVOKED_KEYS"
CHECK_SECONDS = 60
"""The longest run of a check. A check waits for no person, unlike signing, so a longer one hangs."""
REVOKED = "its key was revoked"
KEPT = 4096
"""The number of judgements that a process keeps: the same page is shown again and again."""
_KEY_KINDS = ("ssh-", "ecdsa-", "sk-")
_REVOCATIONS = b"SSHKRL\n\0"


class TrustLists(NamedTuple):
    """The bytes of the file of allowed signers, and those of the list of revoked keys; None without one."""

    signers: bytes | None
    revoked: bytes | None


class Judgement(NamedTuple):
    """A verdict. ``name`` is the principal of a good signature; ``reason`` says why a signature is bad."""

    verdict: str
    name: str | None = None
    reason: str | None = None


def read_trust(signers: str | os.PathLike[str] | None, revoked: str | os.PathLike[str] | None) -> TrustLists:
    """Read the lists from these files, or from those that ``HEADISH_SIGNERS`` and ``HEADISH_REVOKED_KEYS`` name.

    Raises: SigningFailed.
    """
    signers = signers or os.environ.get(SIGNERS_VARIABLE) or None
    revoked = revoked or os.environ.get(REVOKED_VARIABLE) or None
    listed = None if revoked is None else read_list(revoked, "the list of revoked keys")
    if listed is not None and not listed.startswith(_REVOCATIONS) and not all(map(_is_key, _lines(listed))):
        # ssh-keygen would call every signature bad, and not say why.
        raise SigningFailed(f"{os.fspath(revoked or '')!r} lists no revoked keys: it takes a KRL, or public keys")
    return TrustLists(None if signers is None else read_list(signers, "the list of signers"), listed)


def _lines(listed: bytes) -> Iterator[str]:
    for line in listed.decode(errors="replace").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            yield line.strip()


def _is_key(line: str) -> bool:
    return line.startswith(_KEY_KINDS)


_judged: dict[bytes, Judgement] = {}


def judge(signature: bytes, message: bytes, milliseconds: int, trust: TrustLists) -> Judgement:
    """Judge a signature of a message. Its key must have been valid when it was made, by the signer's clock; a time in
    the future counts as now.

    Cost: two runs of ``ssh-keygen`` for a good one, up to four for any other; none if it was judged before, unless its
    time is in the future.
    Raises: SigningFailed if ``ssh-keygen`` cannot be run.
    """
    # Each part is hashed by itself, so that no byte can move from one part to the next under the same key.
    parts = [signature, message, b"%d" % milliseconds, trust.signers or b"", trust.revoked or b""]
    address = blake3(b"".join(blake3(each).digest() for each in parts)).digest()
    judgement = _judged.get(address)
    if judgement is None:
        is_later = milliseconds / 1000 > time.time()
        with TemporaryDirectory(prefix="headish-") as folder:
            judgement = _Check(Path(folder), signature, message, milliseconds, trust).judge()
        if not is_later:
            _keep(address, judgement)
    return judgement


def _keep(known: bytes, found: Judgement) -> None:
    """Keep a judgement of this process. Do not pass one of a time in the future: it counts as made now, and the key may
    expire."""
    if len(_judged) >= KEPT:
        _judged.clear()
    _judged[known] = found


class _Check:
    """The check of one signature, in a folder with copies of the lists: nobody can swap a file between two runs."""

    def __init__(self, folder: Path, signature: bytes, message: bytes, milliseconds: int, trust: TrustLists) -> None:
        self._folder, self._message, self._trust, self._data = folder, message, trust, signature
        # ssh-keygen reads a time without a zone as local time.
        at = time.localtime(min(milliseconds / 1000, time.time()))
        self._at = f"-Overify-time={time.strftime('%Y%m%d%H%M%S', at)}"

    def judge(self) -> Judgement:
        try:
            key = read_signature(self._data).key
        except InvalidContent as error:
            return Judgement(BAD, reason=error.reason)
        self._write("signature", to_armour(self._data))
        self._write("signers", self._trust.signers)
        self._write("revoked", self._trust.revoked)
        complaint = ""
        if self._trust.signers is not None:
            is_found, names, complaint = self._run("find-principals", "-f", "signers", self._at)
            for name in names.decode(errors="surrogateescape").splitlines() if is_found else ():
                verify = ("verify", "-f", "signers", "-I", name, "-n", NAMESPACE, self._at)
                is_good, _, complaint = self._run(*verify, *self._revoked())
                if is_good:
                    return Judgement(GOOD, name.encode(errors="surrogateescape").decode(errors="replace"))
                # ssh-keygen fails alike for a revoked key and a wrong signature. A run without the list tells which.
                if self._trust.revoked is not None and self._run(*verify)[0]:
                    return Judgement(BAD, reason=REVOKED)
        if not self._run("check-novalidate", "-n", NAMESPACE)[0]:
            return Judgement(BAD, reason="it is not a signature of this")
        # Listed, but not valid then: that is bad, although ``find-principals`` finds nobody for it (ADR 0096).
        if self._trust.signers is not None and self._is_listed(key):
            return Judgement(BAD, reason=f"its key is listed, and not for this: {complaint or 'see the list'}")
        if self._is_revoked(key):
            return Judgement(BAD, reason=REVOKED)
        return Judgement(UNKNOWN)

    def _write(self, name: str, data: bytes | None) -> None:
        if data is not None:
            (self._folder / name).write_bytes(data)

    def _run(self, *arguments: str) -> tuple[bool, bytes, str]:
        return run_keygen([*arguments, "-s", "signature"], self._message, str(self._folder), CHECK_SECONDS)

    def _revoked(self) -> tuple[str, ...]:
        return () if self._trust.revoked is None else ("-r", "revoked")

    def _is_listed(self, key: bytes) -> bool:
        """Whether the list has the key, or the authority that its certificate names."""
        words = {word for line in _lines(self._trust.signers or b"") for word in line.split()}
        return any(decoded and decoded in key for decoded in map(_decoded, words))

    def _is_revoked(self, key: bytes) -> bool:
        """Whether a key that is not listed was revoked. ``ssh-keygen`` checks only listed keys for that, so this writes
        a list of signers with this key alone."""
        kind = strings_of(key)[0].decode(errors="replace")
        if self._trust.revoked is None or CERTIFIED in kind:
            return False
        self._write("signers", f"* {kind} ".encode() + b64encode(key) + b"\n")
        return not self._run("verify", "-f", "signers", "-I", "x", "-n", NAMESPACE, *self._revoked())[0]


def _decoded(word: str) -> bytes:
    try:
        # Names and options are words, too. No key is this short.
        decoded = a2b_base64(word) if len(word) > 40 else b""
    except (Error, ValueError):
        return b""
    return decoded if strings_of(decoded) else b""
