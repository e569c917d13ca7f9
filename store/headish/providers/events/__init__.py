"""The events of a provider's answer, decoded from bytes in any pieces."""

from __future__ import annotations

from headish.providers.events.decoder import EventReader, read_events

__all__ = ["EventReader", "read_events"]
