"""Values of the types that the official SDKs publish: any of their keys, any member of a union, and keys of nobody's.

Every text is a word of its own (``w17``), so that a test can tell where it went. Used by the tests of the forms.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

DEEPEST = 7


class Maker:
    """Makes values of types; what it chooses is told by ``random``."""

    def __init__(self, random: Random, *, unknown_keys: bool = True) -> None:
        self.random, self.unknown_keys, self.made = random, unknown_keys, 0

    def word(self) -> str:
        self.made += 1
        return f"w{self.made}"

    def make(self, kind: Any, depth: int = 0) -> Any:
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is typing.Annotated or origin in (typing.Required, typing.NotRequired):
            return self.make(arguments[0], depth)
        if origin is Literal:
            return self.random.choice(arguments)
        if origin in (Union, types.UnionType):
            return self.make(self._member(arguments, depth), depth)
        if origin in (list, Iterable, Sequence, tuple) or str(origin).endswith("Iterable"):
            return [self.make(arguments[0], depth + 1) for _ in range(self.random.randint(0, 2))]
        if origin in (dict, Mapping):
            return {self.word(): self.make(arguments[1], depth + 1)}
        return self._plain(kind, depth)

    def _member(self, members: Sequence[Any], depth: int) -> Any:
        shallow = [each for each in members if each in (str, int, bool, type(None)) or get_origin(each) is Literal]
        return self.random.choice(shallow if shallow and depth > DEEPEST else members)

    def _plain(self, kind: Any, depth: int) -> Any:
        if hasattr(kind, "__required_keys__"):  # a TypedDict, of whichever library
            hints = get_type_hints(kind, include_extras=True)
            # The class itself does not know: its annotations are texts.
            required = {name for name, each in hints.items() if get_origin(each) is typing.Required}
            return self._record(hints, set(hints) if kind.__total__ else required, depth)
        if hasattr(kind, "model_fields"):
            fields = {(each.alias or name): each for name, each in kind.model_fields.items()}
            required = {name for name, each in fields.items() if each.is_required()}
            hints = {name: each.annotation for name, each in fields.items()}
            return self._record(hints, required, depth)
        if isinstance(kind, type) and issubclass(kind, str) and kind is not str:
            return self.random.choice([str(each.value) for each in kind])  # an enumeration
        simple = {int: 3, float: 0.5, bool: True, type(None): None, bytes: "QUJD", str: None}
        return simple[kind] if kind in simple and kind is not str else self.word()

    def _record(self, hints: Mapping[str, Any], required: Iterable[str], depth: int) -> dict[str, Any]:
        chosen = [name for name in hints if name in required or (depth < DEEPEST and self.random.random() < 0.4)]
        made = {name: self.make(hints[name], depth + 1) for name in chosen}
        if self.unknown_keys and self.random.random() < 0.15:
            made[f"new_{self.word()}"] = self.random.choice([None, [], True, 7, self.word(), {"inner": [self.word()]}])
        return made
