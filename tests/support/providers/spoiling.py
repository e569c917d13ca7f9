"""Events with one value replaced: what a provider may send by mistake.

Used by the suites replies and chat_replies.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import strategies as st


def spoil(data: st.DataObject, values: st.SearchStrategy[Any], value: Any) -> None:
    """Replace one value somewhere inside by another of whatever kind."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if isinstance(value[key], dict | list) and value[key] and data.draw(st.booleans()):
            value = value[key]
            continue
        value[key] = deepcopy(data.draw(values))  # a shared one would be spoilt itself, in all later examples
        return
