"""Check a record: derive its digest and seal, and find values that no record may have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headish.bundles.pages import TurnRecord
from headish.content import strictjson
from headish.content.hashes import begin_digest, digest_from, seal_turn
from headish.errors import InvalidContent
from headish.rows.turns import StoredTurn
from headish.values.caches import CACHE_TTL, TTLS
from headish.values.ids import TurnId, is_turn_id
from headish.values.messages import ROLES
from headish.values.turns import BLOCKS_TYPE, DOCUMENT, said_of

_ROLES = {*ROLES, ""}


def mappings_of(stored: StoredTurn) -> tuple[tuple[str, bytes | None], ...]:
    """The columns of a record for JSON objects, by name; empty if the record has no such object."""
    if stored.attributes is stored.inherited is stored.system is stored.app is None:
        return ()  # nearly every turn
    return (
        ("attributes", stored.attributes),
        ("inherited", stored.inherited),
        ("system", stored.system),
        ("app", stored.app),
    )


def derive_digest(stored: StoredTurn | TurnRecord, document_name: str | None, parents: Iterable[bytes]) -> bytes:
    """Derive the digest of a record whose parents have these digests."""
    beginning = begin_digest(stored.role, stored.type, stored.content_type or BLOCKS_TYPE, document_name)
    return digest_from(beginning, stored.attributes or b"", stored.hash, parents)


def derive_seal(stored: StoredTurn | TurnRecord, digest: bytes, parents: Iterable[TurnId]) -> bytes:
    """Derive the seal of a record with a digest, whose parents have these ids."""
    return seal_turn(
        stored.id, digest, parents, head=stored.head, cache=bool(stored.cache), inherited=stored.inherited,
        system=stored.system, app=stored.app,
    )  # fmt: skip


def record_problems(stored: StoredTurn, *, decoded: str = "") -> Iterator[str]:
    """Describe the values of a record that no record may have. ``decoded`` is a column that the caller has decoded."""
    if not is_turn_id(stored.id):
        yield "its id is not a SCRU128 id"
    if stored.cache not in (1, None):
        yield f"its cache is {stored.cache}"
    if stored.role not in _ROLES:  # the empty role is allowed: a bare sequence of a transcript has none
        yield f"its role is {stored.role!r}"
    if stored.type == "" or stored.content_type == "":  # the hashes are the same with and without an empty one
        yield "its type or content type is empty"
    if stored.type is not None and "\0" in stored.type:  # PostgreSQL's text cannot store it
        yield "its type holds a NUL"
    if stored.key == b"" or stored.supersedes == "":  # likewise
        yield "its key or its supersedes is empty"
    for column, encoded in mappings_of(stored):
        try:
            if encoded is not None and column != decoded and not isinstance(strictjson.decode(encoded, column), dict):
                yield f"its {column} is not a JSON object"
        except InvalidContent as error:
            yield f"its {column} does not decode ({error.reason})"


def system_of(stored: StoredTurn) -> Mapping[str, Any] | None:
    """The sealed ``system`` of a turn; None if it is not a JSON object, which ``record_problems`` reports."""
    try:
        system = {} if stored.system is None else strictjson.decode(stored.system, "system")
    except InvalidContent:
        return None
    return system if isinstance(system, dict) else None


def copy_problems_of(stored: StoredTurn, system: Mapping[str, object]) -> Iterator[str]:
    """Describe the differences between the sealed ``system`` and the columns that copy it (rule R36, sealed facts).

    A key may be missing in its column: another turn had it when this one arrived (rule R45, shadowed keys).
    """
    if system.get(CACHE_TTL) not in (None, *TTLS):
        yield "its cache flag has an unknown time"
    # The digest covers the name, but readers derive it with a name for documents only.
    if system.get("document_name") and stored.type != DOCUMENT:
        yield "it has the name of a document but is not a document"
    if "said_at" in system and said_of(system) is None:
        yield "its said_at is not a time"
    copies: dict[str, str | None] = {"supersedes": stored.supersedes}
    if stored.key is not None:
        copies["key"] = stored.key.decode(errors="replace")
    for name, copy in copies.items():
        if system.get(name) != copy:
            yield f"its {name} is not the one under its seal"


def shadowed_key(stored: StoredTurn, system: Mapping[str, Any]) -> bytes | None:
    """The key that a turn has under its seal, but not in its column; None if there is none."""
    key = system.get("key") if stored.key is None else None
    return key.encode(errors="surrogatepass") if isinstance(key, str) else None
