"""Against the real thing: what Harmony's own parser makes of a text, and what it writes.

What openai-harmony 0.0.8 said of each sample case is recorded beside it (``.peer.json``) and needs nothing installed.
The parser itself runs where it is installed and its vocabulary lies in the folder that TIKTOKEN_ENCODINGS_BASE names;
it is never fetched.
"""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from headish.errors import HeadishError, InvalidTranscript
from headish.transcripts import emit, parse
from headish.transcripts.openchatml.forms import FORMS
from headish.transcripts.openchatml.frames import write_message
from headish.values.messages import Message
from support.shared import TRANSCRIPTS, needs_shared

VOCABULARY = Path(os.environ.get("TIKTOKEN_ENCODINGS_BASE", "")) / "o200k_base.tiktoken"
needs_peer = pytest.mark.skipif(
    importlib.util.find_spec("openai_harmony") is None or not VOCABULARY.is_file(),
    reason="install openai-harmony, and set TIKTOKEN_ENCODINGS_BASE to a folder that holds o200k_base.tiktoken",
)
CASES = sorted(path.with_suffix("").with_suffix("") for path in TRANSCRIPTS.glob("harmony/*.peer.json"))


def said(message: Message) -> dict[str, Any]:
    """A message as Harmony's parser describes one."""
    header, texts, _ = write_message(message, FORMS["harmony"])
    content_type = f"<|constrain|>{header.constrain}" if header.constrain else header.content_type
    described = {
        "role": header.role, "name": header.name, "recipient": header.to, "channel": header.channel,
        "content_type": content_type, "content": "".join(text.text for text in texts),
    }  # fmt: skip
    return {key: value for key, value in described.items() if value is not None}


def settings(case: Path) -> dict[str, Any]:
    path = Path(f"{case}.opts.json")
    options: dict[str, Any] = json.loads(path.read_text()).get("parse", {}) if path.exists() else {}
    return options


@needs_shared
@pytest.mark.parametrize("case", CASES or [None], ids=lambda case: case.name if case else "none")
def test_what_its_parser_reads_we_read_the_same(case: Path) -> None:
    peer = json.loads(Path(f"{case}.peer.json").read_text())
    try:
        ours = parse(Path(f"{case}.txt").read_bytes(), "harmony", **settings(case))
    except InvalidTranscript:
        # It guesses where we refuse: a channel that nobody knows, a text without its end.
        assert "error" in peer or case.name in ("wild-question", "td-tool_response_parsing")
        return
    if "error" in peer:  # what it refuses and we read: an open header, or layout that we do not write
        assert ours.pending is not None or emit(ours, "harmony").encode() != Path(f"{case}.txt").read_bytes()
        return
    theirs = [{key: value for key, value in message.items() if value is not None} for message in peer["messages"]]
    assert [said(message) for message in ours.messages] == theirs


@needs_peer
@needs_shared
def test_what_we_write_its_parser_reads_the_same() -> None:
    import openai_harmony as harmony

    encoding = harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
    for case in CASES:
        try:
            ours = parse(Path(f"{case}.txt").read_bytes(), "harmony", **settings(case))
            text = emit(replace(ours, pending=None), "harmony")
        except HeadishError:
            continue
        tokens = encoding.encode(text, allowed_special="all")
        read = encoding.parse_messages_from_completion_tokens(tokens, None)
        theirs = ["".join(part.text for part in message.content) for message in read]
        assert theirs == [said(message)["content"] for message in ours.messages], case.name
