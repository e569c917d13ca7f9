"""The keys of a remote, by age: one that encrypts its objects, and one of this machine, for which the first is wrapped.

age does not say who wrote: everybody may encrypt for a recipient. So the sums of the frames inside use a key that is
derived from the same secret: without it, nobody can add or alter anything.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec import Struct

from headish.errors import InvalidArgument, NotADevice, shown

SUMS = "headish 2026-11 sums of a remote's frames"
FINGERPRINT = "headish 2026-11 fingerprint of a remote's key"
"""What the derived keys are for, as BLAKE3's ``derive_key_context``."""
PASSPHRASE, PASSPHRASE_FILE = "HEADISH_PASSPHRASE", "HEADISH_PASSPHRASE_FILE"
_REMOTE_ID = re.compile(r"[0-9a-f]{1,16}")


class KeyPair(Struct, frozen=True):
    """What a machine keeps of a remote: its own secret, and the secret of the remote once it has it."""

    own: str
    remote: str | None = None


class RemoteKey(NamedTuple):
    """The key of a remote, from its secret."""

    secret: str

    def seal(self, data: bytes) -> bytes:
        """Encrypt bytes for the holders of the key."""
        return bytes(_age().encrypt(data, [_identity(self.secret).to_public()]))

    def open(self, data: bytes, name: str) -> bytes:
        """Decrypt what was sealed. Raises: NotADevice."""
        return _decrypt(data, self.secret, name)

    @property
    def sums(self) -> bytes:
        """The key of the frames' sums: 32 bytes."""
        return bytes(blake3(self.secret.encode(), derive_key_context=SUMS).digest())

    @property
    def fingerprint(self) -> str:
        """The 32 hex digits that two people compare."""
        return blake3(self.secret.encode(), derive_key_context=FINGERPRINT).hexdigest(length=16)


def new_secret() -> str:
    """A new age identity."""
    return str(_age().x25519.Identity.generate())


def recipient_of(secret: str) -> str:
    """What others encrypt for: ``age1…``."""
    return str(_identity(secret).to_public())


def wrap(key: RemoteKey, recipient: str) -> bytes:
    """Wrap the key of a remote for one machine. Raises: InvalidArgument."""
    try:
        to = _age().x25519.Recipient.from_str(recipient)
    except Exception:
        raise InvalidArgument(f"{recipient[:80]!r} is no recipient: 'headish remote add' prints it (age1…)") from None
    return bytes(_age().encrypt(key.secret.encode(), [to]))


def unwrap(data: bytes, own: str, name: str) -> RemoteKey:
    """Unwrap the key that was wrapped for this machine. Raises: NotADevice."""
    return _read_key(_decrypt(data, own, name), name)


def wrap_by_passphrase(key: RemoteKey, passphrase: str) -> bytes:
    """Wrap the key of a remote for a passphrase. Takes about a second."""
    return bytes(_age().passphrase.encrypt(key.secret.encode(), passphrase))


def unwrap_by_passphrase(data: bytes, passphrase: str, name: str) -> RemoteKey:
    """Unwrap the key of a remote. Raises: NotADevice for another passphrase."""
    try:
        return _read_key(bytes(_age().passphrase.decrypt(data, passphrase)), name)
    except _age().DecryptError:
        raise NotADevice(name, "the passphrase is another one") from None


def read_passphrase() -> str | None:
    """Read the passphrase from the environment, for a machine that nobody sits at. Raises: InvalidArgument."""
    given, file = os.environ.get(PASSPHRASE), os.environ.get(PASSPHRASE_FILE)
    if given or not file:
        return given or None
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read(4096).strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{PASSPHRASE_FILE} names a file that cannot be read ({error})") from None


def key_folder() -> str:
    """The folder with the keys of remotes: ``HEADISH_KEYS``, else ``keys`` in the platform's folder for
    configuration."""
    given = os.environ.get("HEADISH_KEYS")
    if given:
        return given
    from platformdirs import user_config_path

    return str(user_config_path("headish", appauthor=False) / "keys")


def load_keys(remote_id: str) -> KeyPair | None:
    """What this machine keeps of a remote. Raises: InvalidArgument."""
    path = _path(remote_id)
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(4096), type=KeyPair)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"the keys of the remote in {path} cannot be read ({error})") from None


def save_keys(remote_id: str, keys: KeyPair) -> None:
    """Write the keys of a remote to a file that only its owner may read, whole or not at all."""
    _write(_path(remote_id), msgspec.json.encode(keys))


def allow_command(remote_id: str, url: str, key_env: str | None = None) -> None:
    """Note that a person of this machine has named the command or the server that reaches a remote, and the place of
    the token for it."""
    _write(_command_path(remote_id), "\n".join([url, *([key_env] if key_env else [])]).encode())


def is_allowed(remote_id: str, url: str) -> bool:
    """Whether a person of this machine has named a command or a server: a database that came from elsewhere may name
    any.

    Raises: InvalidArgument for an id that no remote has.
    """
    return url != "" and _read_allowed(remote_id)[0] == url


def key_env_of(remote_id: str) -> str | None:
    """The place of the token that a person has named. Raises: InvalidArgument for an id that no remote has."""
    return _read_allowed(remote_id)[1] or None


def _read_allowed(remote_id: str) -> tuple[str, str]:
    path = _command_path(remote_id)
    try:
        with open(path, "rb") as file:
            url, _, key_env = file.read().decode(errors="surrogateescape").partition("\n")
    except OSError:
        return "", ""
    return url, key_env


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    part = f"{path}.part-{os.urandom(4).hex()}"
    opened = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(data)
            file.flush()
            # Without its key, this machine could not read the remote any more.
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def forget_keys(remote_id: str) -> None:
    """Remove what this machine keeps of a remote. Raises: InvalidArgument for an id that no remote has."""
    for path in (_path(remote_id), _command_path(remote_id)):
        with suppress(FileNotFoundError):
            os.unlink(path)


def _path(remote_id: str) -> str:
    return _file_of(remote_id, "json")


def _command_path(remote_id: str) -> str:
    return _file_of(remote_id, "command")


def _file_of(remote_id: str, kind: str) -> str:
    """A file of a remote. Its id comes from a database, which may be a stranger's: it names no other folder."""
    if _REMOTE_ID.fullmatch(remote_id) is None:
        raise InvalidArgument(
            f"the id of a remote is 16 hex digits, not {shown(remote_id)}: its keys are not looked for"
        )
    return os.path.join(key_folder(), f"{remote_id}.{kind}")


def _age() -> Any:
    try:
        import pyrage
    except ImportError:
        raise InvalidArgument("an encrypted remote needs the extra: pip install 'headish[remote]'") from None
    return pyrage


def _identity(secret: str) -> Any:
    return _age().x25519.Identity.from_str(secret)


def _decrypt(data: bytes, secret: str, name: str) -> bytes:
    try:
        return bytes(_age().decrypt(data, [_identity(secret)]))
    except (_age().DecryptError, ValueError):
        raise NotADevice(name, "it is not encrypted for the key of this remote, or was altered") from None


def _read_key(data: bytes, name: str) -> RemoteKey:
    key = RemoteKey(data.decode(errors="replace"))
    try:
        _identity(key.secret)
    except Exception:
        raise NotADevice(name, "it holds no key") from None
    return key
