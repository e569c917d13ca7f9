"""Judge signatures: by whom, as lists of signers and of revoked keys say (ssh-keygen(1), ALLOWED SIGNERS)."""

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
"""It is by somebody who is listed; by a key of which nobody says whose it is; or it proves nothing."""
SIGNERS_VARIABLE, REVOKED_VARIABLE = "HEADISH_SIGNERS", "HEADISH_REVOKED_KEYS"
CHECK_SECONDS = 60
"""A check asks nobody, so it is over at once."""
REVOKED = "its key was revoked"
KEPT = 4096
"""How many judgements a process keeps: a page is looked at again and again."""
_KEY_KINDS = ("ssh-", "ecdsa-", "sk-")
_REVOCATIONS = b"SSHKRL\n\0"


class TrustLists(NamedTuple):
    """Whom to trust: the bytes of a file of allowed signers, and those of a list of revoked keys; None without one."""

    signers: bytes | None
    revoked: bytes | None


class Judgement(NamedTuple):
    """``name`` is the principal of a good signature, ``reason`` says why one is bad."""

    verdict: str
    name: str | None = None
    reason: str | None = None


def read_trust(signers: str | os.PathLike[str] | None, revoked: str | os.PathLike[str] | None) -> TrustLists:
    """The lists of these files, or of those that ``HEADISH_SIGNERS`` and ``HEADISH_REVOKED_KEYS`` name.

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
    """What a signature of a message proves. Keys are to be valid when it was made, as the signer says, and not later
    than now.

    Cost: two runs of ``ssh-keygen`` for a good one, up to four for any other; none where it was judged before, unless
    it says that it was made later than now.
    Raises: SigningFailed where ``ssh-keygen`` cannot be run.
    """
    told = [signature, message, b"%d" % milliseconds, trust.signers or b"", trust.revoked or b""]
    known = blake3(b"".join(blake3(each).digest() for each in told)).digest()
    found = _judged.get(known)
    if found is None:
        is_later = milliseconds / 1000 > time.time()
        with TemporaryDirectory(prefix="headish-") as folder:
            found = _Check(Path(folder), signature, message, milliseconds, trust).judge()
        if not is_later:
            _keep(known, found)
    return found


def _keep(known: bytes, found: Judgement) -> None:
    """Keep a judgement. One of a time later than now is not kept: it counts as made now, and a key may end."""
    if len(_judged) >= KEPT:
        _judged.clear()
    _judged[known] = found


class _Check:
    """One signature, in a folder that holds copies of the lists: whoever swaps a file meanwhile changes nothing."""

    def __init__(self, folder: Path, signature: bytes, message: bytes, milliseconds: int, trust: TrustLists) -> None:
        self._folder, self._message, self._trust, self._data = folder, message, trust, signature
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
            found, names, complaint = self._run("find-principals", "-f", "signers", self._at)
            for name in names.decode(errors="surrogateescape").splitlines() if found else ():
                verify = ("verify", "-f", "signers", "-I", name, "-n", NAMESPACE, self._at)
                done, _, complaint = self._run(*verify, *self._revoked())
                if done:
                    return Judgement(GOOD, name.encode(errors="surrogateescape").decode(errors="replace"))
                if self._trust.revoked is not None and self._run(*verify)[0]:
                    return Judgement(BAD, reason=REVOKED)
        if not self._run("check-novalidate", "-n", NAMESPACE)[0]:
            return Judgement(BAD, reason="it is not a signature of this")
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
        """Whether the list has the key, or the authority that its certificate names: it is listed, and not for now."""
        words = {word for line in _lines(self._trust.signers or b"") for word in line.split()}
        return any(decoded and decoded in key for decoded in map(_decoded, words))

    def _is_revoked(self, key: bytes) -> bool:
        """Whether a key that nobody listed was revoked: ``ssh-keygen`` asks that only of one which somebody did."""
        kind = strings_of(key)[0].decode(errors="replace")
        if self._trust.revoked is None or CERTIFIED in kind:
            return False
        self._write("signers", f"* {kind} ".encode() + b64encode(key) + b"\n")
        return not self._run("verify", "-f", "signers", "-I", "x", "-n", NAMESPACE, *self._revoked())[0]


def _decoded(word: str) -> bytes:
    try:
        # No shorter word is a key: those are names and options.
        decoded = a2b_base64(word) if len(word) > 40 else b""
    except (Error, ValueError):
        return b""
    return decoded if strings_of(decoded) else b""
