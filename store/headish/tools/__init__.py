"""Tools: dispatch the calls of a thread to functions, and return their replies as messages ready to append."""

from __future__ import annotations

from headish.tools.replies import OpenCall, Tool, open_calls
from headish.tools.router import Router

__all__ = ["OpenCall", "Router", "Tool", "open_calls"]
