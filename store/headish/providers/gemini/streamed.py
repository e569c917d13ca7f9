"""A call whose arguments come value by value, each under its JSON path, as Vertex AI streams them on request.

Source: ``types.FunctionCall`` and ``types.PartialArg`` of google-genai 3.4.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headish.providers.shared.leftovers import keys
from headish.providers.shared.reply import OpenBlock
from headish.providers.shared.shapes import DEEPEST, json_text, paired

KEYS = frozenset(("partialArgs", "willContinue"))
"""The keys of a call that say how it is streamed."""
_VALUES = ("stringValue", "numberValue", "boolValue")
PIECE = keys("args", "id", "name", "willContinue", partialArgs=keys("jsonPath", "nullValue", "willContinue", *_VALUES))
"""The keys of a piece of a call that are read; all others are kept beside the answer."""
EXACT = 2**53
"""Up to here a double has every whole number; beyond, it would get digits that nobody said."""
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['([^']*)'\]|\["([^"]*)"\]""")


class StreamedCall:
    """A call while its arguments come. ``begun`` are those that came with its name."""

    def __init__(self, block: OpenBlock, begun: Mapping[str, Any]) -> None:
        self.block = block
        self._begun = begun
        self._values: dict[str, list[Any]] = {}
        """The pieces of each value, by its path."""

    def add(self, piece: Mapping[str, Any]) -> bool:
        """Take a piece of a value. Returns whether it was understood."""
        path, key = piece.get("jsonPath"), next((each for each in _VALUES if piece.get(each) is not None), None)
        if self.block.finished or not isinstance(path, str):
            return False
        if key is None:
            # Without a value, the end of a text; else a null, which JSON spells as one.
            self._values.setdefault(path, [None])
            return "nullValue" in piece or self._values[path] != [None]
        value, pieces = piece[key], self._values.setdefault(path, [])
        # Every number is a double there, and an object of the SDK holds 1.0 for the 1 of the wire.
        is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= EXACT
        pieces.append(int(value) if is_whole else value)
        return len(pieces) == 1 or (isinstance(pieces[0], str) and isinstance(pieces[-1], str))

    def close(self) -> bool:
        """End the call. Returns whether its arguments are whole."""
        arguments: dict[str, Any] = {}
        fits = all(_put(arguments, _steps(path), _joined(pieces)) for path, pieces in self._values.items())
        if not fits or arguments.keys() & self._begun.keys():
            self.block.odd = True
            return False
        self.block.input, self.block.finished = {**self._begun, **arguments}, True
        return True

    def cut(self) -> None:
        """Keep what came of a call that did not end, as text."""
        if not self.block.finished:
            came = {**self._begun, **{path: _joined(pieces) for path, pieces in self._values.items()}}
            self.block.odd, self.block.pieces = True, [json_text(came)]


def _joined(pieces: Sequence[Any]) -> Any:
    return pieces[0] if len(pieces) == 1 else paired("".join(map(str, pieces)))


def _steps(path: str) -> list[str | int]:
    """The keys and indexes of a path; none if it is not understood."""
    steps: list[str | int] = []
    at = 1
    while found := _STEP.match(path, at):
        at = found.end()
        steps.append(int(found[2]) if found[2] else found[1] or found[3] or found[4] or "")
    return steps if path.startswith("$") and at == len(path) and len(steps) < DEEPEST else []


def _put(holder: Any, steps: Sequence[str | int], value: Any) -> bool:
    """Put a value at its path, with the objects and lists that lead there. Returns whether it has a place."""
    for step, behind in zip(steps, [*steps[1:], None], strict=False):
        item = value if behind is None else ([] if isinstance(behind, int) else {})
        if isinstance(step, int):
            if not isinstance(holder, list) or step > len(holder):  # no gap: an index may be any number
                return False
            is_new = step == len(holder)
            if is_new:
                holder.append(item)
            inner = holder[step]
        else:
            if not isinstance(holder, dict):
                return False
            is_new = step not in holder
            inner = holder.setdefault(step, item)
        if behind is None and not is_new:
            return False
        holder = inner
    return bool(steps)
