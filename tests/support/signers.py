"""Keys of OpenSSH, made by the real ``ssh-keygen``, and lists of who has which."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

needs_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen signs: install OpenSSH (openssh-client) and run these again"
)


NO_AGENT = 2
"""The exit code of ``ssh-add`` where no agent answers; its socket is there before it listens."""


def run(*words: str | os.PathLike[str], message: bytes | None = None) -> bytes:
    """What a program of OpenSSH writes."""
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, input=message).stdout


def signature_bytes(key: bytes) -> bytes:
    """Bytes in the form of a signature, by a key that nobody has."""
    fields = (key, b"headish", b"", b"sha512", b"none")
    return b"SSHSIG\0\0\0\1" + b"".join(len(each).to_bytes(4, "big") + each for each in fields)


class Keys:
    """A folder of keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def make(self, name: str, kind: str = "ed25519") -> Path:
        """A private key without a passphrase; its public key lies beside it."""
        path = self.folder / name
        run("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", path)
        return path

    def public(self, name: str) -> str:
        """The kind and the bytes of a public key."""
        return " ".join((self.folder / f"{name}.pub").read_text().split()[:2])

    def signers(self, *lines: str, name: str = "allowed") -> Path:
        """A file of allowed signers; ``{anna}`` in a line is Anna's public key."""
        made = {each.stem: self.public(each.stem) for each in self.folder.glob("*.pub") if "-cert" not in each.stem}
        path = self.folder / name
        path.write_text("".join(f"{line.format(**made)}\n" for line in lines))
        return path

    def certify(self, authority: str, name: str, principal: str, *options: str) -> Path:
        """The certificate of a key, by an authority."""
        run("ssh-keygen", "-q", "-s", self.folder / authority, "-I", name, "-n", principal, *options,
            self.folder / f"{name}.pub")  # fmt: skip
        return self.folder / f"{name}-cert.pub"


@contextmanager
def agent(folder: Path, key: Path) -> Iterator[None]:
    """An agent that holds a key."""
    socket = str(folder / "agent")
    process = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = os.environ.get("SSH_AUTH_SOCK")
    os.environ["SSH_AUTH_SOCK"] = socket
    try:
        while subprocess.run(["ssh-add", "-l"], capture_output=True, check=False).returncode == NO_AGENT:
            assert process.poll() is None, "the agent did not start"
        run("ssh-add", "-q", key)
        yield
    finally:
        process.terminate()
        process.wait()
        os.environ.pop("SSH_AUTH_SOCK")
        if before is not None:
            os.environ["SSH_AUTH_SOCK"] = before
