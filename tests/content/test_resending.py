"""The messages of a client's list, recognised by the hashes of their bytes."""

from __future__ import annotations

import json

import pytest

from headish.content.forms.table import FORMS
from headish.content.resending.entries import SentEntry


def entry(*ids: int) -> SentEntry:
    """An entry of calls."""
    items = [{"type": "function_call", "call_id": f"c{id}", "name": "f", "arguments": "{}"} for id in ids]
    return SentEntry(FORMS["responses"], [json.dumps(each).encode() for each in items])


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("known", ["hash", "bare_hash"])
def test_an_entry_is_split_behind_the_items_that_have_a_hash(count: int, known: str) -> None:
    whole, wanted = entry(*range(5)), getattr(entry(*range(count)), known)
    two = whole.split(wanted, None) if known == "hash" else whole.split(None, wanted)
    assert two is not None
    assert [each.hash for each in two] == [entry(*range(count)).hash, entry(*range(count, 5)).hash]


def test_an_entry_is_not_split_where_nothing_has_the_hash() -> None:
    whole = entry(*range(3000))  # in one pass: a hash of each beginning would take minutes
    assert whole.split(entry(7).hash, entry(7).bare_hash) is None
    assert whole.split(whole.hash, whole.bare_hash) is None
    assert entry(0).split(entry(0).hash, None) is None
