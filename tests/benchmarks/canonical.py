"""The turns that every benchmark of storing uses, the same for headish, its limits and the peers.

Blocks have 388 bytes on average. Of a hundred turns ten are calls, ten are results, one is a text of 8 KB; the others
are texts of people and models in turn. No two are equal. A turn is made from its number alone, before the clock starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "nobody", "looks", "at")
TEXT = " ".join(WORDS[(each * each + each // 7) % len(WORDS)] for each in range(4000))
LARGE_BYTES = 8 * 1024
encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Said(NamedTuple):
    """One turn: who says it, and its blocks as plain data in the order of their stored keys."""

    role: str
    content: list[dict[str, Any]]


def say(number: int) -> Said:
    """The turn of a number."""
    kind = number % 10
    if kind == 3:
        arguments = {"query": _text(number, 180), "limit": number % 50}
        return Said("assistant", [{"type": "tool_use", "name": "search", "id": f"call_{number}", "input": arguments}])
    if kind == 4:
        content = [{"type": "text", "text": _text(number, 260)}]
        return Said("tool", [{"type": "tool_result", "tool_use_id": f"call_{number - 1}", "content": content}])
    length = LARGE_BYTES if number % 100 == 50 else 40 + (number * 7919) % 477
    return Said("assistant" if number % 2 else "user", [{"type": "text", "text": _text(number, length)}])


def conversation(turns: int, start: int = 0) -> list[Said]:
    """As many turns, numbered from ``start`` on."""
    return [say(number) for number in range(start, start + turns)]


def given(said: Said) -> Any:
    """The content as a program hands it over: text where a turn is one text, else the blocks."""
    first = said.content[0]
    return first["text"] if first["type"] == "text" else said.content


def items(said: Iterable[Said], name: str | None = None) -> Iterator[dict[str, Any]]:
    """A conversation as ``Store.add_turns`` takes it: each continues the one before. ``name`` moves with all of it."""
    for index, each in enumerate(said):
        before: dict[str, Any] = {"continues": index - 1} if index else {}
        yield {"role": each.role, "content": given(each), "bookmark": name, **before}


def check(role_and_content: Iterable[tuple[str | None, Any]], said: Sequence[Said]) -> None:
    """Compare what was read with what was said, outside the clock. Raises: SystemExit."""
    found = [(role, content) for role, content in role_and_content]
    if len(found) != len(said):
        raise SystemExit(f"{len(found)} turns were read, not {len(said)}")
    for number, (read, given) in enumerate(zip(found, said, strict=True)):
        if read != tuple(given):
            raise SystemExit(f"turn {number} was read as {read!r}, not as {tuple(given)!r}")


def _text(number: int, length: int) -> str:
    start = (number * 31) % 9000
    return f"{number}: {TEXT[start : start + length]}"
