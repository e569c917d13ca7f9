"""Errors travel: between processes, threads and queues, by pickle and by copy."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys

import pytest

from headish import errors
from support.loops import failing

KINDS = [
    each for _, each in inspect.getmembers(errors) if isinstance(each, type) and issubclass(each, errors.HeadishError)
]
ARGUMENTS = {
    "Exception": ValueError("x"),
    "Mapping[str, int]": {"0a": 3},
    "Sequence[Unrepresentable]": (errors.Unrepresentable("ChatML", "a picture", drop="pictures"),),
    "bool": True,
    "float": 2.5,
    "int": 7,
    "object": "owner",
    "str": "main",
    "tuple[int, int]": (3, 4),
    "tuple[str, ...]": ("a", "b"),
}
"""A value for each annotation of an argument."""


def make(kind: type[errors.HeadishError]) -> errors.HeadishError:
    """An error with a value for each of its arguments, and a note."""
    signature = inspect.signature(kind.__init__)
    if any(each.kind is each.VAR_POSITIONAL for each in signature.parameters.values()):
        error = kind("what went wrong")  # Exception's own
    else:
        given = {name: each for name, each in signature.parameters.items() if name != "self"}
        error = kind(**{name: ARGUMENTS[each.annotation.split(" | ")[0]] for name, each in given.items()})
    error.add_note("in the second batch")
    return error


def facts(error: BaseException) -> dict[str, object]:
    return {key: repr(value) for key, value in vars(error).items()}


def test_an_error_says_the_same_when_it_comes_out_of_a_pickle() -> None:
    def says_the_same(kind: type[errors.HeadishError]) -> None:
        error = make(kind)
        for again in (*(pickle.loads(pickle.dumps(error, protocol)) for protocol in (0, 2, 5)), copy.copy(error)):
            assert (type(again), str(again), facts(again)) == (kind, str(error), facts(error))

    assert failing(KINDS, says_the_same) == {}


def test_an_error_is_named_by_the_package_that_programs_import() -> None:
    assert {kind.__module__ for kind in KINDS} == {"headish.errors"}
    assert {pickle.loads(f"cheadish.errors\n{kind.__name__}\n.".encode()) for kind in KINDS} == set(KINDS)


def test_the_tree_at_the_top_draws_each_error_below_its_base() -> None:
    drawn: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        name = next(iter(line.strip("│├└─ ").split()), "")
        if not hasattr(errors, name):
            continue
        depth = line.index(name)
        above = [each for each in above if each[0] < depth]
        drawn[name] = above[-1][1] if above else "Exception"
        above.append((depth, name))
    assert drawn == {kind.__name__: kind.__base__.__name__ for kind in KINDS if kind.__base__}


def test_each_error_of_the_tree_can_be_imported() -> None:
    named = re.findall(r"── (\w+)", errors.__doc__ or "")
    assert [name for name in named if not isinstance(getattr(errors, name, None), type)] == []


def test_an_error_counts_cuts_and_says_the_way_out() -> None:
    said = {
        str(errors.QuotaExceeded("turns", 1, 1, 2)): "limited to 1 turn, has 1 and was given 2 more",
        str(errors.QuotaExceeded("bytes", 2000, 0, 3000)): "limited to 2,000 bytes, has 0 and was given 3,000 more",
        str(errors.SpaceNotEmpty("a")): "to erase them all, use spaces.erase",
        str(errors.SpaceNotEmpty("a", "take another")): "objects; take another",
        str(errors.InvalidCall("n" * 99, "no such tool")): f"the call of '{'n' * 80}' cannot be run: no such tool",
    }
    assert {text: words for text, words in said.items() if words not in text} == {}


@pytest.mark.slow
def test_all_of_them_can_be_imported_at_once() -> None:
    """In a process of its own: some are loaded by the first use of one."""
    program = "from headish.errors import *; print(*sorted(globals()))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert {kind.__name__ for kind in KINDS} <= set(told.stdout.split())
    assert not hasattr(errors, "NoSuchError")
