"""The logs of a remote, one per device: numbered bundles that never change, and a head that counts them.

::

    v1/SPACE/keys/first            fingerprint of the key, put once
    v1/SPACE/keys/ID.age           the key, wrapped for one machine
    v1/SPACE/keys/passphrase.age   the key, wrapped for a passphrase
    v1/SPACE/DEVICE/g0001/000001.hb
    v1/SPACE/DEVICE/head           the only object that is replaced, by its own device alone

A device writes below its own prefix only, so no lock is needed, and no device overwrites another's objects (ADR 0089).
SPACE is a hash of the space's name. DEVICE and ID are hex digits that reveal no name.
"""

from __future__ import annotations

import re
from io import BytesIO

from blake3 import blake3

from headish.bundles.heads import LogHead, read_head, write_head
from headish.bundles.streams import BundleReader
from headish.errors import InvalidBundle, NotADevice
from headish.remotes.keys import RemoteKey
from headish.remotes.objects import ObjectPlace
from headish.syncing.remotes import DEVICE, OpenRemote, key_of

# The context of BLAKE3's key derivation. Every path at a remote depends on it: with another one, no log would be found.
FOLDER = "headish 2026-11 folder of a space at a remote"
_BUNDLE = re.compile(r"g([0-9]{4,16})/([0-9]{6,16})\.hb")


def folder_of(space: str) -> str:
    """The prefix of a space's objects."""
    return f"v1/{blake3(space.encode(), derive_key_context=FOLDER).hexdigest(length=8)}"


def machine_of(recipient: str) -> str:
    """The ID of a machine in paths: a hash of its recipient."""
    return blake3(recipient.encode()).hexdigest(length=8)


class Logs:
    """The logs of one space at a place. ``key`` is None if the place is not encrypted."""

    def __init__(self, place: ObjectPlace, space: str, key: RemoteKey | None) -> None:
        self.place, self.key, self.folder = place, key, folder_of(space)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the key; None without encryption."""
        return None if self.key is None else self.key.fingerprint

    def devices(self) -> list[str]:
        """The devices that have a log. One request."""
        begins = f"{self.folder}/"
        folders = (path.removeprefix(begins).partition("/")[0] for path in self.place.list(self.folder))
        # Beside logs there are ``keys`` and ``place``, and whatever a file syncer leaves.
        return sorted({each for each in folders if DEVICE.fullmatch(each)})

    def head(self, device: str) -> LogHead | None:
        """The head of a log; None if there is none. Raises: InvalidBundle, NotADevice."""
        path = f"{self.folder}/{device}/head"
        data = self.place.get(path)
        if data is None:
            return None
        head = read_head(self._unseal(data, path), self._told(path), None if self.key is None else self.key.sums)
        if head.device != device:  # anybody who can write there may have copied it from another log
            raise NotADevice(self._told(path), "it is the head of another log")
        return head

    def is_readable(self, device: str) -> bool:
        """Whether a log has a head that opens with the key."""
        try:
            return self.head(device) is not None
        except InvalidBundle:
            return False

    def put_head(self, head: LogHead) -> None:
        """Replace the head of this store's own log."""
        data = write_head(head, None if self.key is None else self.key.sums)
        self.place.put(f"{self.folder}/{head.device}/head", self._seal(data))

    def bundle(self, device: str, generation: int, number: int) -> bytes | None:
        """The bytes of a bundle of a log, as they are stored at the place; None if it has not arrived yet."""
        return self.place.get(self._path(device, generation, number))

    def read(self, device: str, generation: int, number: int, data: bytes, before: bytes) -> BundleReader:
        """Open a bundle of a log, and check that it follows the bundle whose hash is ``before``.

        Raises: InvalidBundle, NotADevice.
        """
        reader = self.open(device, generation, number, data)
        header = reader.header
        if (header.device, header.generation, header.number) != (device, generation, number):
            raise NotADevice(reader.name, "it is the bundle of another place in the logs")
        if header.before != before:
            raise InvalidBundle(reader.name, "it does not follow the bundle before it")
        return reader

    def open(self, device: str, generation: int, number: int, data: bytes) -> BundleReader:
        """Open the bytes at a bundle's path without a check of their origin. Raises: InvalidBundle, NotADevice."""
        path = self._path(device, generation, number)
        sums = None if self.key is None else self.key.sums
        return BundleReader(BytesIO(self._unseal(data, path)), self._told(path), sums)

    def put_bundle(self, device: str, generation: int, number: int, data: bytes) -> bytes | None:
        """Store a bundle of this store's own log. Returns its hash, or None if the path already has an object."""
        sealed = self._seal(data)
        return hash_object(sealed) if self.place.put_new(self._path(device, generation, number), sealed) else None

    def bundles(self, device: str) -> dict[tuple[int, int], str]:
        """The paths of the bundles of a log, by generation and number. One request."""
        begins = f"{self.folder}/{device}/"
        matches = ((path, _BUNDLE.fullmatch(path.removeprefix(begins))) for path in self.place.list(begins.rstrip("/")))
        return {(int(each[1]), int(each[2])): path for path, each in matches if each is not None}

    def _path(self, device: str, generation: int, number: int) -> str:
        return f"{self.folder}/{device}/g{generation:04d}/{number:06d}.hb"

    def _told(self, path: str) -> str:
        return f"{self.place.url}/{path}"

    def _seal(self, data: bytes) -> bytes:
        return data if self.key is None else self.key.seal(data)

    def _unseal(self, data: bytes, path: str) -> bytes:
        return data if self.key is None else self.key.open(data, self._told(path))


def logs_of(remote: OpenRemote, space: str) -> Logs:
    """The logs of a space at a remote. Raises: NoRemoteKey."""
    return Logs(ObjectPlace(remote.url), space, key_of(remote))


def hash_object(data: bytes) -> bytes:
    """The BLAKE3 of an object's bytes as they are stored at the place: encrypted if the place is."""
    return blake3(data).digest()
