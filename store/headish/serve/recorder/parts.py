"""The parts of an answer while it arrives: text, reasoning and calls of tools, each without what looks like a key.

Each part is a text of its own, as in the stored turn: what is hidden there is never shown here, wherever the pieces
end. The last word of a text waits until another part follows; the last word of a call waits for the end of the answer,
because the pieces of several calls may alternate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from headish.content.secrecy.hiding import hide_shapes
from headish.gateway.spool.arriving import PARTS_LIMIT, ArrivingPiece
from headish.providers.shared.shapes import healed, whole_characters
from headish.providers.shared.values import Delta
from headish.serve.recorder.piecewise import HELD_CHARACTERS, ShapeFilter

NAME_CHARACTERS = 100
_KINDS = {"text": "text", "thinking": "thinking", "tool_use": "call", "server_tool_use": "call"}
_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
# Backslashes in pairs are escapes of their own, and do not begin one at the end.
_CUT_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def pieces_of(deltas: Iterable[Delta]) -> Iterator[ArrivingPiece]:
    """Convert deltas to pieces of parts. Hides nothing."""
    for delta in deltas:
        kind = _KINDS.get(delta.type)
        if kind is not None:
            yield ArrivingPiece(delta.index or 0, kind, delta.name or "", delta.content)


class HiddenParts:
    """The pieces of an answer without what looks like a key. ``is_full`` is set when too much waits: then the rest of
    the answer is neither read nor shown."""

    def __init__(self) -> None:
        self._parts: dict[int, _HiddenPart] = {}
        self.is_full = False

    def feed(self, pieces: Iterable[ArrivingPiece]) -> list[ArrivingPiece]:
        """Take further pieces; return what can be shown now, at most one piece for each part."""
        shown: dict[int, ArrivingPiece] = {}
        for piece in pieces:
            if piece.part not in self._parts and len(self._parts) < PARTS_LIMIT:
                for each in self._parts.values():
                    _add(shown, each.end_text())
                self._parts[piece.part] = _HiddenPart(piece.part, piece.kind)
            part = self._parts.get(piece.part)
            if part is not None:
                _add(shown, part.feed(piece))
        self.is_full = sum(part.waiting for part in self._parts.values()) > HELD_CHARACTERS
        return [piece for piece in shown.values() if piece.says]

    def finish(self) -> list[ArrivingPiece]:
        """Return the rest, when the answer is whole."""
        rest = [part.finish() for part in self._parts.values()]
        return [] if self.is_full else [piece for piece in rest if piece.says]


def _add(shown: dict[int, ArrivingPiece], more: ArrivingPiece) -> None:
    before = shown.get(more.part)
    shown[more.part] = more if before is None else before.joined(more)


class _HiddenPart:
    """One part. The arguments of a call are JSON, in which a key may be spelled with escapes, or follow one directly:
    they are shown with their escapes decoded. Arguments that are plain text stay as they are."""

    def __init__(self, number: int, kind: str) -> None:
        self._number, self._kind, self._is_over = number, kind, False
        self._keys, self._held = ShapeFilter(), ""
        self._is_json: bool | None = None if kind == "call" else False

    @property
    def waiting(self) -> int:
        """The number of characters that wait."""
        return len(self._held) + self._keys.waiting

    def feed(self, piece: ArrivingPiece) -> ArrivingPiece:
        """Take a piece; return what can be shown now. A text that another part has followed takes no more pieces."""
        if self._is_over:
            return self._shown("")
        text = self._held + piece.text
        if self._is_json is None and text.strip():  # some tools take plain text, in which a backslash is no escape
            self._is_json = text.lstrip().startswith(("{", "[", '"'))
        text, cut = unescaped(text) if self._is_json else (text, "")
        text, half = whole_characters(text)
        self._held = half + cut
        name = hide_shapes(healed(piece.name))[:NAME_CHARACTERS]
        return self._shown(self._keys.feed(text), name)

    def end_text(self) -> ArrivingPiece:
        """End a text because another part follows, unless a key may begin in what waits; return the rest of it."""
        if self._kind == "call" or not self._keys.is_harmless:
            return self._shown("")
        self._is_over = True
        return self.finish()

    def finish(self) -> ArrivingPiece:
        """Return the rest."""
        text, self._held = self._keys.feed(whole_characters(self._held)[0]), ""
        return self._shown(text + self._keys.finish())

    def _shown(self, text: str, name: str = "") -> ArrivingPiece:
        return ArrivingPiece(self._number, self._kind, name, text)


def unescaped(text: str) -> tuple[str, str]:
    """Decode the escapes in a piece of JSON; return the text, and an escape at its end that may be cut off."""
    cut = _CUT_ESCAPE.search(text)
    at = len(text) if cut is None else cut.start(1)
    return _ESCAPE.sub(_meaning, text[:at]), text[at:]


def _meaning(found: re.Match[str]) -> str:
    if found[1] is not None:
        return chr(int(found[1], 16))
    return _MEANT.get(found[2], found[2])
