"""Rows as headish stored LangChain's messages when both adapters and the importer had each a mapping of its own.

``rows.jsonl`` was written by the code of that time, from ``MESSAGES``: one line for each message, with the turns that
the chat history, the saver and the importer made of it. Used by the tests of the mapping and of both adapters.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from headish.content.encoding import decode_payload
from headish.values.blocks import ContentBlock
from headish.values.messages import Message
from headish.values.results.threads import TranscriptMessage


class OldRow(NamedTuple):
    """What stands in a turn."""

    role: str
    payload: str
    system: str = "{}"
    app: str | None = None

    @property
    def blocks(self) -> tuple[ContentBlock, ...]:
        return decode_payload(self.payload.encode())

    @property
    def beside(self) -> dict[str, Any]:
        """``meta.app``."""
        return dict(json.loads(self.app or "{}"))

    @property
    def kept(self) -> TranscriptMessage:
        return TranscriptMessage(Message(role=self.role, content=self.blocks), json.loads(self.system))


def read_rows(adapter: str) -> dict[str, OldRow]:
    """The rows of ``history``, ``saver`` or ``import``, by the names of the messages."""
    lines = (Path(__file__).parent / "rows.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["name"]: OldRow(**row[adapter]) for row in rows if adapter in row}
