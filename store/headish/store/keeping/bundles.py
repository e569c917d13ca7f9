"""``store.bundles``: turns as a file for another store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO

from msgspec.structs import replace

from headish.bundles.records import SentName, record_as_sent
from headish.bundles.streams import BundleReader
from headish.bundles.times import without_times
from headish.database.query import Connection
from headish.errors import InvalidArgument, InvalidBundle, SecretsFound
from headish.history.feeds.cursors import Cursor, parse_cursor, resume
from headish.history.reading.find import find_place
from headish.history.reading.handles import make_handles
from headish.history.reading.order import arrange
from headish.history.reading.versions import find_firsts
from headish.rows.conversations import find_first, find_records
from headish.rows.elsewhere.arrivals import STRANGER, ArrivalOrigin
from headish.rows.threads.names import names_of_segments
from headish.rows.threads.walks import read_links_of
from headish.rows.turns import turn_at
from headish.signing.judging import read_trust
from headish.signing.keygen import sign_message
from headish.store.backups.places import whole_file
from headish.store.backups.receipts import read_receipts
from headish.store.space import Headishes, SpacePart
from headish.syncing.bundling.applying import apply_bundle
from headish.syncing.bundling.arriving import SyncTarget
from headish.syncing.bundling.checking import check_beginning, check_bundle
from headish.syncing.bundling.writing import BundlePart, Progress, SentBundle, write_all, write_part
from headish.syncing.rewriting import Rewriting
from headish.syncing.signers import BundleSigner, check_signed, find_signer, judge_signer
from headish.values.checks.doors import FLAG, PATH, door
from headish.values.checks.files import open_regular
from headish.values.grammar import Headish, parse_headishes
from headish.values.places import Place
from headish.values.results.sharing import Applied, BundleChecked, Bundled, BundleRewritten


class Bundles(SpacePart):
    """Bundles of a space: files that carry turns to another store, which checks all of it before it stores any."""

    @door(path=PATH, sign=FLAG, key=PATH)
    def create(
        self,
        path: str | os.PathLike[str],
        headish: Headishes | None = None,
        *,
        since: str | None = None,
        allow_secrets: bool = False,
        sign: bool = False,
        key: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Bundled:
        """Write a bundle of the whole space, of the threads that lead to a headish or to several, or of everything
        after ``since``, the ``cursor`` of an earlier bundle.

        A bundle of threads has their turns, the documents that their messages refer to, the names that point at them
        and the records of their conversations. Provider pointers, tools, objects and answers that are still arriving
        never go into one. Nothing is overwritten. ``sign`` signs all of it with ``key``, as ``Store.sign`` does a turn.
        Cost: reads each turn once; for threads, their links twice.
        Raises: SecretsFound if something has the shape of a key, unless ``allow_secrets``; FileTaken; CursorLost;
        UnknownTurn; CorruptTurn; InvalidArgument; SigningFailed.
        """
        cursor = None if since is None else parse_cursor(since)
        parsed = None if headish is None else parse_headishes(headish)
        if cursor is not None and parsed is not None:
            raise InvalidArgument("a bundle has what leads to a headish, or what came since a cursor: give one of them")
        if key is not None and not sign:
            raise InvalidArgument("a key signs: give sign=True, too")
        target = os.fspath(path)
        with whole_file(target) as part, open(part, "r+b") as file:
            sent = self._space._read_by(_write, file=file, cursor=cursor, asked=parsed, progress=progress, signed=sign)
            if (sent.keys or sent.said) and not allow_secrets:
                raise self._secrets(sent)
            # Outside of the transaction: a person may have to touch a key.
            size = sent.writer.finish(partial(sign_message, key=key) if sign else None)
        return Bundled(target, sent.turns, sent.receipts, sent.names, size, str(sent.end.cursor), sent.paths)

    @door(path=PATH, require_signed=FLAG, signers=PATH, revoked=PATH)
    def apply(
        self, path: str | os.PathLike[str], *, require_signed: bool = False,
        signers: str | os.PathLike[str] | None = None, revoked: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Applied:  # fmt: skip
        """Store the turns, names and records of a bundle. Nothing that is here is changed: a turn that is here already
        stays as it is, and a name moves only forward, along turns or along turns that say the same.

        ``@`` stays, unless nothing was said here yet. A key that a turn has here already stays with that turn. A page
        is stored whole or not at all, so a bundle that broke off can be applied again. The signature of a signed bundle
        is judged before anything is stored. ``require_signed`` takes only a bundle that somebody in ``signers`` has
        signed; ``signers`` and ``revoked`` are the lists of ``Store.signatures``.
        Cost: for 500 turns, one statement for each 64, one for each new branch, and about ten. A signed bundle is read
        twice.
        Raises: InvalidBundle, for a bad signature too; NotSigned, SigningFailed, MissingParents, ForeignConflict,
        QuotaExceeded, TooLarge.
        """
        space = self._space
        target = SyncTarget(space._open_backend(), space._number, space._database.mint, space._payload_limit_bytes)
        with open_bundle(path) as file:
            reader, signer = _judge(file, os.fspath(path), require_signed, signers, revoked)
            # The turns keep the name of the file that they came in, without its folders.
            name = os.path.basename(os.fspath(path)).encode(errors="surrogateescape")
            applied = apply_bundle(target, reader, ArrivalOrigin(STRANGER, by=name), progress)
        space._database.count_written(applied.stored)
        return replace(applied, signed=signer.told)

    def _secrets(self, sent: SentBundle) -> SecretsFound:
        number = self._space._number

        def handles(connection: Connection) -> tuple[str, ...]:
            return tuple(make_handles(connection, number, sent.keys).values())

        return SecretsFound(sent.keys, self._space._read(handles), sent.said)


def check_first(
    path: str | os.PathLike[str], *, require_signed: bool, signers: str | os.PathLike[str] | None,
    revoked: str | os.PathLike[str] | None,
) -> None:  # fmt: skip
    """Check a bundle for a store that is not there yet: ``apply`` would store something of it. Raises: as ``apply``."""
    with open_bundle(path) as file:
        reader, _ = _judge(file, os.fspath(path), require_signed, signers, revoked)
        check_beginning(reader, os.fspath(path))


def _judge(
    file: BinaryIO, name: str, require_signed: bool, signers: str | os.PathLike[str] | None,
    revoked: str | os.PathLike[str] | None,
) -> tuple[BundleReader, BundleSigner]:  # fmt: skip
    """Open a bundle and judge its signature, if it has or needs one."""
    reader = BundleReader(file, name)
    if not reader.header.signed and not require_signed:
        return reader, BundleSigner()
    signer = find_signer(reader, read_trust(signers, revoked))
    if require_signed:
        check_signed(name, signer)
    file.seek(0)
    # The signature covers the whole file, and nothing may be stored before it is judged: so it is read twice.
    return reader.again(file), signer


@door(path=PATH, signers=PATH, revoked=PATH)
def verify_bundle(
    path: str | os.PathLike[str], *, signers: str | os.PathLike[str] | None = None,
    revoked: str | os.PathLike[str] | None = None,
) -> BundleChecked:  # fmt: skip
    """Read a bundle to its end, prove its turns from what is in it, and judge its signature by the lists of
    ``Store.signatures``. No store is needed.

    Raises: InvalidBundle, for a bad signature too; SigningFailed.
    """
    name = os.fspath(path)
    with open_bundle(path) as file:
        reader = BundleReader(file, name)
        checked = check_bundle(reader, name)
    return replace(checked, signed=judge_signer(reader, read_trust(signers, revoked)).told)


@door(path=PATH, out=PATH, erasures=PATH)
def rewrite_bundle(
    path: str | os.PathLike[str], out: str | os.PathLike[str], erasures: str | os.PathLike[str]
) -> BundleRewritten:
    """Write a bundle again, without what was erased since. ``erasures`` is a file of receipts, as ``headish erasures
    --export`` prints them. No store is needed, and nothing is overwritten.

    A turn that a receipt lists with its seal loses its words. If a thread or branch was erased, its names and titles
    are removed, too. Copies of the bundle that were handed out before are not reached.
    Cost: reads the bundle twice.
    Raises: InvalidBundle; FileTaken; InvalidArgument for receipts that cannot be read, and a bundle of a log.
    """
    name, target = os.fspath(path), os.fspath(out)
    rewriting = Rewriting(read_receipts(erasures))
    with open_bundle(path) as file:
        rewriting.look(BundleReader(file, name))
    with open_bundle(path) as file, whole_file(target) as part, open(part, "r+b") as output:
        rewritten = rewriting.write(BundleReader(file, name), output)
    return replace(rewritten, path=target)


def open_bundle(path: str | os.PathLike[str]) -> BinaryIO:
    """Open the file of a bundle. Raises: InvalidBundle if it cannot be read."""
    try:
        return open_regular(path)
    except OSError as error:
        raise InvalidBundle(os.fspath(path), f"it cannot be read ({error.strerror})") from None


def _write(
    connection: Connection,
    space: int,
    file: BinaryIO,
    cursor: Cursor | None,
    asked: Sequence[Headish] | None,
    progress: Progress | None,
    signed: bool,
) -> SentBundle:
    file.seek(0)  # the database may run this again
    file.truncate()
    if asked is None:
        after = None if cursor is None else resume(connection, space, cursor)
        return write_all(connection, space, file, after, progress, signed=signed)
    if not asked:
        raise InvalidArgument("a bundle of threads needs a headish")
    ends = list(dict.fromkeys(find_place(connection, space, each) for each in asked))
    return write_part(connection, space, file, _part(connection, space, ends), progress, signed=signed)


def _part(connection: Connection, space: int, ends: Sequence[Place]) -> BundlePart:
    """Choose some threads, with the names that point at their turns and the records of their conversations."""
    segments = arrange(ends, read_links_of(connection, space, ends))
    names: list[SentName] = []
    for place, at in names_of_segments(connection, space, segments).items():
        # A name that moved on from one of these turns to a turn outside is found, too.
        if any(each.chain == place.chain and each.low <= place.pos <= each.high for each in segments):
            turn = turn_at(connection, space, place)
            assert turn is not None
            names += [SentName(bytes(name), turn.id, turn.digest) for name in at]
    subjects = {each.name: each.name for each in names} | dict(_subjects_of(connection, space, ends))
    records = find_records(connection, space, subjects).values()
    sent_records = [
        record_as_sent(subjects[bytes(each.subject)], each.revision, 0, without_times(bytes(each.data)))
        for each in records
    ]
    return BundlePart(ends, sorted(names, key=lambda each: each.name), sent_records)


def _subjects_of(connection: Connection, space: int, ends: Sequence[Place]) -> Iterator[tuple[bytes, bytes]]:
    """Where the records of the threads' conversations lie if they have no name, and the first turn that goes along: an
    original that was edited stays here."""
    for end in ends:
        if (first := find_first(connection, space, end)) is not None:
            yield find_firsts(connection, space, end)[0].id.encode(), first.id.encode()
