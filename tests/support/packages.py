"""Packages of others, as if they were installed: a module, and metadata with entry points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Bring = Callable[..., None]
"""Takes the package, the text of its module, and the functions of the module by the names of their entry points."""


def bringing(group: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Bring:
    """What makes packages in a folder that bring entry points of a group."""

    def bring(package: str, module: str, **functions: str) -> None:
        info = folder / f"{package}-1.dist-info"
        info.mkdir(parents=True)
        (folder / f"{package}.py").write_text(module)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        lines = [f"{name} = {package}:{function}" for name, function in functions.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
        monkeypatch.syspath_prepend(str(folder))

    return bring
