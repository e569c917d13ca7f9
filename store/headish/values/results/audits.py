"""The lines of an audit: who wrote what, and when."""

from __future__ import annotations

from datetime import datetime

from headish.values.results.plain import PlainResult


class Audited(PlainResult, frozen=True):
    """One change of a space, in one line.

    ``author`` is what the writer said of itself, None where nobody did: nothing proves it. ``subject`` is the turn's
    id, the bookmark, the subject of the conversation, the pointer or server, or the number of the erasure. ``what`` is
    in words. ``said_by`` is the model, or else the provider, of a turn that is its reply.
    """

    cursor: str
    time: datetime
    kind: str
    author: str | None
    subject: str
    what: str
    said_by: str | None = None


class Authored(PlainResult, frozen=True):
    """What one author wrote: how many changes of each kind, and when the first and the last."""

    author: str | None
    counts: dict[str, int]
    first: datetime
    last: datetime
