"""Who signed a bundle, or the head of a log: judged before anything of it is stored. A bundle is read to its end."""

from __future__ import annotations

from typing import NamedTuple

from headish.bundles.heads import LogHead
from headish.bundles.streams import BundleReader
from headish.errors import InvalidBundle, NotSigned
from headish.signing.judging import BAD, TrustLists, judge
from headish.signing.sshsig import read_signature


class BundleSigner(NamedTuple):
    """Who signed a bundle or a head, as the lists of signers say; None where nobody did whom they name. ``told`` says
    it for people, and is empty where there is no signature."""

    name: str | None = None
    told: str = ""


def find_signer(bundle: BundleReader, trust: TrustLists) -> BundleSigner:
    """Read a bundle to its end, and judge its signature.

    Raises: InvalidBundle for a bad one; SigningFailed where ``ssh-keygen`` cannot be run.
    """
    for _ in bundle.parts():
        pass
    return judge_signer(bundle, trust)


def judge_signer(bundle: BundleReader, trust: TrustLists) -> BundleSigner:
    """Judge the signature of a bundle that was read to its end. Raises: as ``find_signer``."""
    if bundle.signature is None:
        return BundleSigner()
    return _judge(bundle.signature, bundle.message, bundle.header.made_at, bundle.name, trust)


def judge_head(head: LogHead, name: str, trust: TrustLists) -> BundleSigner:
    """Judge the signature of the head of a log that is called so. Raises: as ``find_signer``."""
    if head.signature is None:
        return BundleSigner()
    return _judge(head.signature, head.message, head.made_at, name, trust)


def _judge(signature: bytes, message: bytes, made_at: int, name: str, trust: TrustLists) -> BundleSigner:
    found = judge(signature, message, made_at, trust)
    if found.verdict == BAD:
        raise InvalidBundle(name, f"its signature is bad: {found.reason}")
    return BundleSigner(found.name, found.name or f"unknown key {read_signature(signature).fingerprint}")


def check_signed(file: str, signer: BundleSigner) -> None:
    """Raises: NotSigned where nobody has signed a bundle or a head whom the lists of signers name."""
    if signer.name is None:
        raise NotSigned(file, f"it is signed by nobody that the list of signers names ({signer.told or 'not signed'})")
