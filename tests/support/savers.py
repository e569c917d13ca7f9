"""One way to store checkpoints of a made-up graph in a LangGraph saver."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6


def put(
    saver: Any,
    messages: list[Any] | None = None,
    *,
    thread: str = "1",
    ns: str = "",
    parent: Any = None,
    version: Any = None,
    metadata: dict[str, Any] | None = None,
    **values: Any,
) -> Any:
    """Store a checkpoint behind ``parent``, the thread's last where that is left out; the config that names it."""
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}
    if parent is None:
        before = saver.get_tuple(config)
        parent = config if before is None else before.config
    if messages is not None:
        values["messages"] = messages
    version = saver.get_next_version(None, None) if version is None else version
    made = empty_checkpoint()
    made["id"] = str(uuid6())
    made["channel_values"] = values
    made["channel_versions"] = dict.fromkeys(values, version)
    return saver.put(parent, made, {"source": "loop", "step": 1, **(metadata or {})}, dict.fromkeys(values, version))


def said(saver: Any, config: Any = None, *, thread: str = "1", ns: str = "") -> list[str] | None:
    """The texts of a checkpoint's messages; None where there is no checkpoint."""
    found = saver.get_tuple(config or {"configurable": {"thread_id": thread, "checkpoint_ns": ns}})
    return None if found is None else [each.content for each in found.checkpoint["channel_values"].get("messages", ())]
