"""An answer that holds its calls and their results, as turns: each run of results is a tool's turn of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from headish.imports.building import Node

Block = Mapping[str, Any]


def cut(node: Node, blocks: Sequence[Block], key_of: Callable[[str], str | None]) -> list[Node]:
    """The message as turns, each behind the one before. The last has the message's id, so that what continues the
    message continues it; the first has its key, the others ``ID/2`` and on."""
    runs: list[list[Block]] = []
    for block in blocks:
        if runs and (block["type"] == "tool_result") == (runs[-1][-1]["type"] == "tool_result"):
            runs[-1].append(block)
        else:
            runs.append([block])
    if len(runs) < 2:
        return [_as_tool(replace(node, content=list(blocks) or None), runs)]
    made: list[Node] = []
    for number, run in enumerate(runs, 1):
        piece = replace(
            node, id=node.id if number == len(runs) else f"{node.id}/{number}", content=run,
            parent=node.parent if number == 1 else f"{node.id}/{number - 1}",
            key=node.key if number == 1 else key_of(f"{node.id}/{number}"),
            meta=node.meta if number == 1 else {"id": node.id, "piece": number},
            reply=node.reply if number == len(runs) else _uncounted(node.reply),
        )  # fmt: skip
        made.append(_as_tool(piece, [run]))
    return made


def _as_tool(node: Node, runs: Sequence[Sequence[Block]]) -> Node:
    is_tool = bool(runs) and runs[0][-1]["type"] == "tool_result"
    return replace(node, role="tool", reply=None, hidden=node.hidden) if is_tool else node


def _uncounted(reply: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The tokens of an answer count once: with its last turn."""
    return None if reply is None else {key: value for key, value in reply.items() if key not in ("usage", "stop")}
