"""Prints a digest of many requests and replies: run under several hash seeds, it must print the same.

Run by tests/providers/test_all.py.
"""

from __future__ import annotations

import hashlib
import json

import msgspec

from headish.errors import Unsupported
from headish.providers import PROVIDERS, Stream, lint, prepare_request
from support.providers.windows import read_message

CALLS = [{"type": "tool_use", "name": name, "input": {"b": 1, "a": [2]}} for name in ("a.b", "c d", "e")]
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hi"}], "cache": True, "attributes": {"speaker": "Ada"}},
    {"role": "assistant", "content": CALLS, "turn": "03h9y0v2b3kwwnz05szmqutr9"},
    {"role": "tool", "content": [{"type": "tool_result", "name": "e", "content": "4", "is_error": True}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "gone", "content": "5"}]},
    {"role": "assistant", "content": [{"type": "thinking", "text": "Hm.", "signature": "x", "provider": "gemini"}]},
]
TOOLS = [{"name": "a.b", "inputSchema": {"$schema": "x", "format": "y"}, "title": "t", "annotations": {}, "_meta": {}}]
OPTIONS = {"servers": ["x"], "colour": 1, "shape": 2, "params": {"size": 3, "max_tokens": 5, "weight": 4}}


def main() -> None:
    digest = hashlib.sha256()
    messages = [read_message(message) for message in MESSAGES]
    for provider in PROVIDERS:
        window = {"messages": messages, "options": OPTIONS}
        try:
            digest.update(msgspec.json.encode(prepare_request(provider, window, tools=TOOLS)))
        except Unsupported as error:
            digest.update(str(error).encode())
        digest.update(msgspec.json.encode(lint(provider, window, TOOLS)))
        stream = Stream(provider)
        for event in ({"type": "new", "z": 1, "a": 2}, {"error": {"message": "no", "type": "x"}}):
            stream.feed(json.loads(json.dumps(event)))
        digest.update(msgspec.json.encode(stream.finish().to_meta()))
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
