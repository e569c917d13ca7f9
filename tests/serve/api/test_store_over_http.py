"""The store's own tests on a store over HTTP: what a test says of a verb holds of its route.

`make test-http` runs all of them; here run those of some chapters. ``support/over_http`` says what is left out, and
why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CHAPTERS = ("history/test_edits.py", "store/test_conversations.py", "erasing/test_names.py")
PASSED = 80
"""More pass; this many, that none is skipped unseen."""


@pytest.mark.slow
def test_the_stores_own_tests_hold_over_http(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "support.over_http.plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(f"tests/{chapter}" for chapter in CHAPTERS)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": "tests", "HEADISH_SUITE_REPORT": str(report), "HYPOTHESIS_PROFILE": "quick"},
        capture_output=True,
        text=True,
    )
    assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    told = json.loads(report.read_text())
    assert told["failures"] == []
    assert told["passed"] >= PASSED, told
