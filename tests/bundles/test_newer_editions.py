"""Bundles of a newer headish: one that this edition does not understand is refused as a whole, by what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from headish import Store, verify_bundle
from headish.bundles.pages import read_page
from headish.bundles.records import VERSION, BundleKind
from headish.bundles.streams import BundleReader, BundleWriter
from headish.errors import InvalidBundle


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"version": VERSION + 1}, f"its version is {VERSION + 1}, which"),
        ({"version": 0}, "its version is 0, which"),
        ({"features": ("pictures", "colours")}, "it needs colours, pictures, which"),
        ({"version": VERSION + 1, "features": ("colours",)}, "it needs colours, which"),
    ],
)
def test_it_is_refused_and_nothing_of_it_is_stored(
    store: Store, tmp_path: Path, header: dict[str, int | tuple[str, ...]], reason: str
) -> None:
    path = tmp_path / "newer.bundle"
    _write(path, tmp_path / "today.bundle", header)
    for read in (verify_bundle, store.bundles.apply):
        with pytest.raises(InvalidBundle) as caught:
            read(path)
        assert f"{reason} this headish does not know; upgrade headish" in str(caught.value)
        assert str(path) in str(caught.value)
    assert list(store.turns()) == []
    store.bundles.apply(tmp_path / "today.bundle")
    assert len(list(store.turns())) == 1


def _write(newer: Path, today: Path, header: dict[str, int | tuple[str, ...]]) -> None:
    """A bundle of today, and the same with another header."""
    with Store.open(":memory:") as sender:
        sender.add_turn("How high is Meru?")
        sender.bundles.create(today)
    with today.open("rb") as file, newer.open("wb") as copy:
        reader = BundleReader(file, "today")
        writer = BundleWriter(copy, replace(reader.header, **header))
        for kind, part in reader.parts():
            if kind is BundleKind.PAGE:
                writer.page(read_page(part, "today"))
        writer.end()
