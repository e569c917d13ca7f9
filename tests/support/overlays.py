"""Random threads, and random overlays over them.

Used by the properties of what is seen (tests/history).
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from headish import Message, Store
from headish.errors import InputError
from headish.providers.shared.ledger import settle
from headish.values.blocks import Text, ToolResult, ToolUse

MESSAGES = st.lists(
    st.sampled_from(["user", "assistant", "call", "result", "both", "system", "hidden"]), min_size=1, max_size=14
)
OVERLAYS = st.lists(
    st.tuples(st.sampled_from(["summarize", "hide", "replace", "keep", "unhide", "original", "compact", "turn"]),
              st.integers(0, 12), st.integers(0, 5), st.sampled_from(["model", "people", "both"])), max_size=8,
)  # fmt: skip


def make(kind: str, number: int, called: list[str]) -> dict[str, Any]:
    """A message of a kind; results answer the call that waits longest, if there is one."""
    if kind == "call":
        called.append(f"c{number}")
        return {"role": "assistant", "content": [ToolUse(id=called[-1], name="f", input={"n": number})]}
    if kind in ("result", "both"):
        found = ToolResult(tool_use_id=called.pop(0) if called else "nobody", content=(Text(f"r{number}"),))
        return {"role": "user", "content": [found, *(["and"] if kind == "both" else [])]}
    if kind == "hidden":
        return {"role": "user", "content": f"h{number}", "attributes": {"hidden": "model"}}
    return {"role": kind, "content": f"m{number} " + "word " * (number % 7)}


def lay(store: Store, does: str, back: int, length: int, viewer: str) -> None:
    """An overlay somewhere on ``main``; what cannot be laid is not."""
    first, last = f"main~{back + length}", f"main~{back}"
    try:
        match does:
            case "turn":
                store.add_turn("more", continues="main")
            case "summarize":
                store.summarize(first, last, "in short")
            case "hide":
                store.hide(first, last, viewer=viewer)
            case "replace":
                store.replace(first, "instead", continues="main")
            case "compact":
                store.compact("main", to=0.5)
            case _:
                getattr(store, does)(first, last)
    except InputError:
        pass


def orphans(messages: tuple[Message, ...]) -> list[str]:
    """Results without a call, but for those of nobody's."""
    notes = settle(messages).orphans
    return [note.what for note in notes if "nobody" not in note.what]


def grown(kinds: list[str], overlays: list[Any]) -> Store:
    store, called = Store.open(":memory:"), []
    for number, kind in enumerate(kinds):
        content = make(kind, number, called)
        store.add_turn(**content, **({"continues": "main"} if number else {"bookmark": "main"}))
    for overlay in overlays:
        lay(store, *overlay)
    return store
