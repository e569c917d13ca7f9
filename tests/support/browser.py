"""A real browser without a window, where one is installed.

Used by the tests of pages (tests/renderings).
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed: install the distribution's package `chromium`"
)
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")


def run_browser(page: Path, *flags: str) -> str:
    """What the browser prints of a page from the disk; it has a profile of its own, thrown away."""
    assert CHROMIUM is not None
    profile = page.parent / "profile"
    command = [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "--virtual-time-budget=3000", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def dom_of(page: Path) -> str:
    """The page's elements after its script has run."""
    return run_browser(page, "--dump-dom")
