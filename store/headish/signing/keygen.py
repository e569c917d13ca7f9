"""Run ``ssh-keygen -Y``. A path from the user is checked first, and reaches it as the argument of an option."""

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
    """Sign a message with a private key, or with the agent's key whose public key is given. Returns the signature
    without its armour. Without ``key``, ``HEADISH_SIGNING_KEY`` names it.

    ``ssh-keygen`` may ask for a passphrase at the terminal, or for a touch.
    Raises: SigningFailed.
    """
    path = key or os.environ.get(KEY_VARIABLE)
    if not path:
        raise SigningFailed(f"no key is named: --key FILE, {KEY_VARIABLE} or 'headish config set signing_key FILE'")
    path = os.path.abspath(os.fspath(path))  # so that it never begins with ``-``, as an option does
    # A regular file only: ssh-keygen would wait for the other end of a named pipe.
    try:
        open_regular(path).close()
    except OSError as error:
        raise SigningFailed(f"the key {shown(path)} cannot be read ({error.strerror})") from None
    is_done, armoured, complaint = run_keygen(["sign", "-q", "-n", NAMESPACE, "-f", path], message, None, None)
    if not is_done:
        raise SigningFailed(f"ssh-keygen says: {complaint or 'nothing'}")
    try:
        signature = from_armour(armoured)
        read_signature(signature)  # what a reader would refuse must not be stored
    except InvalidContent as error:
        raise SigningFailed(error.reason) from None
    return signature


def read_list(path: str | os.PathLike[str], called: str) -> bytes:
    """Read a list for ``ssh-keygen``; ``called`` names it in errors. Raises: SigningFailed."""
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
    """Run ``ssh-keygen -Y`` over a message. Returns whether it succeeded, its output, and its first complaint.

    Raises: SigningFailed if there is no such program, or if it does not end.
    """
    try:
        # By its name on the PATH, as git does: the user has set up that one's agent and hardware keys.
        run = subprocess.run(  # noqa: S603
            ["ssh-keygen", "-Y", *arguments], input=message, cwd=folder, capture_output=True, check=False,  # noqa: S607
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SigningFailed(f"ssh-keygen has not ended after {seconds} s") from None
    except OSError as error:
        raise SigningFailed(f"ssh-keygen, which comes with OpenSSH, cannot be run ({error.strerror})") from None
    complaints = run.stderr.decode(errors="replace").splitlines()
    # ssh-keygen frames a warning with lines of @, which say nothing.
    return (
        run.returncode == 0,
        run.stdout,
        next((each.strip() for each in complaints if each.strip(" @\t")), ""),
    )
