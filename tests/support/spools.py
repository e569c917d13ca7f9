"""Frames of calls as the gateway writes them, for the tests of the spool and of what reads it."""

from __future__ import annotations

from itertools import count

from headish.gateway.spool import CallBegin, CallEnd, ResponseHead, SpoolFrame, SpoolKind, begin, end, head

_numbers = count(1)
BEGUN = CallBegin(at=1, api="anthropic", method="POST", path="/v1/messages", headers={"user-agent": "a client"})


def new_id() -> str:
    return f"{next(_numbers):025}"


def frames_of(id: str, request: bytes = b"asked", *answer: bytes, ended: bool = True) -> list[SpoolFrame]:
    """A call, from its beginning to its end."""
    return [
        begin(id, BEGUN),
        SpoolFrame(SpoolKind.REQUEST, id, request),
        SpoolFrame(SpoolKind.SENT, id, b""),
        head(id, ResponseHead(status=200, at=2)),
        *(SpoolFrame(SpoolKind.RESPONSE, id, each) for each in answer),
        *([end(id, CallEnd(outcome="ok", at=3))] if ended else []),
    ]
