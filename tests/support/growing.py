"""Threads drawn in one line.

Used by every chapter that needs a thread.
"""

from __future__ import annotations

from typing import Any

from headish import Store, Turn


def grow(store: Store, drawing: str, **common: Any) -> dict[str, Turn]:
    """Store the turns of a drawing; their texts are their names.

    ``a <- b`` says that b continues a; ``a + b <- c`` that c continues both, in that order. Paths are separated by
    commas, and a name that was drawn before is the same turn: ``capital? <- Paris <- height?, Paris <- Berlin?``.
    A name with a question mark is the user's, any other one the assistant's. ``common`` is given to every turn.
    """
    grown: dict[str, Turn] = {}
    for path in drawing.split(","):
        before: list[str] = []
        for step in path.split("<-"):
            names = [name.strip() for name in step.split("+")]
            for name in names:
                if name not in grown:
                    role = "user" if name.endswith("?") else "assistant"
                    continues = [grown[each].id for each in before]
                    grown[name] = store.add_turn(name, role=role, continues=continues or None, **common)
            before = names
    return grown


def texts(store: Store, headish: str | list[str] = "@") -> list[str]:
    """The texts of a resolved thread, in order."""
    return [block.text for message in store.resolve(headish).messages for block in message.content]


def names_of(turns: Any, grown: dict[str, Turn]) -> list[str]:
    """The drawn names of turns, in the order of the turns."""
    drawn = {turn.id: name for name, turn in grown.items()}
    return [drawn[turn.id] for turn in turns]
