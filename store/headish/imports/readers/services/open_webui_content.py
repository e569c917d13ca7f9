"""Read a message of Open WebUI: a text with reasoning and tool runs as HTML, or, in newer versions, a list of items.

``output`` holds items of the Responses API, and comes first; only the words of an answer that was edited are in
``content``. Without it, ``<details type="reasoning">`` is reasoning and ``<details type="tool_calls">`` a call with its
result; only the program writes them into an answer. Any other HTML is text.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headish.content.forms.foreign import read_kept
from headish.content.media import guess_media_type
from headish.errors import HeadishError
from headish.imports.readers.shared import make
from headish.imports.readers.shared.json_records import load
from headish.imports.readers.shared.make import Block
from headish.values import shapes
from headish.values.blocks import to_mapping

PROVIDER = "open-webui"
EDITED = "output of an answer that was edited"
# Bounded: of many tags without an end, each would be searched to the end of the text.
_DETAILS = re.compile(r'<details type="(reasoning|tool_calls|code_interpreter)"([^>]{0,1000000})>')
_END = "</details>"
_FACT = re.compile(r'(\w{1,40})="([^"]*)"')
_SUMMARY = re.compile(r"\A\s*<summary>[^<]*</summary>\n?")
_DATA_URL = re.compile(r"data:([^;,]{1,200})(?:;[^;,]{1,200})*;base64,(.*)", re.S)


def read_blocks(message: Mapping[str, Any]) -> tuple[list[Block], list[str]]:
    """Return the blocks of a message, and a sentence on each part that was kept unread. A message without words may
    hold an error."""
    blocks, unread = _read(message)
    if not blocks and message.get("error"):
        blocks = [make.own(PROVIDER, {"type": "error", "error": message["error"]})]
        unread.append("error in place of an answer")
    return blocks, unread


def _read(message: Mapping[str, Any]) -> tuple[list[Block], list[str]]:
    unread: list[str] = []
    files = [_file(each, unread) for each in shapes.listed(message.get("files")) if isinstance(each, Mapping)]
    output = message.get("output")
    if message["role"] == "assistant" and isinstance(output, list) and output:
        try:
            blocks = [each for item in output for each in _item(item)]
            edited = _edited(blocks, message.get("content"))
            unread += [EDITED] if edited is not None else []
            return [*(blocks if edited is None else edited), *files], unread
        except HeadishError:
            unread.append("output that is not an item of the Responses API")
    content = message.get("content")
    if isinstance(content, list):
        return [*files, *(each for part in content for each in _part(part, unread))], unread
    if not isinstance(content, str):
        return [*files, *(_part(content, unread) if content is not None else ())], unread
    # A user may write the same HTML, for instance in a question about it.
    blocks = list(_told(content)) if message["role"] == "assistant" else [make.text(content)]
    return [*files, *(block for block in blocks if block.get("text") != "")], unread


def _edited(blocks: Sequence[Block], content: Any) -> list[Block] | None:
    """Return the blocks of an answer that a person edited, None for any other: the program changes only the content,
    which is what the page shows. The calls and the reasoning stay as they are."""
    told = [block for block in _told(content) if block["type"] == "text"] if isinstance(content, str) else []
    if _letters(told) in _letters(blocks):  # the content may be only the last of the texts
        return None
    return [*(block for block in blocks if block["type"] != "text"), *(block for block in told if block["text"])]


def _letters(blocks: Iterable[Block]) -> str:
    """The texts without blanks: the program joins the same texts in several ways."""
    return "".join("".join(block["text"].split()) for block in blocks if block["type"] == "text")


def _item(item: Any) -> list[Block]:
    if not isinstance(item, Mapping):
        return [make.own(PROVIDER, item)]
    message = read_kept("responses", item)
    return [to_mapping(block) for block in message.blocks if getattr(block, "text", None) != ""]


def _part(part: Any, unread: list[str]) -> list[Block]:
    if isinstance(part, str):
        return [make.text(part)]
    try:
        return [to_mapping(block) for block in read_kept("chat", {"role": "user", "content": [part]}).blocks]
    except HeadishError:
        unread.append("part of a message")
        return [make.own(PROVIDER, {"type": "unknown", "value": part})]


def _told(content: str) -> Iterator[Block]:
    """Split the text of an answer into text and what it holds as HTML. A tag without its end is text."""
    at = 0
    while (found := _DETAILS.search(content, at)) is not None:
        end = content.find(_END, found.end())
        if end < 0:
            break
        yield make.text(content[at : found.start()].strip("\n"))
        yield from _detail(found[1], found[2], content[found.end() : end])
        at = end + len(_END)
    yield make.text(content[at:].strip("\n") if at else content)


def _detail(kind: str, facts: str, body: str) -> Iterator[Block]:
    attributes = {key: html.unescape(value) for key, value in _FACT.findall(facts)}
    if kind == "tool_calls" and attributes.get("name"):
        yield from _call(attributes, body)
        return
    lines = html.unescape(_SUMMARY.sub("", body)).strip("\n").split("\n")
    text = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
    attributes.pop("done", None)
    rest = attributes | ({"kind": kind} if kind != "reasoning" else {})
    yield make.thinking(text, PROVIDER, rest)


def _call(said: Mapping[str, str], body: str) -> Iterator[Block]:
    """Make a call, and its result if it has one: both are JSON inside an attribute, the arguments encoded twice."""
    id = shapes.name(said.get("id"))
    yield make.call(said["name"], id, load(said.get("arguments", "")))
    result = said["result"] if "result" in said else _SUMMARY.sub("", html.unescape(body)).strip()
    if said.get("done") != "false" and result:
        value = load(result)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield make.result(id, said["name"], [make.text(text)])


def _file(file: Mapping[str, Any], unread: list[str]) -> Block:
    """Convert a file of a message: its bytes or its text if the message has them, else its description."""
    url, name, inner = file.get("url"), file.get("name"), file.get("file")
    found = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if found is not None:
        return make.document(make.base64(found[1], found[2]), name)
    text = shapes.record(shapes.record(inner).get("data")).get("content")
    if isinstance(text, str) and text:
        encoded = text.encode(errors="replace")
        guessed = guess_media_type(encoded, name if isinstance(name, str) else None)
        media_type = guessed if guessed.startswith("text/") else "text/plain"  # the name may say PDF: this is its text
        return make.document(make.base64(media_type, encoded), name)
    unread.append("file without its bytes")
    return make.own(PROVIDER, {"type": "file", **{key: value for key, value in file.items() if key != "type"}})
