"""Check that a record is as its digest and seal say, and says nothing that no record can say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headish.content import strictjson
from headish.content.hashes import DigestFields, digest_turn, seal_turn
from headish.errors import InvalidContent
from headish.rows.turns import StoredTurn
from headish.values.caches import CACHE_TTL, TTLS
from headish.values.ids import TurnId, as_turn_id
from headish.values.messages import ROLES
from headish.values.turns import BLOCKS_TYPE, said_of


def derive_digest(stored: StoredTurn, document_name: str | None, parents: Iterable[bytes]) -> bytes:
    """The digest of what a record says, behind parents with these digests."""
    said = DigestFields(
        role=stored.role,
        hash=stored.hash,
        type=stored.type,
        content_type=stored.content_type or BLOCKS_TYPE,
        document_name=document_name,
        attributes=stored.attributes,
    )
    return digest_turn(said, parents)


def derive_seal(stored: StoredTurn, digest: bytes, parents: Iterable[TurnId]) -> bytes:
    """The seal of a record with a digest that continues the turns with these ids."""
    return seal_turn(
        stored.id, digest, parents, head=stored.head, cache=bool(stored.cache), inherited=stored.inherited,
        system=stored.system, app=stored.app,
    )  # fmt: skip


def record_problems(stored: StoredTurn) -> Iterator[str]:
    """What a record says that none can say."""
    if as_turn_id(stored.id) != stored.id:
        yield "its id is not a SCRU128 id"
    if stored.cache not in (1, None):
        yield f"its cache is {stored.cache}"
    if stored.role not in (*ROLES, ""):  # a bare sequence of a transcript has none
        yield f"its role is {stored.role!r}"
    if stored.type == "" or stored.content_type == "":  # a hash cannot tell these from none
        yield "its type or content type is empty"
    if stored.key == b"" or stored.supersedes == "":  # likewise
        yield "its key, or what it supersedes, is empty"
    for column in ("attributes", "inherited", "system", "app"):
        encoded = getattr(stored, column)
        try:
            if encoded is not None and not isinstance(strictjson.decode(encoded, column), dict):
                yield f"its {column} is not a JSON object"
        except InvalidContent as error:
            yield f"its {column} does not decode ({error.reason})"


def copy_problems(stored: StoredTurn) -> Iterator[str]:
    """What the sealed ``system`` says of the turn otherwise than the columns that copy it (rule R36, sealed facts).

    A key may stand under the seal alone: another turn had it when this one arrived (rule R45, shadowed keys).
    """
    try:
        system = {} if stored.system is None else strictjson.decode(stored.system, "system")
    except InvalidContent:
        return  # one of the ``record_problems``
    if not isinstance(system, dict):
        return  # likewise
    if system.get(CACHE_TTL) not in (None, *TTLS):
        yield "the time of its cache flag is none"
    if "said_at" in system and said_of(system) is None:
        yield "its said_at is no time"
    copies: dict[str, str | None] = {"supersedes": stored.supersedes}
    if stored.key is not None:
        copies["key"] = stored.key.decode(errors="replace")
    for name, copy in copies.items():
        if system.get(name) != copy:
            yield f"its {name} is not the one under its seal"


def shadowed_key(stored: StoredTurn) -> bytes | None:
    """The key that a turn has under its seal and not in its column; None where it has none, or does not decode."""
    if stored.key is not None or stored.system is None:
        return None
    try:
        system = strictjson.decode(stored.system, "system")
    except InvalidContent:
        return None
    key = system.get("key") if isinstance(system, dict) else None
    return key.encode(errors="surrogatepass") if isinstance(key, str) else None
