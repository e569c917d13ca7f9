"""Write the pages of the providers: what each kind of block, parameter and stop reason becomes.

Every cell shows what the code makes of a small window, so a page cannot differ from the code.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

from headish.content.forms.limits import MB, MEDIA
from headish.providers import PROVIDERS, lint, prepare_request
from headish.providers.registry import find_provider
from headish.providers.shared.parameters import NATIVE, PARAMETERS

NOTE = "<!-- Written by docs/generate.py; change the code and run `make docs`. -->\n\n"
LIKE = {"cerebras": "openai"}
"""Providers whose requests are those of another except for some rows; their page shows only these rows."""
TITLES = {
    "anthropic": "Anthropic Messages", "openai": "OpenAI Chat Completions", "openai_responses": "OpenAI Responses",
    "gemini": "Gemini generateContent", "cohere": "Cohere v2 chat", "cerebras": "Cerebras chat completions",
}  # fmt: skip

PIXEL = "iVBORw0KGgo="  # the signature of a PNG, without a picture


def _document(media_type: str, data: str = PIXEL, **more: str) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}, **more}


def _at(kind: str, media_type: str | None, **source: str) -> dict[str, Any]:
    type_field = {} if media_type is None else {"media_type": media_type}
    return {"type": "document", "source": {"type": kind, **source, **type_field}}


def _said(role: str, *blocks: Any, **more: Any) -> list[dict[str, Any]]:
    first = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    return [*([first] if role == "assistant" else []), {"role": role, "content": list(blocks), **more}]


def _result(*content: Any, **more: Any) -> list[dict[str, Any]]:
    result = {"type": "tool_result", "tool_use_id": "c1", "name": "f", "content": list(content), **more}
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
    return [*_said("assistant", call), {"role": "tool", "content": [result]}]


TEXT = {"type": "text", "text": "Hi"}
CSV = _document("text/csv", "YSxi")
BLOCKS: dict[str, list[dict[str, Any]]] = {
    "text of the user": _said("user", TEXT),
    "text of the assistant": _said("assistant", TEXT),
    "a blank text": _said("user", TEXT, {"type": "text", "text": " "}),
    "text of the system": [*_said("system", TEXT), *_said("user", TEXT)],
    "text of the system, inside": [*_said("user", TEXT), *_said("system", TEXT), *_said("user", TEXT)],
    "text of the developer": [*_said("developer", TEXT), *_said("user", TEXT)],
    "several texts of the assistant": _said("assistant", TEXT, TEXT),
    "a picture (PNG, JPEG, WebP)": _said("user", _document("image/png")),
    "a GIF": _said("user", _document("image/gif")),
    "a picture of another type (HEIC)": _said("user", _document("image/heic")),
    "a PDF": _said("user", _document("application/pdf", name="a.pdf")),
    "a text document (CSV, JSON, XML, Markdown)": _said("user", CSV),
    "an office document (docx)": _said("user", _document(
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document")),
    "a text document with a name": _said("user", _document("text/markdown", "YSxi", name="a.md")),
    "an SVG picture": _said("user", _document("image/svg+xml", "PHN2Zy8+")),
    "a recording (WAV, MP3)": _said("user", _document("audio/wav")),
    "a film (MP4)": _said("user", _document("video/mp4")),
    "any other document (zip)": _said("user", _document("application/zip")),
    "a picture at a URL": _said("user", _at("url", "image/*", url="https://example.org/a.png")),
    "a PDF at a URL": _said("user", _at("url", "application/pdf", url="https://example.org/a.pdf")),
    "a text at a URL": _said("user", _at("url", "text/plain", url="https://example.org/a.txt")),
    "a file that it keeps": _said("user", _at("file", None, file_id="file-1", provider="OWN")),
    "a file that another keeps": _said("user", _at("file", None, file_id="file-1", provider="another")),
    "a picture of the assistant": _said("assistant", TEXT, _document("image/png")),
    "a call": [*_said("assistant", {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}),
               {"role": "tool", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [TEXT]}]}],
    "a call without a result": _said("assistant", {"type": "tool_use", "id": "c1", "name": "f", "input": {}}),
    "a result of several texts": _result(TEXT, TEXT),
    "an empty result": _result(),
    "a failed result": _result(TEXT, is_error=True),
    "a result with a picture": _result(TEXT, _document("image/png")),
    "a result with a PDF": _result(_document("application/pdf")),
    "a result without a call": _said("user", {"type": "tool_result", "tool_use_id": "c9", "content": [TEXT]}),
    "its own reasoning, signed": _said(
        "assistant", {"type": "thinking", "text": "Hm.", "signature": "c2ln", "provider": "OWN"}, TEXT),
    "another's reasoning": _said("assistant", {"type": "thinking", "text": "Hm.", "provider": "another"}, TEXT),
    "a block of its own": _said("assistant", {"type": "provider", "provider": "OWN", "data": {"type": "new"}}, TEXT),
    "a block of another": _said("assistant", {"type": "provider", "provider": "another", "data": {}}, TEXT),
    "a block that nobody knows": _said("user", {"type": "hologram"}),
    "a cache flag": _said("user", TEXT, cache=True),
}  # fmt: skip
_ANSWERS = [case[2:] for name, case in BLOCKS.items() if name != "a call" and case[-1]["role"] == "tool"]
"""The messages of a tool result in ``BLOCKS``, without the greeting and the call that lead to it."""
OPTIONS: dict[str, tuple[dict[str, Any], bool]] = {
    "`search: true`": ({"search": True}, False),
    "`search: true`, with tools": ({"search": True}, True),
    "`tool_mode: auto`": ({"tool_mode": "auto"}, True),
    "`tool_mode: any`": ({"tool_mode": "any"}, True),
    "`tool_mode: none`": ({"tool_mode": "none"}, True),
    "`tool_mode: f`, the name of a tool": ({"tool_mode": "f"}, True),
    "`tool_mode` without tools": ({"tool_mode": "auto"}, False),
}
_INTEGER = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOL = {"name": "f", "description": "Does it.", "inputSchema": _INTEGER}
EXAMPLES: dict[str, Any] = {
    "max_tokens": 100, "temperature": 0.2, "top_p": 0.9, "top_k": 40, "seed": 7, "frequency_penalty": 0.5,
    "presence_penalty": 0.5, "stop_sequences": ["END"], "effort": "low", "schema": {"type": "object"},
    "parallel_tool_calls": False, "strict": True,
}  # fmt: skip


def write_provider(provider: str) -> str:
    """Return the text of a provider's page."""
    entry = find_provider(provider)
    package = __import__(f"headish.providers.{provider}", fromlist=["x"])
    about = re.sub(r"``(.+?)``", r"`\1`", inspect.getdoc(package) or "")
    parts = [f"# `{provider}`: {TITLES[provider]}\n\n", NOTE, about, "\n\n"]
    usual = LIKE.get(provider)
    parts += ["## Blocks\n\nWhat each becomes in the body. In italics, the note of `Request.notes`; what is refused ",
              "raises `Unsupported`.\n"]  # fmt: skip
    if usual is not None:
        parts += [
            f"Blocks and options that are missing here go out, or are refused, [as for `{usual}`]({usual}.md#blocks).\n"
        ]
    blocks, options = _block_rows(provider), _option_rows(provider)
    if usual is not None:
        blocks = [row for row in blocks if row not in _block_rows(usual)]
        options = [row for row in options if row not in _option_rows(usual)]
    parts += ["\n| in the thread | in the request |\n|---|---|\n", *blocks]
    parts += ["\n## Options\n"]
    parts += ["\n| option | in the request |\n|---|---|\n", *options] if options else []
    native = ", ".join(f"`{name}`" for name in NATIVE[provider])
    parts += [f"\nIts own parameters, beside those or under `params.{provider}`: {native}. ",
              f"Anything else goes under `params.{provider}`, and is sent as it is.\n"]  # fmt: skip
    parts += [f"\n## Tools\n\n```json\n{_tool(provider)}\n```\n"]
    parts += ["\n## Why an answer ended\n\n| it says | `stop_reason` |\n|---|---|\n"]
    parts += [f"| `{word}` | `{reason}` |\n" for word, reason in entry.reader.stops.items()]
    parts += [f"| anything else | `{entry.reader.odd_stop}` |\n"]
    return "".join(parts)


def _block_rows(provider: str) -> list[str]:
    return [f"| {_cell(name)} | {_outcome(provider, messages)} |\n" for name, messages in BLOCKS.items()]


def _option_rows(provider: str) -> list[str]:
    options = [f"| {name} | {_option(provider, *given)} |\n" for name, given in OPTIONS.items()]
    return [*options, *(f"| `params.{name}` | {_parameter(provider, name)} |\n" for name in PARAMETERS)]


def write_overview() -> str:
    """Return the overview: one table of all providers, and the media that they take."""
    head = "| | " + " | ".join(f"[`{each}`]({each}.md)" for each in PROVIDERS) + " |\n|---|" + "---|" * len(PROVIDERS)
    words = {_cell(name): [_word(each, messages) for each in PROVIDERS] for name, messages in BLOCKS.items()}
    words |= {name: [_option_word(each, *given) for each in PROVIDERS] for name, given in OPTIONS.items()}
    words |= {f"`params.{name}`": [_parameter_word(each, name) for each in PROVIDERS] for name in PARAMETERS}
    rows = [f"| {name} | {' | '.join(said)} |" for name, said in words.items() if len(set(said)) > 1]
    rows.append("\nAll of them treat these alike:\n")
    for kind in ("sent", "noted", "refused"):
        alike = "; ".join(name for name, said in words.items() if set(said) == {kind})
        rows.append(f"- *{kind}*: {alike}")
    legend = ("*sent*: it goes out; *noted*: it is altered, moved or left out, with a note; *refused*: `Unsupported` "
              "names it.\n\n")  # fmt: skip
    more = ("What is refused, and why, [is listed](refused.md); servers that speak like OpenAI's Chat Completions have "
            "[dialects](dialects/README.md).\n\n")  # fmt: skip
    return "# Providers\n\n" + NOTE + more + legend + head + "\n" + "\n".join(rows) + "\n" + _write_media()


def _write_media() -> str:
    """The table of the media that each API takes, with the source of each row."""
    parts = ["\n## Media\n\nEvery API takes text documents (an SVG picture is one), as text, under their names. ",
             "Anything else that is not in its row is refused before a request is sent.\n\n",
             "| | bytes of the types | at a URL | a file that it keeps | fits | images | source | read |\n",
             "|---|---|---|---|---|---|---|---|\n"]  # fmt: skip
    for provider, row in MEDIA.items():
        fits = [f"{kind} {size // MB} MB" for kind, size in row.limit_bytes.items()]
        fits += [] if row.total_bytes is None else [f"all {row.total_bytes // MB} MB"]
        cells = [", ".join(f"`{each}`" for each in row.types), ", ".join(row.urls), ", ".join(row.files)]
        cells += [", ".join(fits), str(row.image_limit or ""), row.source, row.read]
        parts.append(f"| `{provider}` | " + " | ".join(cells) + " |\n")
    return "".join(parts)


def _own(provider: str, messages: Any) -> Any:
    return json.loads(json.dumps(messages).replace('"OWN"', json.dumps(provider)))


def _findings(provider: str, messages: Any, options: dict[str, Any], tools: Any = None) -> list[Any]:
    findings = lint(provider, {"messages": _own(provider, messages), "options": options}, tools)
    # This note is about the small window, which ends with an answer, and not about the block.
    return [each for each in findings if "models without prefill" not in each.what]


def _word_for(findings: list[Any]) -> str:
    if any(each.kind == "refused" for each in findings):
        return "refused"
    return "noted" if findings else "sent"


def _word(provider: str, messages: Any) -> str:
    return _word_for(_findings(provider, messages, {}, [TOOL]))


def _option_word(provider: str, options: dict[str, Any], tools: bool) -> str:
    return _word_for(_findings(provider, _said("user", TEXT), options, [TOOL] if tools else None))


def _parameter_word(provider: str, name: str) -> str:
    return _option_word(provider, {"params": {name: EXAMPLES[name]}}, True)


def _outcome(provider: str, messages: Any) -> str:
    findings = _findings(provider, messages, {}, [TOOL])
    refused = [each for each in findings if each.kind == "refused"]
    if refused:
        return f"refused: {_cell(refused[0].what)}"
    request = prepare_request(provider, {"messages": _own(provider, messages), "options": {}}, tools=[TOOL])
    parts = [_code(part) for part in _parts(request.body, request.sources.list_name, messages)]
    notes = [f"*{_cell(each.what)}*" for each in findings]
    return "<br>".join([*parts, *notes])


def _parts(body: dict[str, Any], list_name: str, messages: list[dict[str, Any]]) -> Iterator[Any]:
    """The parts of a small request that matter: its instructions, if in a field of their own, and its messages.

    It leaves out messages that only make the thread valid: a greeting, the call of a result, and the message after
    instructions in a field of their own.
    """
    heads = [key for key in ("system", "systemInstruction", "instructions") if key in body]
    yield from ({key: body[key]} for key in heads)
    leading = int(len(messages) > 1 and messages[1]["role"] == "assistant") + int(messages[2:] in _ANSWERS)
    if not heads or len(messages) > 2:
        yield from body[list_name][leading:]


def _option(provider: str, options: dict[str, Any], tools: bool) -> str:
    offered = [TOOL] if tools else None
    findings = _findings(provider, _said("user", TEXT), options, offered)
    refused = [each for each in findings if each.kind == "refused"]
    if refused:
        return f"refused: {_cell(re.sub(r'^params[.][a-z_]+: ', '', refused[0].what))}"
    window = {"messages": _said("user", TEXT), "options": options}
    body = prepare_request(provider, window, tools=offered).body
    plain = prepare_request(provider, {**window, "options": {}}, tools=offered).body
    changed = {key: value for key, value in body.items() if plain.get(key) != value}
    return "<br>".join([*([_code(changed)] if changed else []), *(f"*{_cell(each.what)}*" for each in findings)])


def _parameter(provider: str, name: str) -> str:
    return _option(provider, {"params": {name: EXAMPLES[name]}}, True)


def _tool(provider: str) -> str:
    window = {"messages": _said("user", TEXT), "options": {}}
    return json.dumps({"tools": prepare_request(provider, window, tools=[TOOL]).body["tools"]}, indent=1)


def _code(value: Any) -> str:
    return f"`{_cell(json.dumps(value, ensure_ascii=False))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
