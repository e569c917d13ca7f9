"""Messages of every type of LangChain, with content of every kind, as plain data: ``(type, fields)`` by their names.

Source: ``langchain_core.messages``, langchain-core 1.7.2; parts of APIs as their clients have them.
Used by the tests of the mapping, of both adapters and of the importer.
"""

from __future__ import annotations

from typing import Any

Fields = dict[str, Any]
DATA = "iVBORw0KGgo="
PDF = "JVBERi0="
PNG = f"data:image/png;base64,{DATA}"
CALL = {"name": "add", "args": {"b": 2, "a": [1, None]}, "id": "c1", "type": "tool_call"}
OTHER = {"name": "now", "args": {}, "id": "c2", "type": "tool_call"}
INVALID = {"name": "add", "args": '{"a": ', "id": "c3", "error": "cut off", "type": "invalid_tool_call"}
USE = {"type": "tool_use", "id": "c1", "name": "add", "input": {"b": 2, "a": [1, None]}}
USAGE = {
    "input_tokens": 10, "output_tokens": 3, "total_tokens": 13,
    "input_token_details": {"cache_read": 4}, "output_token_details": {"reasoning": 1},
}  # fmt: skip
TEXT = {"type": "text", "text": "So."}

PARTS: dict[str, Fields] = {
    "text": TEXT,
    "text with a cache mark": {**TEXT, "cache_control": {"type": "ephemeral"}},
    "text with annotations": {
        **TEXT, "id": "t1", "index": 0, "extras": {"x": 1},
        "annotations": [{"type": "citation", "url": "https://example.org", "title": "T", "cited_text": "So"}],
    },
    "text in another order": {"text": "So.", "type": "text"},
    "text with nothing": {**TEXT, "annotations": []},
    "reasoning": {"type": "reasoning", "reasoning": "Hm.", "id": "r1", "index": 0, "extras": {"signature": "c2ln"}},
    "reasoning of Responses": {
        "type": "reasoning", "id": "rs_1", "encrypted_content": "eA==",
        "summary": [{"type": "summary_text", "text": "Hm."}],
    },
    "reasoning without words": {"type": "reasoning", "id": "r1"},
    "signed thinking": {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    "unsigned thinking": {"type": "thinking", "thinking": "Hm."},
    "redacted thinking": {"type": "redacted_thinking", "data": "eA=="},
    "image": {"type": "image", "base64": DATA, "mime_type": "image/png"},
    "image at a URL": {"type": "image", "url": "https://example.org/a.png", "id": "i1", "extras": {"detail": "low"}},
    "image in a file": {"type": "image", "file_id": "file-1"},
    "image as it was": {"type": "image", "source_type": "base64", "data": DATA, "mime_type": "image/png"},
    "image at a URL as it was": {"type": "image", "source_type": "url", "url": "https://example.org/a.png"},
    "image of Chat": {"type": "image_url", "image_url": {"url": PNG}},
    "image of Chat with detail": {"type": "image_url", "image_url": {"detail": "low", "url": PNG}},
    "image of Chat as a URL": {"type": "image_url", "image_url": PNG},
    "image of Anthropic": {
        "type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA},
        "cache_control": {"type": "ephemeral"},
    },
    "image of Responses": {"type": "input_image", "image_url": PNG, "detail": "auto"},
    "audio": {"type": "audio", "base64": "UklGRg==", "mime_type": "audio/wav"},
    "audio of Chat": {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    "video": {"type": "video", "url": "https://example.org/a.mp4", "mime_type": "video/mp4"},
    "file": {"type": "file", "base64": PDF, "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
    "file as it was": {
        "type": "file", "source_type": "base64", "data": PDF, "mime_type": "application/pdf",
        "filename": "a.pdf",
    },
    "file by its id as it was": {"type": "file", "source_type": "id", "id": "file-1"},
    "file of words as it was": {"type": "file", "source_type": "text", "text": "Ä.", "mime_type": "text/plain"},
    "file of Chat": {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
    "document of Anthropic": {
        "type": "document", "title": "A", "source": {"type": "text", "media_type": "text/plain", "data": "Words."},
    },
    "plain text": {"type": "text-plain", "text": "Wörds.", "mime_type": "text/plain", "title": "A", "context": "B"},
    "plain text as data": {"type": "text-plain", "base64": "V29yZHMu", "mime_type": "text/plain"},
    "tool call": {**CALL, "extras": {"x": 1}},
    "tool call of Anthropic": USE,
    "tool call that was streamed": {**USE, "index": 1, "partial_json": '{"b": 2, "a": [1, null]}'},
    "tool call of Responses": {
        "type": "function_call", "name": "add", "arguments": '{"b":2}', "call_id": "c1", "id": "fc_1",
    },
    "invalid tool call": INVALID,
    "piece of a tool call": {"type": "tool_call_chunk", "id": "c1", "name": "add", "args": "{", "index": 0},
    "server tool call": {"type": "server_tool_call", "id": "s1", "name": "web_search", "args": {"q": "x"}},
    "piece of a server tool call": {"type": "server_tool_call_chunk", "id": "s1", "args": "{", "index": 0},
    "server tool result": {"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": [1]},
    "server tool of Anthropic": {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
    "result of a server tool": {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    "search of Responses": {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    "result in the words of Anthropic": {"type": "tool_result", "tool_use_id": "c1", "content": "3"},
    "refusal": {"type": "refusal", "refusal": "No."},
    "citation": {"type": "citation", "url": "https://example.org"},
    "non-standard": {"type": "non_standard", "value": {"x": [1]}, "index": "lc_1"},
    "of the future": {"type": "dream", "of": "sheep"},
    "without a type": {"cachePoint": {"type": "default"}},
}  # fmt: skip
"""Parts of content by what they show."""

MESSAGES: dict[str, tuple[str, Fields]] = {
    "human": ("human", {"content": "Hi"}),
    "human, empty": ("human", {"content": ""}),
    "human, an empty list": ("human", {"content": []}),
    "human, named": ("human", {
        "content": "Hi", "name": "Ada", "id": "h1", "additional_kwargs": {"k": [1, 2.5, None, {"é": True}]},
    }),
    "human, a bare text in a list": ("human", {"content": ["bare", TEXT]}),
    "human, several parts": ("human", {"content": [PARTS["image of Chat"], PARTS["file"], TEXT]}),
    "system": ("system", {"content": "Be brief.", "id": "s1"}),
    "developer": ("system", {"content": "Be brief.", "additional_kwargs": {"__openai_role__": "developer"}}),
    "ai": ("ai", {
        "content": "Five.", "id": "a1", "usage_metadata": USAGE,
        "response_metadata": {"model_provider": "openai", "model_name": "gpt-x", "finish_reason": "stop"},
    }),
    "ai, calls": ("ai", {"content": "", "tool_calls": [CALL, OTHER]}),
    "ai, a call without an id": ("ai", {"content": "So", "tool_calls": [{**CALL, "id": None}]}),
    "ai, calls in the content": ("ai", {"content": [TEXT, USE], "tool_calls": [CALL]}),
    "ai, a call in the content with another input": ("ai", {"content": [{**USE, "input": {}}], "tool_calls": [CALL]}),
    "ai, an invalid call": ("ai", {"content": "So", "tool_calls": [OTHER], "invalid_tool_calls": [INVALID]}),
    "ai, calls of OpenAI once more": ("ai", {
        "content": "", "tool_calls": [OTHER], "additional_kwargs": {"refusal": None, "tool_calls": [
            {"id": "c2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
        ]},
    }),
    "ai, reasoning beside": ("ai", {
        "content": "Five.", "tool_calls": [CALL], "additional_kwargs": {"a": 1, "reasoning_content": "Hm.", "b": 2},
    }),
    "ai, a refusal beside": ("ai", {"content": "", "additional_kwargs": {"refusal": "No.", "parsed": None}}),
    "ai, named": ("ai", {"content": "Five.", "name": "calculator"}),
    "tool": ("tool", {"content": "3", "tool_call_id": "c1", "name": "add"}),
    "tool, failed, with an artifact": ("tool", {
        "content": "no", "tool_call_id": "c1", "status": "error", "artifact": {"rows": [1]},
    }),
    "tool, parts": ("tool", {"content": ["a", TEXT, PARTS["image"]], "tool_call_id": "c1"}),
    "function": ("function", {"content": "3", "name": "add"}),
    "chat": ("chat", {"content": "As somebody", "role": "critic"}),
    "chat, the model": ("chat", {"content": "As the model", "role": "assistant"}),
    "chat, a tool": ("chat", {"content": "3", "role": "tool"}),
    "piece of a human": ("HumanMessageChunk", {"content": "Hi"}),
    "piece of an ai": ("AIMessageChunk", {"content": "Fi", "tool_calls": [OTHER]}),
    "piece of a system": ("SystemMessageChunk", {"content": "Be"}),
    "piece of a tool": ("ToolMessageChunk", {"content": "3", "tool_call_id": "c1"}),
    "piece of a function": ("FunctionMessageChunk", {"content": "3", "name": "add"}),
    "piece of a chat": ("ChatMessageChunk", {"content": "As", "role": "critic"}),
    **{f"ai of {name}": ("ai", {"content": [part]}) for name, part in PARTS.items()},
    **{f"human of {name}": ("human", {"content": [TEXT, part]}) for name, part in PARTS.items()},
}  # fmt: skip
"""Messages by what they show."""
