"""The forms by name, and how headish recognises the form of a list by its shape.

Only shapes that no other form has, and that are not neutral blocks, decide. An entry that could be of any form (a text,
a list of texts) has none, and is stored as it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headish.content.forms.anthropic import ANTHROPIC
from headish.content.forms.chat import CHAT
from headish.content.forms.cohere import COHERE
from headish.content.forms.gemini import GEMINI
from headish.content.forms.parts import Form
from headish.content.forms.responses import CLIENT_ITEMS, RESPONSES
from headish.errors import InvalidArgument, UnknownFormat
from headish.values.blocks import KINDS

FORMS: dict[str, Form] = {form.name: form for form in (CHAT, RESPONSES, ANTHROPIC, GEMINI, COHERE)}
"""All forms. Their names are those of ``export --to`` and ``record --form``."""

_CHAT_KEYS = frozenset(
    ("tool_calls", "function_call", "refusal", "reasoning_content", "reasoning_details", "tool_call_id", "audio",
     "annotations")
)  # fmt: skip
_COHERE_KEYS = frozenset(("tool_plan", "citations"))
_PARTS: dict[str, str] = {
    **dict.fromkeys(("image_url", "input_audio", "file", "video_url", "audio_url", "refusal"), "chat"),
    **dict.fromkeys(("input_text", "output_text", "input_image", "input_file"), "responses"),
    **dict.fromkeys(
        ("image", "redacted_thinking", "search_result", "server_tool_use", "container_upload", "compaction",
         "mcp_tool_use", "mcp_tool_result", "tool_reference"),
        "anthropic",
    ),
}  # fmt: skip
"""The types of parts that only one form has, and that form."""
_ITEMS = CLIENT_ITEMS | frozenset(
    ("message", "reasoning", "function_call", "function_call_output", "item_reference", "compaction", "program",
     "program_output", "image_generation_call", "mcp_list_tools", "mcp_approval_request", "mcp_call",
     "custom_tool_call", "tool_search_call", "tool_search_output", "file_search_call", "web_search_call",
     "computer_call", "code_interpreter_call", "local_shell_call", "shell_call", "apply_patch_call")
)  # fmt: skip


def find_form(name: str) -> Form:
    """The form of a name. Raises: UnknownFormat, InvalidArgument."""
    if not isinstance(name, str):
        raise InvalidArgument(f"form is the name of a form ({', '.join(FORMS)}), not {type(name).__name__}")
    if name not in FORMS:
        raise UnknownFormat(name, tuple(FORMS))
    return FORMS[name]


def tell_form(entries: Iterable[Any]) -> Form | None:
    """The form of a list, by the first entry that only one form can have; None if there is no such entry."""
    names = [name for entry in entries if isinstance(entry, Mapping) and (name := _tell_entry(entry)) is not None]
    if not names:
        return None
    # These two win, wherever their entry is: Cohere's messages look like Chat's except for a few keys, and gateways
    # take Anthropic's cache marks in messages of Chat.
    return FORMS[next((name for name in ("cohere", "chat") if name in names), names[0])]


def tell_content(content: Any) -> Form | None:
    """The form of the parts of one message."""
    name = _tell_parts(content)
    return None if name is None else FORMS[name]


def _tell_entry(entry: Mapping[str, Any]) -> str | None:
    if isinstance(entry.get("parts"), list) and "content" not in entry:
        return "gemini"
    kind = entry.get("type")
    if isinstance(kind, str) and kind in _ITEMS:
        return "responses"
    if entry.keys() & _COHERE_KEYS:
        return "cohere"
    if entry.keys() & _CHAT_KEYS or (entry.get("role") in ("tool", "function") and "name" in entry):
        return "chat"
    return _tell_parts(entry.get("content"))


def _tell_parts(content: Any) -> str | None:
    for part in content if isinstance(content, list) else ():
        name = _tell_part(part) if isinstance(part, Mapping) else None
        if name is not None:
            return name
    return None


def _tell_part(part: Mapping[str, Any]) -> str | None:
    kind, source = part.get("type"), part.get("source")
    if not isinstance(kind, str):
        return None
    if kind in KINDS:
        return _tell_known(kind, part, source)
    if kind.endswith("_tool_result"):
        return "anthropic"
    return _PARTS.get(kind)


def _tell_known(kind: str, part: Mapping[str, Any], source: Any) -> str | None:
    """The form of a part whose type is also that of a neutral block."""
    if "cache_control" in part:
        return "anthropic"
    if kind == "thinking" and "signature" in part and "thinking" in part and "provider" not in part:
        return "anthropic"
    if kind == "document" and isinstance(source, Mapping):
        is_file = source.get("type") == "file" and "provider" not in source
        is_own = is_file or source.get("type") in ("text", "content")
        return "anthropic" if is_own or part.keys() & {"title", "context", "citations"} else None
    if kind == "document" and isinstance(part.get("document"), Mapping):
        return "cohere"
    try:
        return _tell_parts(part.get("content")) if kind == "tool_result" else None
    except RecursionError:
        return None  # the reader of the blocks refuses them: they are nested too deep
