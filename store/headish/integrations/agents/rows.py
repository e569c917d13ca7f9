"""Make the items of plain turns from their rows, many at once: one decoding for the blocks of all, one for the shapes.

Nearly every turn of a session is plain: a text, or an item of a shape, without anything that a form would need.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headish.adapters.messages import ContentBlock, SpokenTurn, decode_payloads
from headish.integrations.agents.items import is_plain_text
from headish.integrations.agents.shapes import Item, write_shape

_TOGETHER = 100
"""The number of turns that are decoded at once: if one of them is odd, only this many are decoded one by one."""


class _ShapeBeside(msgspec.Struct):
    shape: str | None = None
    id: str | None = None


class _AgentsApp(msgspec.Struct, forbid_unknown_fields=True):
    agents: _ShapeBeside


_NOTHING = b"null"
_decode_apps = msgspec.json.Decoder(list[_AgentsApp | None]).decode


def items_of_plain(turns: Sequence[SpokenTurn]) -> list[Item | None]:
    """The item of each turn; None for a turn that needs ``loading.items_of_turn``, or is damaged."""
    bare = [each for each in turns if _is_bare(each)]
    items: list[Item | None] = []
    for first in range(0, len(bare), _TOGETHER):
        portion = bare[first : first + _TOGETHER]
        items += _together(portion) or [item for each in portion for item in _together([each]) or [None]]
    if len(bare) == len(turns):
        return items
    each_made = iter(items)
    return [next(each_made) if _is_bare(each) else None for each in turns]


def _is_bare(turn: SpokenTurn) -> bool:
    """Whether a turn has blocks, and nothing beside them but the application's meta."""
    return turn.type is None and turn.system is None and turn.attributes is None and turn.payload is not None


def _together(turns: Sequence[SpokenTurn]) -> list[Item | None] | None:
    """The items of bare turns; None if the typed decoders refuse one of them."""
    contents = decode_payloads([each.payload for each in turns if each.payload is not None])
    apps = None if contents is None else _read_apps([each.app for each in turns])
    if contents is None or apps is None:
        return None
    return [_item(turn.role, content, app) for turn, content, app in zip(turns, contents, apps, strict=True)]


def _item(role: str, content: tuple[ContentBlock, ...], app: _AgentsApp | None) -> Item | None:
    if len(content) != 1:
        return None
    [block] = content
    if app is not None:
        return write_shape(block, app.agents.shape, app.agents.id)
    return {"role": role, "content": block.text} if is_plain_text(block, role) else None


def _read_apps(apps: Sequence[bytes | None]) -> list[_AgentsApp | None] | None:
    try:
        decoded = _decode_apps(b"[%b]" % b",".join([_NOTHING if app is None else app for app in apps]))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    # Damaged rows, such as ``null,null``, may decode to more entries than there are turns.
    return decoded if len(decoded) == len(apps) else None
