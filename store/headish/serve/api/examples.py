"""Examples of requests and of what came back for them, from a real server. `make examples` writes them anew."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

FILE = "examples.json"


@cache
def examples() -> dict[str, dict[str, Any]]:
    """For the name of each verb: its ``query`` or ``request``, and the ``answer`` or ``events``."""
    found: dict[str, dict[str, Any]] = msgspec.json.decode(files("headish.serve.api").joinpath(FILE).read_bytes())
    return found
