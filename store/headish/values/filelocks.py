"""The system's file locks: the module ``fcntl``, or None where there is none, so that every module can be imported."""

from __future__ import annotations

from importlib import import_module
from typing import Any

fcntl: Any
try:
    fcntl = import_module("fcntl")
except ImportError:
    fcntl = None
