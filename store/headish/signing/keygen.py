"""Run ``ssh-keygen -Y``. What a person names reaches it as the argument of an option, and is looked at before."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from headish.errors import InvalidContent, SigningFailed, shown
from headish.signing.sshsig import NAMESPACE, from_armour, read_signature
from headish.values.checks.files import open_regular, read_regular

KEY_VARIABLE = "HEADISH_SIGNING_KEY"
LIST_LIMIT_BYTES = 1024 * 1024
"""The largest list of signers, or of revoked keys."""


def sign_message(message: bytes, key: str | os.PathLike[str] | None) -> bytes:
    """The signature of a message, without its armour, by a private key, or by the public key of one that an agent
    holds. Without ``key``: by the one that ``HEADISH_SIGNING_KEY`` names.

    ``ssh-keygen`` may ask for a passphrase at the terminal, or for a touch.
    Raises: SigningFailed.
    """
    path = key or os.environ.get(KEY_VARIABLE)
    if not path:
        raise SigningFailed(f"no key is named: --key FILE, {KEY_VARIABLE} or 'headish config set signing_key FILE'")
    path = os.path.abspath(os.fspath(path))  # so that it never begins as an option does
    try:
        open_regular(path).close()
    except OSError as error:
        raise SigningFailed(f"the key {shown(path)} cannot be read ({error.strerror})") from None
    done, written, told = run_keygen(["sign", "-q", "-n", NAMESPACE, "-f", path], message, None, None)
    if not done:
        raise SigningFailed(f"ssh-keygen says: {told or 'nothing'}")
    try:
        signature = from_armour(written)
        read_signature(signature)
    except InvalidContent as error:
        raise SigningFailed(error.reason) from None
    return signature


def read_list(path: str | os.PathLike[str], called: str) -> bytes:
    """A list that ``ssh-keygen`` is to read. Raises: SigningFailed."""
    try:
        data = read_regular(path, LIST_LIMIT_BYTES)
    except OSError as error:
        raise SigningFailed(f"{called} {shown(os.fspath(path))} cannot be read ({error.strerror})") from None
    if len(data) > LIST_LIMIT_BYTES:
        raise SigningFailed(f"{called} {shown(os.fspath(path))} has more than {LIST_LIMIT_BYTES:,} bytes")
    return data


def run_keygen(
    arguments: Sequence[str], message: bytes, folder: str | None, seconds: float | None
) -> tuple[bool, bytes, str]:
    """Run ``ssh-keygen -Y`` over a message: whether it went well, what it wrote, and its first complaint.

    Raises: SigningFailed where there is no such program, or it does not end.
    """
    try:
        # The one on the PATH, as git does: its agent and its hardware are what a person has set up.
        done = subprocess.run(  # noqa: S603
            ["ssh-keygen", "-Y", *arguments], input=message, cwd=folder, capture_output=True, check=False,  # noqa: S607
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SigningFailed(f"ssh-keygen has not ended after {seconds} s") from None
    except OSError as error:
        raise SigningFailed(f"ssh-keygen, which comes with OpenSSH, cannot be run ({error.strerror})") from None
    complaints = done.stderr.decode(errors="replace").splitlines()
    # A warning is framed by lines of @.
    return done.returncode == 0, done.stdout, next((each.strip() for each in complaints if each.strip(" @\t")), "")
