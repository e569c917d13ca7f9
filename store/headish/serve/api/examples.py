"""Examples of requests and their answers, from a real server. `make examples` records them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

FILE = "examples.json"


@cache
def examples() -> dict[str, dict[str, Any]]:
    """The examples by the name of the verb: its ``query`` or ``request``, and its ``answer`` or ``events``."""
    by_verb: dict[str, dict[str, Any]] = msgspec.json.decode(files("headish.serve.api").joinpath(FILE).read_bytes())
    return by_verb
