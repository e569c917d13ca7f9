"""Rows of data sets: one JSON object for each thread, in the format of one of three kinds of trainers.

All begin as messages of Chat Completions (``content/forms/chat``), so that one function spells an image or a call.

- ``openai-finetune``: ``{messages, tools?}`` of OpenAI's supervised fine-tuning, ``weight`` included.
- ``hf``: ``{messages, tools?}`` as the chat templates of Hugging Face read it: arguments are objects, images are parts.
- ``sharegpt``: ``{conversations: [{from, value}], tools?, images?}`` as LLaMA-Factory and axolotl read it.
  LLaMA-Factory skips a row whose people and answers do not take turns, so calls stand in one turn with the text before
  them, and so do their results.

Source: OpenAI's fine-tuning guide, the documents of transformers' chat templates, hiyouga/LLaMA-Factory:data/README.md;
read on 2026-11-22; LLaMA-Factory's src/llamafactory/data/converter.py, formatter.py and template.py, read on
2026-11-27.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

from headish.content import strictjson
from headish.content.forms.chat import CHAT
from headish.content.forms.writing import write_thread
from headish.errors import InvalidContent, Unmappable
from headish.transcripts.datasets.trainers import WEIGHT
from headish.transcripts.shared.jsontext import quote
from headish.values import shapes
from headish.values.results.threads import TranscriptMessage

Row = dict[str, Any]
Entry = Mapping[str, Any]
_CALLED, _OBSERVED = "function_call", "observation"
_SAYERS = {"system": "system", "developer": "system", "user": "human", "assistant": "gpt", "tool": _OBSERVED,
           "function": _OBSERVED}  # fmt: skip
_MEDIA = {"image_url": ("<image>", "images"), "video_url": ("<video>", "videos"), "audio_url": ("<audio>", "audios")}
"""For each medium of a chat message: its mark in the text, and the list of the row that gets its URL."""
_FINETUNE = ("role", "content", "name", "tool_calls", "function_call", "tool_call_id", "refusal", WEIGHT)


def write_row(
    thread: Sequence[TranscriptMessage], format: str, drop: Collection[str], tools: Sequence[Mapping[str, Any]] = ()
) -> Row:
    """A thread as a row; ``tools`` are definitions as MCP lists them.

    Raises: Unmappable with the words for ``drop`` that are needed.
    """
    try:
        entries = write_thread(CHAT, thread, drop).entries
    except Unmappable as error:  # name the row: the caller never asked for chat messages
        raise Unmappable(format, error.what, turn=error.turn, drop=error.drop, more=error.more) from None
    return ROWS[format](entries, [_function(tool) for tool in tools], drop)


def _write_finetune(entries: Sequence[Entry], tools: Sequence[Row], drop: Collection[str]) -> Row:
    for entry in entries:
        _refuse_further("openai-finetune", entry, _FINETUNE, drop)
    messages = [{key: value for key, value in entry.items() if key in _FINETUNE} for entry in entries]
    return {"messages": messages} | ({"tools": tools} if tools else {})


def _write_hf(entries: Sequence[Entry], tools: Sequence[Row], drop: Collection[str]) -> Row:
    return {"messages": [_hf_message(entry) for entry in entries]} | ({"tools": tools} if tools else {})


def _hf_message(entry: Entry) -> Row:
    message = {key: value for key, value in entry.items() if key != "function_call"}
    calls = _calls(entry)
    if calls:
        message["tool_calls"] = [{**call, "function": _with_object(call["function"])} for call in calls]
    if isinstance(entry.get("content"), list):
        message["content"] = [_hf_part(part) for part in entry["content"]]
    if message.get("content") is None:
        message["content"] = ""
    return message


def _hf_part(part: Any) -> Any:
    url = _url_of(part) if isinstance(part, Mapping) and part.get("type") == "image_url" else None
    return part if url is None else {"type": "image", "url": url}


def _url_of(part: Mapping[str, Any]) -> str | None:
    """The URL of a medium; None for a part that only has the type of one."""
    url = shapes.record(part.get(str(part.get("type")))).get("url")
    return url if isinstance(url, str) else None


def _with_object(function: Entry) -> Row:
    """The function with its arguments as an object, if their text is one that every reader takes: a model may write
    NaN, half a character, or a key twice."""
    said = function.get("arguments")
    try:
        arguments = strictjson.decode(said, "arguments") if isinstance(said, str) else None
    except InvalidContent:
        return dict(function)
    return {**function, "arguments": arguments} if isinstance(arguments, dict) else dict(function)


def _write_sharegpt(entries: Sequence[Entry], tools: Sequence[Row], drop: Collection[str]) -> Row:
    media: dict[str, list[str]] = {}
    turns = _joined([_sharegpt_turn(entry, media, drop) for entry in entries])
    for mark, key in _MEDIA.values():
        marks = sum(turn["value"].count(mark) for turn in turns)
        # A trainer takes each mark for the next medium of the list, even a mark that somebody typed.
        if media.get(key) and marks != len(media[key]):
            raise Unmappable("sharegpt", f"a text that holds {mark} beside media")
    functions = [tool["function"] for tool in tools]
    return {"conversations": turns} | media | ({"tools": quote(functions)} if functions else {})


def _sharegpt_turn(entry: Entry, media: dict[str, list[str]], drop: Collection[str]) -> Row:
    known = ("role", "content", "tool_calls", "function_call", "tool_call_id", "reasoning_content", WEIGHT)
    _refuse_further(
        "sharegpt", entry, (*known, *(("name",) if entry.get("role") in ("tool", "function") else ())), drop
    )
    weight = {WEIGHT: entry[WEIGHT]} if WEIGHT in entry else {}
    thought = entry.get("reasoning_content")
    text = _value(entry.get("content"), media, drop)
    calls = [_plain_call(call) for call in _calls(entry)]
    said = f"<think>\n{thought}\n</think>\n\n" if thought else ""
    if not calls:
        return {"from": _SAYERS[str(entry.get("role"))], "value": said + text, **weight}
    made = quote(calls[0] if len(calls) == 1 else calls)
    if "<tool_call>" in text + made or "</tool_call>" in text + made:
        raise Unmappable("sharegpt", "a text or an argument that holds a tag of calls beside calls")
    # LLaMA-Factory skips a row where a text and its calls are two turns, and finds calls beside a text by these tags.
    return {"from": _CALLED, "value": said + (f"{text}\n<tool_call>{made}</tool_call>" if text else made), **weight}


def _joined(turns: Sequence[Row]) -> list[Row]:
    """The turns, with results of one weight that follow one another as one turn, a list: a trainer takes one answer to
    each turn."""
    joined: list[Row] = []
    for (is_result, _), group in groupby(turns, key=lambda turn: (turn["from"] == _OBSERVED, turn.get(WEIGHT))):
        many = list(group)
        one = {**many[0], "value": quote([each["value"] for each in many])}
        joined += [one] if is_result and len(many) > 1 else many
    return joined


def _value(content: Any, media: dict[str, list[str]], drop: Collection[str]) -> str:
    """The text of a message, with a mark for each medium. The URLs of the media are added to ``media``."""
    if not isinstance(content, list):
        return content or ""
    pieces: list[str] = []
    for part in content:
        mark, key = _MEDIA.get(str(part.get("type")), ("", ""))
        url = _url_of(part) if mark else None
        if url is not None:
            media.setdefault(key, []).append(url)
            pieces.append(mark)
        elif not mark and isinstance(part.get("text"), str):
            pieces.append(part["text"])
        elif "document" not in drop:
            raise Unmappable("sharegpt", f"a part of type {part.get('type')!r}", drop="document")
    return "".join(pieces)


def _calls(entry: Entry) -> list[Entry]:
    """The calls of an answer; ``function_call`` is the API's older spelling."""
    legacy = entry.get("function_call")
    calls = entry.get("tool_calls") or ([{"type": "function", "function": legacy}] if legacy else [])
    return [call if "function" in call else _as_function(call) for call in calls]


def _as_function(call: Entry) -> Row:
    """A call of a tool with its own grammar as a call of a function: its text becomes the argument ``input``."""
    custom = call.get("custom", {})
    function = {"name": custom.get("name", ""), "arguments": quote({"input": custom.get("input", "")})}
    return {**({"id": call["id"]} if "id" in call else {}), "type": "function", "function": function}


def _plain_call(call: Entry) -> Row:
    function = _with_object(call["function"])
    return {"name": function.get("name"), "arguments": function.get("arguments")}


def _refuse_further(target: str, entry: Entry, known: Collection[str], drop: Collection[str]) -> None:
    further = next((key for key in entry if key not in known), None)
    if further is None:
        return
    word = {"name": "name", "reasoning_content": "thinking"}.get(further, "provider")
    if word not in drop:
        raise Unmappable(target, f"{further!r} of a message", drop=word)


def _function(tool: Mapping[str, Any]) -> Row:
    """The definition of a tool as these rows spell it."""
    facts = {"name": tool.get("name"), "description": tool.get("description"), "parameters": tool.get("inputSchema")}
    return {"type": "function", "function": {key: value for key, value in facts.items() if value is not None}}


_BREAKS = re.compile("[\x85\u2028\u2029]")


def as_line(value: Any) -> str:
    """JSON as one line, even for readers that end lines at U+0085, U+2028 or U+2029."""
    return _BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", quote(value)) + "\n"


ROWS: dict[str, Callable[[Sequence[Entry], Sequence[Row], Collection[str]], Row]] = {
    "sharegpt": _write_sharegpt,
    "hf": _write_hf,
    "openai-finetune": _write_finetune,
}
"""The writer of each kind of row, by the name that ``export --to`` takes."""
