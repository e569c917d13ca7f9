"""The keys of a remote, by age: one encrypts its objects, and one belongs to this machine and unwraps the first.

age does not say who wrote a file: anybody may encrypt for a recipient. So the sums of the frames inside are keyed with
the same secret: without it, nobody can add or alter anything.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import msgspec
from blake3 import blake3
from msgspec import Struct

from headish.errors import InvalidArgument, NotADevice, shown
from headish.values.checks.files import flush

SUMS = "headish 2026-11 sums of a remote's frames"
FINGERPRINT = "headish 2026-11 fingerprint of a remote's key"
"""The contexts of BLAKE3's key derivation, one per use. With another text, no existing remote could be read."""
PASSPHRASE, PASSPHRASE_FILE = "HEADISH_PASSPHRASE", "HEADISH_PASSPHRASE_FILE"
_REMOTE_ID = re.compile(r"[0-9a-f]{1,16}")
_PART = re.compile(r"([0-9a-f]{1,16})\.(?:json|command)\.part-[0-9a-f]{8}")
PART_SECONDS = 3600
"""How old a file is that a write began and did not finish: no write takes as long, so its process was killed."""


class KeyPair(Struct, frozen=True):
    """The secrets that a machine keeps for a remote: its own, and that of the remote once it has it."""

    own: str
    remote: str | None = None


class RemoteKey(NamedTuple):
    """The key of a remote, made of its secret."""

    secret: str

    def seal(self, data: bytes) -> bytes:
        """Encrypt bytes for the holders of the key."""
        return bytes(_age().encrypt(data, [_identity(self.secret).to_public()]))

    def open(self, data: bytes, name: str) -> bytes:
        """Decrypt the bytes of ``seal``. Raises: NotADevice."""
        return _decrypt(data, self.secret, name)

    @property
    def sums(self) -> bytes:
        """The key for the sums of frames: 32 bytes."""
        return bytes(blake3(self.secret.encode(), derive_key_context=SUMS).digest())

    @property
    def fingerprint(self) -> str:
        """The 32 hex digits that two people compare."""
        return blake3(self.secret.encode(), derive_key_context=FINGERPRINT).hexdigest(length=16)


def new_secret() -> str:
    """Make a new age identity."""
    return str(_age().x25519.Identity.generate())


def recipient_of(secret: str) -> str:
    """The public recipient of a secret, for whom others encrypt: ``age1…``."""
    return str(_identity(secret).to_public())


def wrap(key: RemoteKey, recipient: str) -> bytes:
    """Wrap the key of a remote for one machine. Raises: InvalidArgument."""
    age = _age()
    try:
        target = age.x25519.Recipient.from_str(recipient)
    except Exception:
        raise InvalidArgument(
            f"{recipient[:80]!r} is not a recipient: 'headish remote add' prints it (age1…)"
        ) from None
    return bytes(age.encrypt(key.secret.encode(), [target]))


def unwrap(data: bytes, own: str, name: str) -> RemoteKey:
    """Unwrap the key that was wrapped for this machine. Raises: NotADevice."""
    return read_key(_decrypt(data, own, name), name)


def wrap_by_passphrase(key: RemoteKey, passphrase: str) -> bytes:
    """Wrap the key of a remote for a passphrase. Takes about a second."""
    return bytes(_age().passphrase.encrypt(key.secret.encode(), passphrase))


def unwrap_by_passphrase(data: bytes, passphrase: str, name: str) -> RemoteKey:
    """Unwrap the key that was wrapped for a passphrase. Raises: NotADevice for another passphrase."""
    try:
        return read_key(bytes(_age().passphrase.decrypt(data, passphrase)), name)
    except _age().DecryptError:
        raise NotADevice(name, "the passphrase is another one") from None


def read_passphrase() -> str | None:
    """Read the passphrase from the environment, or from the file that the environment names. Returns None without one.
    Raises: InvalidArgument."""
    phrase, file = os.environ.get(PASSPHRASE), os.environ.get(PASSPHRASE_FILE)
    if phrase or not file:
        _check_text(phrase or "")
        return phrase or None
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read(4096).strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{PASSPHRASE_FILE} names a file that cannot be read ({error})") from None


def _check_text(phrase: str) -> None:
    try:
        phrase.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{PASSPHRASE} holds bytes that are not UTF-8") from None


def key_folder() -> str:
    """The folder for keys of remotes: ``HEADISH_KEYS``, else ``keys`` in the platform's folder for configuration."""
    folder = os.environ.get("HEADISH_KEYS")
    if folder:
        return folder
    from platformdirs import user_config_path

    return str(user_config_path("headish", appauthor=False) / "keys")


def load_keys(remote_id: str) -> KeyPair | None:
    """The keys that this machine has of a remote, None without. Raises: InvalidArgument."""
    path = file_of(remote_id, "json")
    try:
        with open(path, "rb") as file:
            keys = msgspec.json.decode(file.read(4096), type=KeyPair)
        _identity(keys.own)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise InvalidArgument(f"the keys of the remote in {path} cannot be read ({error})") from None
    return keys


def save_keys(remote_id: str, keys: KeyPair) -> None:
    """Write the keys of a remote to a file that only its owner may read. The file is replaced as a whole. Raises:
    InvalidArgument if it cannot be written."""
    # Not in the keyring: a machine without a desktop has none, and two places would have to agree (ADR 0089).
    _write(file_of(remote_id, "json"), msgspec.json.encode(keys))


def allow_command(remote_id: str, url: str, key_env: str | None = None) -> None:
    """Note that a user named this command or server on this machine, and the place of the token for it. Raises:
    InvalidArgument if the file cannot be written."""
    # Here and not in the database, which may come from anybody: it could name any command to run.
    _write(file_of(remote_id, "command"), "\n".join([url, *([key_env] if key_env else [])]).encode())


def is_allowed(remote_id: str, url: str) -> bool:
    """Whether a user named this command or server on this machine. A database that came from elsewhere may name any, so
    only this file counts.

    Raises: InvalidArgument for an id that no remote has.
    """
    return url != "" and _read_allowed(remote_id)[0] == url


def key_env_of(remote_id: str) -> str | None:
    """The place of the token, as the user named it, or None. Raises: InvalidArgument for an id that no remote has."""
    return _read_allowed(remote_id)[1] or None


def _read_allowed(remote_id: str) -> tuple[str, str]:
    path = file_of(remote_id, "command")
    try:
        with open(path, "rb") as file:
            url, _, key_env = file.read().decode(errors="surrogateescape").partition("\n")
    except OSError:
        return "", ""
    return url, key_env


@contextmanager
def writing_keys() -> Iterator[None]:
    """Write in the folder for keys. Raises: InvalidArgument if the system refuses."""
    try:
        yield
    except OSError as error:
        raise InvalidArgument(
            f"nothing can be written in {key_folder()}, the folder for keys of remotes ({error.strerror}): mend that, "
            f"or name another folder with HEADISH_KEYS"
        ) from None


def flush_folder(path: str) -> None:
    """Wait until the name of a file is on the disk, too, if the file system can do that for a folder."""
    with suppress(OSError):
        flush(os.path.dirname(path))


def _write(path: str, data: bytes) -> None:
    part = f"{path}.part-{os.urandom(4).hex()}"
    with writing_keys():
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _remove_parts()
        descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                # A power cut must not lose the file: without its key, this machine cannot read the remote any more.
                os.fsync(file.fileno())
            os.replace(part, path)
            flush_folder(path)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise


def _remove_parts(remote_id: str = "") -> None:
    """Remove the files that killed writes left: they may hold a key. Those of ``remote_id`` go however new they are."""
    with suppress(OSError):
        for name in os.listdir(key_folder()):
            found, path = _PART.fullmatch(name), os.path.join(key_folder(), name)
            if found and (found[1] == remote_id or time.time() - os.stat(path).st_mtime > PART_SECONDS):
                os.unlink(path)


def forget_keys(remote_id: str) -> None:
    """Remove the files of a remote from this machine. Raises: InvalidArgument for an id that no remote has, and for a
    file that stays."""
    paths = [file_of(remote_id, kind) for kind in ("json", "command")]  # refuses the id before anything is removed
    _remove_parts(remote_id)
    for path in paths:
        try:
            os.unlink(path)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise InvalidArgument(f"the keys of the remote stay in {path} ({error.strerror}): remove them") from None


def file_of(remote_id: str, kind: str) -> str:
    """The path of a file of a remote. Raises: InvalidArgument for an id that no remote has."""
    # The id comes from a database, which may be a stranger's: a path in it would lead to another folder.
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
    """The identity of a secret. Raises: ValueError for another text."""
    age = _age()
    try:
        return age.x25519.Identity.from_str(secret)
    except age.IdentityError as error:
        raise ValueError(str(error)) from None


def _decrypt(data: bytes, secret: str, name: str) -> bytes:
    try:
        return bytes(_age().decrypt(data, [_identity(secret)]))
    except (_age().DecryptError, ValueError):
        raise NotADevice(name, "it is not encrypted for the key of this remote, or was altered") from None


def read_key(data: bytes, name: str) -> RemoteKey:
    """Read the secret of a remote. Raises: NotADevice."""
    key = RemoteKey(data.decode(errors="replace"))
    try:
        _identity(key.secret)
    except ValueError:
        raise NotADevice(name, "it holds no key") from None
    return key
