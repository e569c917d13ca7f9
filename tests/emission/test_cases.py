"""What is emitted from given windows: one folder a case, one file a format, ``.refused`` holding the whole error.

``window.json`` is the context window, with ``attributes`` and ``turn`` where only Python knows them, and the settings
of the request (``tools``, ``settings``) and of the transcript (``drop``).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headish.providers import PROVIDERS
from support.providers.windows import emitted_files

CASES = sorted(path for path in (Path(__file__).parent / "cases").iterdir() if path.is_dir())


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_a_window_is_emitted_as_its_case_says(case: Path) -> None:
    expected = {path.name: path.read_bytes().decode() for path in case.iterdir() if path.name != "window.json"}
    assert emitted_files(case) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_each_case_says_what_every_format_does(case: Path) -> None:
    formats = sorted(path.stem for path in case.iterdir() if path.name != "window.json")
    assert formats == sorted([*PROVIDERS, "openchatml"])
