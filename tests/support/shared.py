"""Data and fixtures of other projects, read from where they lie beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
TRANSCRIPTS = SHARED / "fixtures" / "transcripts"
OASST = SHARED / "data" / "oasst_trees.jsonl"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(),
    reason=f"other projects' data and fixtures are not at {SHARED}: they are not part of the project; put them there",
)
