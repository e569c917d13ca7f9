"""Data and fixtures of other projects, read from where they lie beside the checkout.

Used by every chapter that reads them; its tests are skipped where they are absent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
TRANSCRIPTS = SHARED / "fixtures" / "transcripts"
OASST = SHARED / "data" / "oasst_trees.jsonl"
PROVIDER_REQUESTS = SHARED / "fixtures" / "providers" / "prepare-request"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(),
    reason=f"other projects' data and fixtures are not at {SHARED}: they are not part of the project; put them there",
)


def read_request(case: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The window of a recorded request, and the tools of the servers that it names."""
    record: dict[str, Any] = json.loads((PROVIDER_REQUESTS / case / "input.json").read_text())
    lists = PROVIDER_REQUESTS.parent / "tools"
    servers = (record.get("options") or {}).get("servers", [])
    return record, [tool for name in servers for tool in json.loads((lists / f"{name}.json").read_text())]
