"""Verbs that call a provider: requests, replies, tool calls, batches, and the pointers and tools for them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a store imports them when one of their verbs is first called
    from headish.store.asking import ask as ask
    from headish.store.asking import reply as reply
    from headish.store.asking import request as request
    from headish.store.asking import title as title
    from headish.store.asking import tool_calls as tool_calls
