"""Make the head of a text that headish writes: the YAML header, and the definitions of the tools.

Both come from the options of a thread. A text that was imported has its own head, which is written as it was.

Source: OpenChatML 2.2 §2, §4 and §16.2, 2.0 §2 and §8.2, 0.1 §8.1; Harmony's docs/format.md for the definitions, which
is the wording that gpt-oss was trained on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headish.transcripts.openchatml.forms import FORMS
from headish.transcripts.openchatml.namespaces import write_namespace
from headish.transcripts.shared.jsontext import quote
from headish.transcripts.shared.transcript import make_message
from headish.values.blocks import ContentBlock, Text, ToolDefinitions
from headish.values.messages import Message

HEADER_OPTIONS: dict[tuple[str, ...], str] = {
    ("model",): "model",
    ("generation_settings", "temperature"): "temperature",
    ("generation_settings", "top_p"): "top_p",
    ("generation_settings", "top_k"): "top_k",
    ("generation_settings", "max_tokens"): "max_tokens",
    ("generation_settings", "seed"): "seed",
    ("generation_settings", "stop_sequences"): "stop_sequences",
    ("generation_settings", "reasoning_effort"): "reasoning_effort",
}
"""The keys of a header that are options, each with its name under ``params`` (rule R15, importing a transcript)."""
# As MCP, Anthropic and OpenAI name the schema of the arguments.
_SCHEMA_KEYS = ("inputSchema", "input_schema", "parameters")


def read_options(header: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The options that a thread inherits from its header; the header itself is kept verbatim beside them."""
    params: dict[str, Any] = {}
    for path, option in HEADER_OPTIONS.items():
        value: Any = header
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            params[option] = value
    return {"params": params} if params else None


def header_in(format: str, header: dict[str, Any]) -> dict[str, Any] | None:
    """The header of a text in another format. None if it says only which format that was, and this one has no headers:
    then it says nothing of the conversation."""
    if _has_header(format):
        return {**header, "version": format}
    return None if header.keys() == {"version"} else header


def make_header(format: str, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Make the header of a text from the options of its thread; None for a format without headers."""
    if not _has_header(format):
        return None
    header: dict[str, Any] = {"version": format}
    params = options.get("params")
    for path, option in HEADER_OPTIONS.items():
        value = params.get(option) if isinstance(params, Mapping) else None
        if value is not None:
            place = header
            for key in path[:-1]:
                place = place.setdefault(key, {})
            place[path[-1]] = value
    return header


def _has_header(format: str) -> bool:
    return format in FORMS and FORMS[format].has_header


def define_tools(format: str, definitions: Sequence[Mapping[str, Any]]) -> Message | None:
    """Make the message that tells a model its tools; None without tools or if the format has no place for them.

    ``definitions`` are as MCP lists tools: name, description, and the JSON Schema of the arguments.
    """
    write = _WRITERS.get(format)
    if write is None or not definitions:
        return None
    role, block = write([_function(each) for each in definitions])
    return make_message(role, [block])


def _function(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition with the keys that OpenChatML 0.1 §8.1 gives it."""
    schema = next((definition[key] for key in _SCHEMA_KEYS if definition.get(key) is not None), None)
    described = {"name": definition.get("name"), "description": definition.get("description"), "parameters": schema}
    return {key: value for key, value in described.items() if value is not None}


def _write_list(functions: Sequence[Mapping[str, Any]]) -> tuple[str, ContentBlock]:
    listed = [{"type": "function", "function": function} for function in functions]
    return "system", ToolDefinitions("\n".join(json.dumps(each, ensure_ascii=False, indent=2) for each in listed))


def _write_schemas(functions: Sequence[Mapping[str, Any]]) -> tuple[str, ContentBlock]:
    lines = "\n".join(map(quote, functions))
    return "developer", Text(f"# Tools\n\n## functions\n\n{lines}")


def _write_namespace(functions: Sequence[Mapping[str, Any]]) -> tuple[str, ContentBlock]:
    return "developer", Text(f"# Tools\n\n## functions\n\n{write_namespace(functions)}")


_WRITERS: dict[str, Callable[[Sequence[Mapping[str, Any]]], tuple[str, ContentBlock]]] = {
    "v0.1": _write_list,
    "2.0": _write_schemas,
    "2.2": _write_namespace,
    "harmony": _write_namespace,
}
