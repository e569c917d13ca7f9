"""The parts that an adapter builds turns from: blocks, drafts, payloads, and messages in the form of an API.

A *draft* is a turn that is checked and encoded, so that a transaction only has to place it: make it before the
transaction, and ``place`` it inside. ``make_plain_draft`` and ``make_checked_draft`` cost a third of ``make_draft``;
the second does not check its arguments again.

A *form* is one API's way to write messages: ``chat``, ``responses``, ``anthropic``, ``gemini``, ``cohere``.
``write_form`` gives back what ``read_form`` read, equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from headish.content.drafts import Draft, make_checked_draft, make_draft, make_plain_draft, make_read_draft, with_reply
from headish.content.encoding import decode_payload, decode_payloads, encode_payload, read_block, read_call
from headish.content.forms.parts import FORM, Losses, arguments_of
from headish.content.forms.reading import Read, read_turn
from headish.content.forms.table import find_form
from headish.content.forms.writing import is_form, write_turn
from headish.content.secrecy.finding import find_secret
from headish.content.strictjson import check as check_json
from headish.content.strictjson import encode as encode_json
from headish.content.strictjson import plain as plain_json
from headish.errors import CorruptTurn, InvalidContent
from headish.store.transactions.reading import SpokenTurn
from headish.values.blocks import (
    ContentBlock,
    Document,
    Erased,
    KnownBlock,
    Mark,
    Other,
    ProviderBlock,
    Text,
    Thinking,
    ToolDefinitions,
    ToolResult,
    ToolUse,
    erased_in,
    to_mapping,
)
from headish.values.grammar import parse_headish
from headish.values.ids import TurnId
from headish.values.limits import MAPPING_LIMIT_BYTES
from headish.values.messages import NO_ATTRIBUTES, Message
from headish.values.names import Absent, check_name
from headish.values.results.objects import USAGE
from headish.values.results.threads import TranscriptMessage

__all__ = [
    "FORM",
    "MAPPING_LIMIT_BYTES",
    "NO_ATTRIBUTES",
    "USAGE",
    "ContentBlock",
    "Document",
    "Draft",
    "Erased",
    "KnownBlock",
    "Mark",
    "Message",
    "Other",
    "ProviderBlock",
    "Read",
    "SpokenTurn",
    "Text",
    "Thinking",
    "ToolDefinitions",
    "ToolResult",
    "ToolUse",
    "TranscriptMessage",
    "TurnId",
    "arguments_of",
    "check_json",
    "decode_json",
    "decode_payload",
    "decode_payloads",
    "encode_json",
    "encode_payload",
    "erased_in",
    "find_secret",
    "is_form",
    "is_plain",
    "is_sayable",
    "make_checked_draft",
    "make_draft",
    "make_plain_draft",
    "make_read_draft",
    "message_of",
    "message_of_draft",
    "place",
    "plain_json",
    "read_block",
    "read_call",
    "read_form",
    "to_mapping",
    "with_app",
    "with_reply",
    "write_form",
]  # fmt: skip

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def decode_json(data: bytes | None) -> dict[str, Any]:
    """Decode the stored JSON of a turn's ``system`` or ``app``; empty if there is none."""
    return {} if data is None else _decode(data)


def message_of(turn: SpokenTurn) -> TranscriptMessage:
    """The message of a turn that is not erased, with headish's own keys of the turn. Raises: CorruptTurn."""
    try:
        assert turn.payload is not None
        message = Message(role=turn.role or None, content=decode_payload(turn.payload), turn=turn.id)
        return TranscriptMessage(message, decode_json(turn.system))
    except (InvalidContent, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CorruptTurn(turn.id, str(error)) from None


def message_of_draft(draft: Draft) -> TranscriptMessage:
    """The message of a draft as a reader will get it, to compare it with the original."""
    message = Message(role=draft.said.role, content=decode_payload(draft.payload))
    return TranscriptMessage(message, decode_json(draft.system))


def is_plain(turns: Sequence[SpokenTurn]) -> bool:
    """Whether a model sees these turns as they are: no overlay is among them, and no turn is hidden."""
    # By the bytes, without decoding: a false alarm only takes the slower way.
    return not any(
        each.type == "overlay" or (each.attributes is not None and b'"hidden"' in each.attributes) for each in turns
    )


def is_sayable(block: ContentBlock) -> bool:
    """Whether a form can express a block. No form has erased blocks, or those of transcripts alone."""
    return not isinstance(block, Erased | Mark | ToolDefinitions | Other)


def place(
    draft: Draft,
    *,
    continues: str | int | None = None,
    bookmark: str | None = None,
    force: bool = False,
    expect: TurnId | Absent | None = None,
) -> Draft:
    """Return the draft with its place: ``continues``, a headish or the index of an earlier draft of the same call, and
    the name that it moves. Raises: InvalidHeadish, InvalidName."""
    behind = () if continues is None else (continues if isinstance(continues, int) else parse_headish(continues),)
    name = None if bookmark is None else check_name(bookmark, is_new=True)
    return replace(draft, continues=behind, bookmark=name, force=force, expect=expect)


def with_app(draft: Draft, app: Mapping[str, Any]) -> Draft:
    """Return the draft with an adapter's own keys in ``meta``. headish does not search them for API keys: they repeat a
    framework's words, and no run may fail because of them."""
    return replace(draft, app=encode_json(app))


def read_form(form: str, entry: Any) -> Read | None:
    """Read an entry of a form as a turn: its role, its blocks, and how it was written. None if it is not a message.

    ``make_read_draft`` makes a draft of the result. Raises: InvalidContent, UnknownFormat.
    """
    return read_turn(entry, {"form": form})


def write_form(form: str, kept: TranscriptMessage) -> list[Any]:
    """Write a message in a form: as the entry that it was read from, else as entries that say the same. Blocks that
    only another provider understands are left out. Raises: Unmappable."""
    target = find_form(form)
    return write_turn(target, kept, Losses(target.name, target.provider))[0]
