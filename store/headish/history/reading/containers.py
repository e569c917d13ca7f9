"""Which container of Anthropic's a thread's code runs in: the next request names it, so that its files are there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from headish.history.reading.decode import decode_mapping
from headish.rows.threads.walks import Walked


def find_container(walked: Sequence[Walked], now: datetime | None = None) -> str | None:
    """The id of the container that the last answer with one names; None where it has run out."""
    for turn in reversed(walked):
        if turn.role == "assistant" and turn.system and b'"container"' in turn.system:
            found = _named(decode_mapping(turn.system, turn.id, "system"))
            if found is not None:
                return _running(found, now or datetime.now(UTC))
    return None


def _named(system: dict[str, Any]) -> dict[str, Any] | None:
    reply = system.get("reply")
    details = reply.get("details") if isinstance(reply, dict) and reply.get("provider") == "anthropic" else None
    container = details.get("container") if isinstance(details, dict) else None
    return container if isinstance(container, dict) and isinstance(container.get("id"), str) else None


def _running(container: dict[str, Any], now: datetime) -> str | None:
    try:
        ends = datetime.fromisoformat(str(container.get("expires_at")))
    except ValueError:
        ends = None
    if ends is None or (ends if ends.tzinfo else ends.replace(tzinfo=UTC)) <= now:
        return None
    return str(container["id"])
