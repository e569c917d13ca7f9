"""Items of the Responses API as turns, and back: one turn for each item.

An item is stored once: its content is the turn's blocks, and ``system.form`` (the form ``responses``) keeps how it was
written. For the commonest items, ``meta.app["agents"]`` has the name of their shape instead. It also has the order of
keys if the form writes another one. An item that the form does not read (a type that is not text, NaN, very deep
nesting) is one block of the provider ``openai_agents``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeGuard

import msgspec
from msgspec.structs import replace

from headish.adapters.healing import NOTE, heal_and_encode
from headish.adapters.messages import (
    FORM,
    NO_ATTRIBUTES,
    ContentBlock,
    Draft,
    Message,
    ProviderBlock,
    Read,
    Text,
    TranscriptMessage,
    check_json,
    encode_json,
    is_sayable,
    make_checked_draft,
    make_plain_draft,
    make_read_draft,
    plain_json,
    read_form,
    with_app,
    write_form,
)
from headish.errors import HeadishError, InvalidContent, InvalidRole, Unmappable
from headish.integrations.agents.orders import order_of, reorder
from headish.integrations.agents.shapes import Item, read_shape, write_shape

OWN = "openai_agents"
"""The provider of a block with an item that no form reads."""
APP = "agents"
"""The adapter's key in ``meta.app``."""
_PLAIN = ["role", "content"]
PLAIN_ROLES = ("user", "assistant", "system", "developer")
_decode = msgspec.json.Decoder().decode


class DraftedItem(NamedTuple):
    """The draft of an item, and the item as a load will give it back, None if it is not to be remembered.

    ``data`` is its JSON if all of its values are texts or empty lists: such JSON decodes to an equal item."""

    draft: Draft
    item: Item | None
    data: bytes | None = None


def make_draft(item: Any, limit_bytes: int) -> DraftedItem:
    """Make the draft of an item. Lone surrogates in it are replaced, and a note says so.

    Raises: TypeError if it is not JSON, as ``json.dumps``; TooLarge.
    """
    item, is_healed, data = heal_and_encode(item)
    if type(item) is dict:
        draft = _draft_of_plain(item, limit_bytes, {"note": NOTE} if is_healed else {})
        if draft is not None:
            return DraftedItem(draft, item, data)
    try:
        draft, order = _draft_of_form(item, limit_bytes)
    except (InvalidContent, InvalidRole, Unmappable):
        # Kept whole: a run must not fail because of an item that headish does not know.
        return DraftedItem(_draft_of_text(item, limit_bytes, {"note": NOTE} if is_healed else None), None)
    app = ({} if order is None else {"order": order}) | ({"note": NOTE} if is_healed else {})
    return DraftedItem(with_app(draft, {APP: app}) if app else draft, item)


def _draft_of_plain(item: Item, limit_bytes: int, note: Mapping[str, Any]) -> Draft | None:
    """The draft of a plain text message, or of an item of a shape; None for any other item."""
    if list(item) == _PLAIN and type(item["content"]) is str and item["role"] in PLAIN_ROLES:
        return make_checked_draft(item["content"], item["role"], limit_bytes, _app(note) if note else None)
    shaped = read_shape(item)
    if shaped is None:
        return None
    return make_checked_draft((shaped.block,), shaped.role, limit_bytes, _app({**shaped.beside, **note}))


def items_of(kept: TranscriptMessage, app: bytes | None) -> list[Item]:
    """The items of a turn: the one that it was made of, or for a turn of another origin the items that say the same,
    without blocks that only another provider understands.
    """
    blocks = kept.message.content
    beside = {} if app is None else _decode(app).get(APP, {})
    if len(blocks) == 1:
        is_shaped = "shape" in beside
        own = write_shape(blocks[0], beside["shape"], beside.get("id")) if is_shaped else _own_item(blocks[0])
        if own is not None:
            return [own]
        is_bare = not beside and FORM not in kept.system and kept.message.attributes is NO_ATTRIBUTES
        if is_bare and is_plain_text(blocks[0], kept.message.role):
            return [{"role": str(kept.message.role), "content": kept.message.text}]
    message = replace(kept.message, content=tuple(filter(is_sayable, blocks)))
    if message.role is None or (blocks and not message.content):
        return []
    items = write_form("responses", TranscriptMessage(message, kept.system))
    order = beside.get("order")
    return [reorder(order, each) for each in items] if order is not None else items


def _draft_of_form(item: Any, limit_bytes: int) -> tuple[Draft, Any]:
    """The draft of an item by its form, and the order of its keys if the form writes another one.

    Raises: InvalidContent, InvalidRole, Unmappable if the form does not give the item back as it was.
    """
    read = read_form("responses", item) if isinstance(item, Mapping) else None
    if read is None:
        raise InvalidContent("an item", "it is not an object")
    draft = make_read_draft(read, {}, limit_bytes)
    [made] = _written(read)
    plain = plain_json(item)
    text = json.dumps(plain)
    # As text, because ``==`` does not see the order of keys.
    if json.dumps(made) == text:
        return draft, None
    order = order_of(made, plain)
    if json.dumps(reorder(order, made)) != text:
        raise InvalidContent("an item", "it does not come back as it was")
    return draft, order


def _written(read: Read) -> list[Item]:
    message = Message(role=read.role, content=read.blocks)
    system = {} if read.form is None else {"form": read.form}
    return write_form("responses", TranscriptMessage(message, system))


def _draft_of_text(item: Any, limit_bytes: int, app: Mapping[str, Any] | None) -> Draft:
    """An item as one block: its JSON if headish can store that, else its JSON as a text."""
    text = json.dumps(item)
    role = item.get("role") if isinstance(item, Mapping) else None
    try:
        check_json(item, "an item")
        data: Any = {"item": item}
        # Large integers and the like may change on the way through JSON.
        if json.dumps(_decode(encode_json(data))["item"]) != text:
            data = {"json": text}
    except (HeadishError, ValueError, TypeError):
        data = {"json": text}
    role = role if role in PLAIN_ROLES else "assistant"  # a turn needs one, and most items without a role are a model's
    draft = make_plain_draft([ProviderBlock(OWN, data)], role, limit_bytes)
    return draft if app is None else with_app(draft, {APP: app})


def _own_item(block: ContentBlock) -> Any:
    if not isinstance(block, ProviderBlock) or block.provider != OWN or not isinstance(block.data, Mapping):
        return None
    return block.data["item"] if "item" in block.data else json.loads(block.data["json"])


def is_plain_text(block: ContentBlock, role: str | None) -> TypeGuard[Text]:
    """Whether a turn of this block is a plain text. The form would write it with the same two keys, but more slowly."""
    return type(block) is Text and not block.opaque and not block.extra and role in PLAIN_ROLES


def _app(app: Mapping[str, Any]) -> bytes:
    return encode_json({APP: app})
