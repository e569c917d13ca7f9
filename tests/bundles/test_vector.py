"""The bundle of docs/reference/bundles.md: every reader gets from its bytes what the page says."""

from __future__ import annotations

import json
import re
import zlib
from io import BytesIO
from pathlib import Path

import msgspec

from headish import Store, verify_bundle
from headish.bundles.pages import read_page, to_page
from headish.bundles.records import BundleKind
from headish.bundles.streams import BundleReader

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "bundles.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A bundle, byte for byte")[2].partition("\n## ")[0]
[TEXT, SAID] = re.findall(r"```\w+\n(.*?)```", SECTION, re.DOTALL)
DATA, EXPECTED = bytes.fromhex(TEXT), json.loads(SAID)
HEAD_BYTES, SUM_BYTES = 5, 16


def test_it_is_read_as_the_page_says(store: Store, tmp_path: Path) -> None:
    assert f"These {len(DATA)} bytes" in SECTION
    (tmp_path / "bundle").write_bytes(DATA)
    checked = verify_bundle(tmp_path / "bundle")
    assert (checked.turns, checked.proven, checked.names) == (2, 2, 1)
    store.bundles.apply(tmp_path / "bundle")
    found = [
        {
            "id": turn.id,
            "continues": list(turn.meta.continues),
            "role": turn.meta.role,
            "payload": store.payload(turn.id).decode(),
            "head": "main",
            "seal": turn.seal,
        }
        for turn in store.turns()
    ]
    assert found == [{key: each[key] for key in each if key != "inherited"} for each in EXPECTED["turns"]]
    assert store.resolve("main").options == EXPECTED["turns"][1]["inherited"]
    assert dict(store.bookmarks) == EXPECTED["names"]
    assert store.verify().problems == ()


def test_it_is_written_with_the_same_bodies() -> None:
    """Whatever compresses them."""
    reader = BundleReader(BytesIO(DATA), "x")
    assert reader.header.made_at == EXPECTED["made_at"]
    values = [reader.header, *(value for _, value in reader.parts())]
    values[1] = to_page(read_page(values[1], "x"), None)
    bodies = list(_bodies(DATA))
    assert [kind for kind, _ in bodies] == [BundleKind.HEADER, BundleKind.PAGE, BundleKind.NAMES, BundleKind.END]
    assert [zlib.decompress(body) for _, body in bodies[:-1]] == [msgspec.msgpack.encode(each) for each in values]


def _bodies(data: bytes) -> list[tuple[int, bytes]]:
    at, found = data.index(b"\n") + 1, []
    while at < len(data):
        length = int.from_bytes(data[at + 1 : at + HEAD_BYTES], "big")
        begin = at + HEAD_BYTES + SUM_BYTES
        found.append((data[at], data[begin : begin + length]))
        at = begin + length
    return found
