"""Windows written as JSON, and what is emitted from them.

Used by tests/emission, whose cases are such files, and by seeded.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from headish import ContextWindow, Message, emit
from headish.content.encoding import read_content
from headish.errors import HeadishError
from headish.providers import PROVIDERS, prepare_request
from headish.values.messages import NO_ATTRIBUTES, Attributes


def read_message(message: Mapping[str, Any]) -> Message:
    """A message as the case files have it: the window's JSON, and what only Python knows (attributes, turn)."""
    attributes = message.get("attributes")
    return Message(
        role=message["role"],
        content=read_content(message["content"]),
        cache=message.get("cache", False),
        attributes=NO_ATTRIBUTES if attributes is None else msgspec.convert(attributes, Attributes),
        turn=message.get("turn"),
    )


def read_window(record: Mapping[str, Any]) -> ContextWindow:
    return ContextWindow(tuple(map(read_message, record["messages"])), record.get("options", {}))


def emitted_files(folder: Path) -> dict[str, str]:
    """What a case folder has to hold beside its window: a file for each format, ``.refused`` where it must refuse."""
    record = json.loads((folder / "window.json").read_text())
    window = read_window(record)
    files: dict[str, str] = {}
    try:
        files["openchatml.txt"] = str(emit(window, "openchatml", drop=record.get("drop", ())))
    except HeadishError as error:
        files["openchatml.refused"] = f"{type(error).__name__} {error.code}: {error}\n"
    for provider in PROVIDERS:
        name, text = _requested(provider, window, record)
        files[name] = text
    return files


def _requested(provider: str, window: ContextWindow, record: Mapping[str, Any]) -> tuple[str, str]:
    try:
        prepared = prepare_request(provider, window, tools=record.get("tools"), **record.get("settings", {}))
    except HeadishError as error:
        return f"{provider}.refused", f"{type(error).__name__} {error.code}: {error}\n"
    notes = [str(note) for note in prepared.notes]
    shown = {"body": prepared.body, "notes": notes, "tool_names": prepared.tool_names}
    shown = {key: value for key, value in shown.items() if value}
    return f"{provider}.json", json.dumps(shown, ensure_ascii=False, indent=1) + "\n"
