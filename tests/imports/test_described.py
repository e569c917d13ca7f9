"""The page of the formats says what the readers do: its keys are those that turns get."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from format_facts import FORMATS

from headish.imports.folders import LOGS
from headish.imports.registry import READERS


def test_what_is_described_is_imported() -> None:
    assert FORMATS.keys() <= READERS.keys()
    assert LOGS.keys() <= FORMATS.keys()


@pytest.mark.parametrize("format", sorted(FORMATS.keys() & READERS.keys()))
def test_keys_begin_with_the_name_of_their_reader(format: str) -> None:
    reader = import_module(f"headish.imports.readers.{READERS[format]}")
    names = {getattr(reader, name, None) for name in ("FORMAT", "ROW", "LOG")}
    assert FORMATS[format].key.strip("`").partition(":")[0] in {*names, "none"}


def test_no_cell_breaks_its_table() -> None:
    cells = [cell for each in FORMATS.values() for row in each.lost for cell in row]
    assert [cell for cell in cells if re.search(r"[|\n]", cell)] == []
