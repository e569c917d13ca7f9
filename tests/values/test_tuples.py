"""Our tuples with named fields do what those of ``typing`` do."""

from __future__ import annotations

import copy
import pickle
import re
import typing
from collections.abc import Callable
from pathlib import Path

import pytest

import headish
import headish_cli
from headish.values.tuples import NamedTuple


class Ours(NamedTuple):
    """Two fields."""

    place: int
    name: str = "main"

    @property
    def both(self) -> str:
        """A property beside the fields."""
        return f"{self.place} {self.name}"


class Theirs(typing.NamedTuple):
    """The same."""

    place: int
    name: str = "main"


Both = Callable[[typing.Any], object]
DONE: dict[str, Both] = {
    "made by place": lambda kind: kind(1, "x"),
    "made by name": lambda kind: kind(name="x", place=1),
    "a default": lambda kind: kind(1),
    "made of a row": lambda kind: kind._make([1, "x"]),
    "one field replaced": lambda kind: kind(1)._replace(place=2),
    "as a mapping": lambda kind: kind(1)._asdict(),
    "in words": lambda kind: repr(kind(1)).replace(kind.__name__, ""),
    "read by name": lambda kind: (kind(1).place, kind(1).name),
    "hashed": lambda kind: hash(kind(1)),
    "taken apart": lambda kind: [*kind(1)],
    "copied": lambda kind: copy.deepcopy(kind(1)),
    "pickled": lambda kind: pickle.loads(pickle.dumps(kind(1))),
    "its fields": lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__, kind.__doc__ is None),
}
REFUSED: dict[str, Both] = {
    "too few": lambda kind: kind(),
    "too many": lambda kind: kind(1, "x", 2),
    "an unknown name": lambda kind: kind(1, other=2),
    "a row too short": lambda kind: kind._make([1]),
    "a row too long": lambda kind: kind._make([1, "x", 2]),
    "an unknown field replaced": lambda kind: kind(1)._replace(other=2),
    "a field set": lambda kind: setattr(kind(1), "place", 2),
    "another attribute set": lambda kind: setattr(kind(1), "other", 2),
}


@pytest.mark.parametrize("what", DONE)
def test_what_is_done(what: str) -> None:
    assert DONE[what](Ours) == DONE[what](Theirs)


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str) -> None:
    errors = []
    for kind in (Ours, Theirs):
        with pytest.raises((TypeError, ValueError, AttributeError)) as raised:
            REFUSED[what](kind)
        errors.append(raised.type)
    assert errors[0] is errors[1]


def test_the_class_takes_the_place_of_a_tuple() -> None:
    assert Ours(1) == (1, "main") < (2, "a")
    assert Ours(1).both == "1 main"
    assert not hasattr(Ours(1), "__dict__")
    match Ours(3):
        case Ours(place, name):
            assert (place, name) == (3, "main")


def test_the_library_has_no_others() -> None:
    """One class of ``typing`` costs each start of the command 0.1 ms. Adapters import public names alone."""
    roots = [Path(each.__path__[0]) for each in (headish, headish_cli)]
    modules = [module for root in roots for module in root.rglob("*.py") if "integrations" not in module.parts]
    assert len(modules) > 500
    theirs = re.compile(r"from typing import .*\bNamedTuple\b|typing\.NamedTuple\(")
    assert {module.name for module in modules if theirs.search(module.read_text(encoding="utf-8"))} == {"tuples.py"}
