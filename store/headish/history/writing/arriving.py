"""Verify turns that came from elsewhere, before anything is stored: nothing that a sender says is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headish.bundles.pages import TurnColumns, TurnRecord
from headish.bundles.records import PAGE_TURNS
from headish.content import strictjson
from headish.content.encoding import DECODED_TOGETHER, decode_payload, decode_payloads
from headish.content.frames import FRAME_BYTES
from headish.content.hashes import begin_digest, digest_behind, seal_beside, seal_from
from headish.errors import CorruptTurn, InvalidBundle, InvalidContent, TooLarge
from headish.history.reading.decode import read_attributes
from headish.history.writing.proofs import copy_problems_of, derive_digest, derive_seal, mappings_of, record_problems
from headish.rows.adding import TurnRows
from headish.rows.turns import StoredTurn
from headish.values.ids import TurnId, is_turn_id
from headish.values.limits import KEY_LIMIT_BYTES, MAPPING_LIMIT_BYTES
from headish.values.names import refusal
from headish.values.turns import BLOCKS_TYPE, DOCUMENT, OVERLAY

NOWHERE = -1
"""Stands for the place and the commit number of a turn that is not stored yet."""
SYSTEM = "system"
_NOTHING: Mapping[str, object] = {}
_ROLE, _ERASED = TurnRecord._fields.index("role"), TurnRecord._fields.index("erased")
_WORDS = slice(_ROLE, _ERASED)
"""The fields that ``prove_record`` checks of a turn without ``system``, besides its id, payload and parents."""
_UNKNOWN = b"", ""


def check_payloads(turns: TurnColumns, file: str) -> None:
    """Check that each payload of blocks decodes, so that nothing unreadable is stored. Raises: InvalidBundle."""
    # By identity: a page has equal payloads once, as one object, which is decoded once.
    distinct = {
        id(payload): at
        for at, (payload, type) in enumerate(zip(turns.payloads, turns.types, strict=True))
        if payload is not None and type != DOCUMENT
    }
    listed = [*distinct.values()]
    for start in range(0, len(listed), DECODED_TOGETHER):
        some = listed[start : start + DECODED_TOGETHER]
        together = [turns.payloads[at] for at in some]
        # Large payloads are decoded one by one, because joining them would take three times their memory; and so are
        # those of a portion in which one is not plain or not valid, to name the faulty turn.
        if sum(map(len, together)) > FRAME_BYTES or decode_payloads(together) is None:
            for at in some:
                _check_payload(turns.payloads[at], turns.ids[at], file)


def _check_payload(payload: bytes, turn: TurnId, file: str) -> None:
    try:
        decode_payload(payload)
    except InvalidContent as error:
        raise InvalidBundle(file, f"turn {turn}: {error}") from None


class RecordProver:
    """Proves the turns of a bundle as ``prove_record`` does, but faster. ``digests`` has the digests of the turns that
    they may continue; those of proven turns are added.

    Turns without ``system`` repeat the same few roles, types and attributes. So these are checked once, and the parts
    of the hashes that are made of them are built once.
    """

    def __init__(self, digests: dict[TurnId, bytes], file: str, payload_limit_bytes: int) -> None:
        self._digests, self._file, self._limit_bytes = digests, file, payload_limit_bytes
        self._sound: dict[tuple[object, ...], tuple[bytes, str]] = {}

    def prove(self, records: Sequence[TurnRecord]) -> list[StoredTurn]:
        """Prove turns one by one, as ``prove_columns`` does."""
        rows = self.prove_columns(TurnColumns.of(records))
        return [rows.turn(at) for at in range(len(records))]

    def prove_columns(self, turns: TurnColumns) -> TurnRows:
        """Make the rows of turns in order, without their places.

        Raises: as ``prove_record``; InvalidBundle if a turn continues one that was not proven before.
        """
        digests: list[bytes] = []
        keys: list[bytes | None] = [None] * len(turns)
        superseded: list[TurnId | None] = [None] * len(turns)
        last: tuple[TurnId, ...] | None = None
        in_hex = ""
        all_words = zip(*turns.all[_WORDS], strict=True)
        for id, parents, payload, hash, seal, words in zip(*turns.all[:_ROLE], all_words, strict=True):
            before = (in_hex,) if parents == last else self._in_hex(parents)
            beginning, beside = self._sound.get(words, _UNKNOWN)
            digest: bytes | None = None
            if beside and before is not None and payload is not None and len(payload) <= self._limit_bytes:
                digest = digest_behind(beginning, hash, before)
                in_hex = digest.hex()
            # A turn that is not proven by the quick way is proven with care, which also finds the fault to name.
            if digest is None or seal_from(id, in_hex, beside, parents) != seal:
                at = len(digests)
                row = self._prove_carefully(turns.record(at), words)
                digest, keys[at], superseded[at] = row.digest, row.key, row.supersedes
                in_hex = digest.hex()
            last = (id,)
            self._digests[id] = digest
            digests.append(digest)
        return _rows_of(turns, digests, keys, superseded)

    def _in_hex(self, parents: Sequence[TurnId]) -> list[str] | None:
        """The digests of turns in hex; None if one of them was not proven."""
        digests = [self._digests.get(each) for each in parents]
        return None if None in digests else [each.hex() for each in digests if each is not None]

    def _prove_carefully(self, record: TurnRecord, words: tuple[object, ...]) -> StoredTurn:
        for each in record.parents:
            if each not in self._digests:
                raise InvalidBundle(self._file, f"turn {record.id} continues what comes behind it")
        row = prove_record(record, self._digests, self._file, self._limit_bytes)
        if record.system is None and record.left is None:
            # Bounded: a bundle may have other words in every turn.
            if len(self._sound) == PAGE_TURNS:
                self._sound.clear()
            attributes = record.attributes or b""
            beginning = begin_digest(record.role, record.type, record.content_type or BLOCKS_TYPE, None)
            self._sound[words] = (
                b"%b%d:%b," % (beginning, len(attributes), attributes),
                seal_beside(record.head, record.cache, record.inherited, None, record.app),
            )
        return row


def _rows_of(
    turns: TurnColumns, digests: list[bytes], keys: list[bytes | None], superseded: list[TurnId | None]
) -> TurnRows:
    ids, _, _, hashes, seals, roles, types, content_types, caches, attributes, inherited, system, apps, heads, *_ = (
        turns.all
    )
    flags = [1 if each else None for each in caches]
    nowhere, not_erased = (NOWHERE,) * len(turns), (None,) * len(turns)
    return TurnRows((
        nowhere, nowhere, nowhere, ids, roles, types, content_types, flags, attributes, inherited, system,
        digests, hashes, seals, heads, apps, not_erased, keys, superseded,
    ))  # fmt: skip


def prove_record(
    record: TurnRecord, parents: Mapping[TurnId, bytes], file: str, payload_limit_bytes: int
) -> StoredTurn:
    """Verify a record against its seal, and make its row, without its place.

    ``parents`` has the digests of its parents. A record whose meta was erased cannot be verified: its digest is taken
    from the sender, and the caller compares it with its receipt.
    Raises: InvalidBundle, TooLarge.
    """
    if record.payload is not None and len(record.payload) > payload_limit_bytes:
        raise TooLarge("a payload that arrived", len(record.payload), payload_limit_bytes)
    system = _read_system(record, file)
    if record.left is not None:
        row = _row(record, system, file, record.left.digest)
        _check_words(row, file)
        _check_left(record, file)
        return row
    name = _text(system, "document_name", record, file) if system else None
    digest = derive_digest(record, name, [parents[each] for each in record.parents])
    row = _row(record, system, file, digest)
    _check_words(row, file)
    if system:
        _check_copies(row, system, file)
    if derive_seal(record, digest, record.parents) != record.seal:
        raise InvalidBundle(file, f"turn {record.id} was altered: its seal disagrees with what it says")
    return row


def read_row(record: TurnRecord, file: str) -> StoredTurn:
    """Make the row of a record, without its place and digest, and without verifying it. Raises: InvalidBundle."""
    return _row(record, _read_system(record, file), file, b"" if record.left is None else record.left.digest)


def _read_system(record: TurnRecord, file: str) -> Mapping[str, object]:
    if record.system is None:
        return _NOTHING
    try:
        system = strictjson.decode(record.system, SYSTEM)
    except InvalidContent as error:
        raise InvalidBundle(file, f"turn {record.id}: {error}") from None
    if not isinstance(system, dict):
        raise InvalidBundle(file, f"turn {record.id}: its system is not a JSON object")
    return system


def _text(system: Mapping[str, object], name: str, record: TurnRecord, file: str) -> str | None:
    value = system.get(name)
    if value is None or isinstance(value, str):
        return value
    raise InvalidBundle(file, f"turn {record.id}: its {name} is not text")


def _row(record: TurnRecord, system: Mapping[str, object], file: str, digest: bytes) -> StoredTurn:
    stored_key = superseded = None
    if system:
        key, superseded = _text(system, "key", record, file), _text(system, "supersedes", record, file)
        stored_key = None if key is None else key.encode(errors="surrogatepass")
    if record.left is not None:
        stored_key, superseded = record.left.key, record.left.supersedes
    if superseded is not None and not is_turn_id(superseded):
        raise InvalidBundle(file, f"turn {record.id}: its supersedes is not an id")
    # By position, in the order of the columns: this runs for every turn.
    return StoredTurn(
        NOWHERE, NOWHERE, NOWHERE, record.id, record.role, record.type, record.content_type,
        1 if record.cache else None, record.attributes, record.inherited, record.system, digest, record.hash,
        record.seal, record.head, record.app, None, stored_key, None if superseded is None else TurnId(superseded),
    )  # fmt: skip


def _check_left(record: TurnRecord, file: str) -> None:
    """Check that a record whose meta was erased has none, because nothing could verify it. Raises: InvalidBundle."""
    attributes = None if record.type == OVERLAY else record.attributes
    if any(each is not None for each in (attributes, record.inherited, record.system, record.app, record.head)):
        raise InvalidBundle(file, f"turn {record.id} lost its meta, and still has some")


def _check_copies(stored: StoredTurn, system: Mapping[str, object], file: str) -> None:
    """Check that the columns that copy sealed facts agree with them. Raises: InvalidBundle."""
    for problem in copy_problems_of(stored, system):
        raise InvalidBundle(file, f"turn {stored.id}: {problem}")


def _check_words(stored: StoredTurn, file: str) -> None:
    """Check that a record keeps every rule and limit of turns that are written here. Its ``system`` is decoded already.

    Raises: InvalidBundle.
    """
    problems = [*record_problems(stored, decoded=SYSTEM)]
    if stored.key is not None and len(stored.key) > KEY_LIMIT_BYTES:
        problems.append("its key is longer than any may be")
    for name, each in mappings_of(stored):
        if each is not None and len(each) > MAPPING_LIMIT_BYTES:
            problems.append(f"its {name} has more bytes than any may have")
    if stored.head is not None and (reason := refusal(stored.head.decode(errors="surrogateescape"))) is not None:
        problems.append(f"the name that moved with it is not a name: {reason}")
    if stored.content_type is not None and not (stored.content_type.isascii() and stored.content_type.isprintable()):
        problems.append("its content type is not printable ASCII")
    if stored.attributes is not None:
        problems += _attribute_problems(stored)
    if problems:
        raise InvalidBundle(file, f"turn {stored.id}: {problems[0]}")


def _attribute_problems(stored: StoredTurn) -> list[str]:
    try:
        read_attributes(stored)
    except CorruptTurn as error:
        return [str(error)]
    return []
