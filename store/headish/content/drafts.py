"""A turn before it is stored: everything checked and encoded, so that the transaction only has to place it.

``make_draft`` is pure: when it refuses, nothing was stored. A draft lacks only what the transaction decides: its id,
its parents and its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from headish.content import encoding, strictjson
from headish.content.encoding import Content
from headish.content.facts import NO_FACTS, Facts, read_facts
from headish.content.hashes import DigestFields, hash_payload
from headish.content.inherited import HANDED_DOWN, encode_inherited, encode_record, refuse_secret
from headish.errors import InvalidArgument, InvalidContent, InvalidRole, TooLarge, shown
from headish.values.blocks import ContentBlock, KnownBlock
from headish.values.caches import CACHE_TTL, Cache, longest, read_cache
from headish.values.checks.attributes import refused_attribute
from headish.values.checks.doors import FLAG, check
from headish.values.grammar import Headish, parse_headish
from headish.values.ids import TurnId
from headish.values.limits import CONTINUES_LIMIT, MAPPING_LIMIT_BYTES
from headish.values.messages import NO_ATTRIBUTES, ROLES, Attributes, Message, Overlay
from headish.values.names import Absent, check_name, read_expect
from headish.values.places import Place
from headish.values.turns import DOCUMENT, OVERLAY

if TYPE_CHECKING:
    from headish.content.forms.reading import Read

Continues = str | int | Sequence[str | int] | None
"""What a turn continues: one headish or several; inside ``add_turns`` also the index of an earlier item."""
Reference = Headish | int | Place


class DocumentOptions(TypedDict, total=False):
    """The options of a document turn: those of ``TurnOptions`` that do not need content blocks."""

    role: str
    continues: Continues
    respond: bool
    bookmark: str | None
    force: bool
    moves: bool
    expect: str | Absent | None
    provider_ptr: str | None
    servers: Sequence[str] | None
    search: bool | None
    tool_mode: str | None
    inherited: Mapping[str, Any] | None
    cache: Cache
    meta: Mapping[str, Any] | None
    said_at: datetime | int | None
    key: str | None
    supersedes: str | None
    copy_of: str | None


class TurnOptions(DocumentOptions, total=False):
    """The options of a turn beside its content: the keywords of ``add_turn``, and the keys of an item of ``add_turns``.

    - ``role``: system, developer, user (the default), assistant or tool.
    - ``continues``: a headish or several, in order. ``respond``: continue the newest turn of the space.
    - ``bookmark``: the name to set, or to move forward to this turn; ``force`` takes it from wherever it is.
    - ``moves``: False leaves every name where it is, except that of ``bookmark``.
    - ``expect``: the id that the moving name must have pointed at, or ``ABSENT`` if there must be no such name yet.
    - ``inherited``: options for this turn and all that continue it, deep-merged with the shortcuts ``provider_ptr``,
      ``servers``, ``search`` and ``tool_mode``; ``None`` inside unsets a value.
    - ``json``: the content is the JSON text of blocks. ``cache``: ask providers to cache up to here, for
      as long as the request says (True), ``5m`` or ``1h``.
    - ``form``: the content is a message of an API, or the parts of one: ``chat``, ``responses``, ``anthropic``,
      ``gemini`` or ``cohere``. headish recognises parts that only one of them has by their shape.
    - ``attributes``: the transcript's. ``meta``: the application's own.
    - ``said_at``: when it was said, if not now: a datetime with a zone, or Unix milliseconds.
    - ``key``: the name that another system has for the turn.
    - ``supersedes``, ``copy_of``: the id of the turn that this one replaces, or repeats.
    """

    json: bool
    form: str | None
    attributes: Attributes | Mapping[str, Any] | None


class Draft(Struct, frozen=True, gc=False):
    """A turn to be stored. JSON fields are the bytes that will be stored, None if there is nothing to store."""

    payload: bytes
    said: DigestFields
    continues: tuple[Reference, ...] = ()
    respond: bool = False
    bookmark: bytes | None = None
    force: bool = False
    moves: bool = True
    expect: TurnId | Absent | None = None
    cache: bool = False
    inherited: bytes | None = None
    system: bytes | None = None
    app: bytes | None = None
    facts: Facts = NO_FACTS

    @property
    def size_bytes(self) -> int:
        return len(self.payload) + len(self.inherited or b"") + len(self.system or b"") + len(self.app or b"")


def make_draft(content: Content, turn: Mapping[str, Any], payload_limit_bytes: int, author: str | None = None) -> Draft:
    """Check and encode content and the options of a turn (``TurnOptions``); ``author`` says who adds it.

    Raises: InvalidRole, InvalidContent (TooDeep, TooLarge), InvalidHeadish, InvalidName; InvalidArgument,
    which includes an option that a turn does not have.
    """
    if author is None and _USUAL.issuperset(turn):  # an author is a fact, which the short way does not store
        draft = _make_usual_draft(content, turn, payload_limit_bytes)
        if draft is not None:
            return draft
    _check_known(turn, TurnOptions, "a turn has content")
    is_text = type(content) is str and not turn.get("json") and turn.get("form") is None
    read = None if is_text else _read_form(content, turn)
    if read is not None:
        return make_read_draft(read, turn, payload_limit_bytes, author)
    role = _plain_role(turn.get("role", "user"))
    payload = _within(encode_content(content, json=bool(turn.get("json"))), "content", payload_limit_bytes)
    attributes = turn.get("attributes")
    encoded = None if attributes is None else encode_attributes(attributes)
    said = DigestFields(role=role, hash=hash_payload(payload), attributes=encoded)
    return _draft(payload, said, turn, read_facts(turn, author))


_USUAL = frozenset(("role", "continues", "bookmark"))
"""The only options that nearly every turn has."""
_FLAGS = frozenset(("respond", "force", "moves", "json"))


def _make_usual_draft(content: Content, turn: Mapping[str, Any], payload_limit_bytes: int) -> Draft | None:
    """Make the draft of a text, or of blocks that ``encode_known`` takes, with ``_USUAL`` options alone.

    Costs a third to a half of ``make_draft``. None for other content.
    """
    payload = encoding.encode_text(content) if type(content) is str else encoding.encode_known(content)
    if payload is None:
        return None
    if len(payload) > payload_limit_bytes:
        raise TooLarge("content", len(payload), payload_limit_bytes)
    said = DigestFields(_plain_role(turn.get("role", "user")), hash_payload(payload))
    continued, bookmark = read_continues(turn.get("continues")), turn.get("bookmark")
    return Draft(payload, said, continued, bookmark=None if bookmark is None else check_name(bookmark, is_new=True))


def make_read_draft(read: Read, turn: Mapping[str, Any], payload_limit_bytes: int, author: str | None = None) -> Draft:
    """Make the draft of an API's message that was read; ``turn`` holds its further options.

    Raises: as ``make_draft``.
    """
    payload = _within(encode_content(read.blocks), "content", payload_limit_bytes)
    attributes = turn.get("attributes")
    if read.speaker is not None:
        plain = msgspec.to_builtins(attributes) if isinstance(attributes, Attributes) else attributes
        attributes = {"speaker": read.speaker} | dict(plain or {})
    said = DigestFields(role=read.role, hash=hash_payload(payload), attributes=encode_attributes(attributes))
    options = {**turn, "cache": longest((read_cache(turn.get("cache")), read.cache))}
    system = None if read.form is None else {"form": read.form}
    return _draft(payload, said, options, read_facts(turn, author), system)


def _read_form(content: Any, turn: Mapping[str, Any]) -> Read | None:
    """Read content that is a message of an API; None if it has the shape of none."""
    from headish.content.forms.reading import read_turn  # late: most turns are plain

    if not turn.get("json"):
        return read_turn(content, turn)
    if not isinstance(content, str | bytes):
        return None  # ``encode_content`` refuses it
    try:
        value = strictjson.decode(content, "content")
    except InvalidContent:
        if turn.get("form") is not None:
            raise
        return None  # ``encode_json`` may take it: it keeps numbers that Python cannot hold (``1e400``)
    return read_turn(value, turn)


def make_plain_draft(content: Content, role: object, payload_limit_bytes: int) -> Draft:
    """As ``make_draft``, for content and a role alone, like nearly every message of a long list. A third of the cost.

    Raises: InvalidRole, InvalidContent (TooDeep, TooLarge).
    """
    role = _plain_role(role)
    payload = encoding.encode_text(content) if type(content) is str else encode_content(content)
    if len(payload) > payload_limit_bytes:
        raise TooLarge("content", len(payload), payload_limit_bytes)
    return Draft(payload, DigestFields(role, hash_payload(payload)))


def make_checked_draft(
    content: str | tuple[KnownBlock, ...], role: str, payload_limit_bytes: int, app: bytes | None = None
) -> Draft:
    """Make a draft from values that are checked already: a text, or blocks without unknown keys; a role; and the
    stored JSON of ``app``. Raises: TooLarge."""
    payload = encoding.encode_whole_text(content) if isinstance(content, str) else encoding.encode_plain(content)
    if len(payload) > payload_limit_bytes:
        raise TooLarge("content", len(payload), payload_limit_bytes)
    return Draft(payload, DigestFields(role, hash_payload(payload)), app=app)


def make_message_draft(
    message: Message, payload_limit_bytes: int, *, system: Mapping[str, Any], inherited: Mapping[str, Any] | None = None
) -> Draft:
    """The draft of a message that was read from a transcript; ``system`` holds the text around it.

    Raises: InvalidContent (TooDeep, TooLarge).
    """
    payload = encoding.encode_payload(message.content)
    if len(payload) > payload_limit_bytes:
        raise TooLarge("content", len(payload), payload_limit_bytes)
    # A bare sequence has no role. It is stored as the empty one, which no other turn can have.
    said = DigestFields(
        role=message.role or "", hash=hash_payload(payload), attributes=encode_attributes(message.attributes)
    )
    return Draft(
        payload=payload,
        said=said,
        inherited=encode_record(inherited, "inherited") if inherited else None,
        system=strictjson.encode_mapping(system, "transcript") if system else None,
    )


def make_document_draft(
    data: bytes,
    turn: Mapping[str, Any] | None = None,
    *,
    content_type: str,
    system: Mapping[str, Any],
    author: str | None = None,
) -> Draft:
    """The draft of a document: its payload is the raw bytes, ``system`` holds its name, path and size.

    ``turn`` are its ``DocumentOptions``. Raises: as ``make_draft``.
    """
    turn = turn or {}
    _check_known(turn, DocumentOptions, "a document has bytes, name, content_type")
    _check_media_type(content_type)
    said = DigestFields(
        role=_plain_role(turn.get("role", "user")),
        hash=hash_payload(data),
        type=DOCUMENT,
        content_type=content_type,
        document_name=system.get("document_name"),
    )
    return _draft(data, said, turn, read_facts(turn, author), system)


def with_key(draft: Draft, key: bytes | None, supersedes: TurnId | None = None, *, grew: bool = False) -> Draft:
    """The draft with another key, or with none. ``supersedes`` is the turn that it replaces; with ``grew``, it contains
    all that this turn said."""
    facts = replace(draft.facts, key=key, supersedes=supersedes, grew=grew or None)
    system = {} if draft.system is None else strictjson.decode(draft.system, "system")
    # Else an old key would stay where the new facts have none.
    own = {name: value for name, value in system.items() if name not in Facts.__struct_fields__}
    # Both, since the seal covers ``system``, and the row's columns come from ``facts``: they must agree.
    return replace(draft, facts=facts, system=_encode_system(own, facts))


def make_overlay_draft(
    overlay: Overlay,
    blocks: tuple[ContentBlock, ...],
    payload_limit_bytes: int,
    *,
    continues: tuple[Reference, ...],
    expect: object = None,
    system: Mapping[str, Any] | None = None,
    author: str | None = None,
) -> Draft:
    """Make the draft of an overlay; ``blocks`` take the place of the turns that it covers.

    Raises: TooLarge for the blocks, or for more turns than one overlay can cover; InvalidArgument.
    """
    payload = _within(encoding.encode_payload(blocks), "content", payload_limit_bytes)
    attributes = _within(strictjson.encode(Attributes(overlay=overlay)), "turns of an overlay")
    said = DigestFields(role="system", hash=hash_payload(payload), type=OVERLAY, attributes=attributes)
    draft = _draft(payload, said, {"expect": expect}, read_facts({}, author), system)
    return msgspec.structs.replace(draft, continues=continues)


def as_overlay(draft: Draft, does: str, covers: Iterable[str]) -> Draft:
    """The draft as an overlay that puts its words in place of turns with these digests (rule R34, overlays)."""
    attributes = strictjson.encode(Attributes(overlay=Overlay(does=does, covers=tuple(covers))))
    said = replace(draft.said, role="system", type=OVERLAY, attributes=_within(attributes, "turns of an overlay"))
    return replace(draft, said=said)


def with_reply(draft: Draft, reply: Mapping[str, Any]) -> Draft:
    """The draft as an answer; ``reply`` is what its provider reported with it (``Reply.to_meta``).

    Raises: InvalidContent, TooLarge.
    """
    system = {} if draft.system is None else strictjson.decode(draft.system, "system")
    return replace(draft, system=encode_record({"reply": dict(reply), **system}, "system"))


def _draft(
    payload: bytes, said: DigestFields, turn: Mapping[str, Any], facts: Facts, system: Mapping[str, Any] | None = None
) -> Draft:
    """A draft with the options that any turn may have; ``system`` are the keys of a document."""
    bookmark, cache, expect = turn.get("bookmark"), turn.get("cache"), turn.get("expect")
    if cache is not None and cache is not False:  # most turns ask for no cache: spare them the call
        cache = read_cache(cache)
    if isinstance(cache, str):
        system = {**(system or {}), CACHE_TTL: cache}
    return Draft(
        payload=payload,
        said=said,
        continues=read_continues(turn.get("continues")),
        respond=bool(turn.get("respond")),
        bookmark=None if bookmark is None else check_name(bookmark, is_new=True),
        force=bool(turn.get("force")),
        moves=bool(turn.get("moves", True)),
        expect=None if expect is None else read_expect(expect),
        cache=bool(cache),
        inherited=None if HANDED_DOWN.isdisjoint(turn) else encode_inherited(turn),
        system=None if system is None and facts is NO_FACTS else _encode_system(system or {}, facts),
        app=_encode_meta(turn.get("meta")),
        facts=facts,
    )


def _plain_role(role: object) -> str:
    """A role as plain text: a member of a caller's ``Enum`` may be equal to a role, and be another text to ``str``."""
    if role not in ROLES:
        raise InvalidRole(role)
    return ROLES[ROLES.index(role)]


def encode_content(given: Content, *, json: bool = False) -> bytes:
    """Content as payload bytes."""
    if isinstance(given, str) and not json:
        if type(given) is not str:
            strictjson.check(given, encoding.WHAT)  # refuses it: of an Enum, the name or the value may be meant
        return encoding.encode_text(given)
    return encoding.encode_json(given) if json else encoding.encode_payload(encoding.read_content(given))


def encode_attributes(given: Attributes | Mapping[str, Any] | None) -> bytes | None:
    """The attributes of a message as they are stored and digested; None if none are set."""
    if given is None or given == NO_ATTRIBUTES:
        return None
    plain = msgspec.to_builtins(given) if isinstance(given, Attributes) else given
    if not isinstance(plain, Mapping):
        raise InvalidContent("attributes", f"they must be a mapping, not {type(given).__name__}")
    strictjson.check(plain, "attributes")
    fields = {key: value for key, value in plain.items() if value is not None}  # null is the same as not set
    if not fields:
        return None
    try:
        attributes = msgspec.convert(fields, Attributes)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        known = ", ".join(Attributes.__struct_fields__)
        raise InvalidContent("attributes", f"{reason}; known are {known}", "$" + where.rstrip("`")) from None
    refused = refused_attribute(plain)
    if refused is not None:
        raise InvalidContent("attributes", refused[1], f"$.{refused[0]}")
    encoded = strictjson.encode(attributes)
    return _within(encoded, "attributes") if encoded != b"{}" else None


def read_continues(given: Continues) -> tuple[Reference, ...]:
    """Parse what a turn continues, without looking anything up."""
    if given is None:
        return ()
    if type(given) is int:  # by the type itself: True is not an index, and ``parse_headish`` refuses it
        return (given,)
    if isinstance(given, str):
        return (parse_headish(given),)
    if not isinstance(given, int | Iterable):
        raise InvalidArgument(f"continues takes a headish or a list of them, not {type(given).__name__}")
    listed = [given] if isinstance(given, int) else list(given)
    if len(listed) > CONTINUES_LIMIT:
        raise InvalidArgument(f"a turn can continue at most {CONTINUES_LIMIT} turns, not {len(listed)}")
    return tuple(item if type(item) is int or isinstance(item, Place) else parse_headish(item) for item in listed)


def _check_known(turn: Mapping[str, Any], options: type[DocumentOptions], has: str) -> None:
    known = options.__annotations__.keys()
    if not turn.keys() <= known:
        unknown = turn.keys() - known
        raise InvalidArgument(
            f"unknown argument {min(map(str, unknown))!r}; {has}, {', '.join(options.__annotations__)}"
        )
    for name in _FLAGS & turn.keys():
        if turn[name] is not None:
            check(name, turn[name], FLAG)


def _encode_system(system: Mapping[str, Any], facts: Facts) -> bytes | None:
    """headish's own keys of a turn: those of its kind, then its facts."""
    return encode_record({**system, **facts.to_system()}, "system")


def _encode_meta(given: Mapping[str, Any] | None) -> bytes | None:
    if given is None:
        return None
    refuse_secret(given, "meta")
    return encode_record(given, "meta")


def _check_media_type(given: str) -> None:
    if not isinstance(given, str) or not given.isascii() or not given.isprintable():
        raise InvalidArgument(f"content_type is a media type in printable ASCII, not {shown(given)}")


def _within(encoded: bytes, what: str, limit_bytes: int = MAPPING_LIMIT_BYTES) -> bytes:
    if len(encoded) > limit_bytes:
        raise TooLarge(what, len(encoded), limit_bytes)
    return encoded
