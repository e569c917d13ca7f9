"""Who signed a bundle: read to its end and judged before anything of it is stored."""

from __future__ import annotations

from typing import NamedTuple

from headish.bundles.streams import BundleReader
from headish.errors import InvalidBundle, NotSigned
from headish.signing.judging import BAD, TrustLists, judge
from headish.signing.sshsig import read_signature


class BundleSigner(NamedTuple):
    """Who signed a bundle, as the lists of signers say; None where nobody did whom they name. ``told`` says it for
    people, and is empty for a bundle without a signature."""

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
    found = judge(bundle.signature, bundle.message, bundle.header.made_at, trust)
    if found.verdict == BAD:
        raise InvalidBundle(bundle.name, f"its signature is bad: {found.reason}")
    return BundleSigner(found.name, found.name or f"unknown key {read_signature(bundle.signature).fingerprint}")


def check_signed(file: str, signer: BundleSigner) -> None:
    """Raises: NotSigned where nobody has signed a bundle whom the lists of signers name."""
    if signer.name is None:
        raise NotSigned(file, f"it is signed by nobody that the list of signers names ({signer.told or 'not signed'})")
