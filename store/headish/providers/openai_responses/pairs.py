"""Calls and outputs that only the Responses API understands: which of them belong together.

The ledger pairs the calls of functions. Other calls that a client answers (a shell, a patch, a custom tool) are the
provider's own blocks, and so are their outputs. The API refuses one without the other, so such a block is sent only
where its other half stands in the thread too.

Source: the types of the official SDK, openai 3.54.0 (``ResponseInputItemParam``), read on 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headish.providers.shared.shapes import record, text
from headish.values.blocks import ProviderBlock
from headish.values.messages import Message

Pair = tuple[str, str]
"""The type of an output, and the id that it shares with its call."""

OUTPUTS = {
    "apply_patch_call": "apply_patch_call_output",
    "computer_call": "computer_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "tool_search_call": "tool_search_output",
}
"""Calls, and what answers them."""


class Pairs:
    """The calls of a thread that are answered behind them. Items are asked about in the order that they are sent in."""

    def __init__(self, messages: Iterable[Message], provider: str) -> None:
        self._answered: set[Pair] = set()
        self._called: set[Pair] = set()
        self._closed: set[Pair] = set()
        called: set[Pair] = set()
        for message in messages:
            for block in message.content:
                data = record(block.data) if isinstance(block, ProviderBlock) and block.provider == provider else {}
                pair = pair_of(data)
                if pair is not None and data["type"] in OUTPUTS:
                    called.add(pair)
                elif pair is not None and pair in called:
                    self._answered.add(pair)

    def admit(self, data: Mapping[str, Any]) -> bool:
        """Whether an item may be sent: it stands alone, or is a half whose other half is sent too, each once."""
        pair = pair_of(data)
        if pair is None:
            return True
        if data["type"] in OUTPUTS:
            fits, sent = pair in self._answered, self._called
        else:
            fits, sent = pair in self._called, self._closed
        if not fits or pair in sent:
            return False
        sent.add(pair)
        return True


def pair_of(data: Mapping[str, Any]) -> Pair | None:
    """What an item has to be paired by; None where it stands alone."""
    kind = text(data.get("type"))
    if data.get("execution") == "server":
        return None  # the server has searched among the tools by itself
    if kind in OUTPUTS or kind in OUTPUTS.values():
        # The output of a local shell has the id of its call, but no call_id.
        return OUTPUTS.get(kind, kind), text(data.get("call_id")) or text(data.get("id"))
    return None
