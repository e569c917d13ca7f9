"""The spool: the calls that passed the gateway, on the disk until they are stored.

    writer = SpoolWriter(folder)
    writer.write([begin(id, CallBegin(…)), SpoolFrame(SpoolKind.REQUEST, id, b"…"), …])

    reader = SpoolReader(folder)
    for call in reader.read():
        if call.is_complete:
            …  # store it, then:
            reader.forget(call.id)

``frames`` is the form on the disk, ``records`` the contents of the frames, ``writer`` appends to segments, ``reader``
follows them and removes those whose calls are all stored. One process writes and one reads; neither waits for the
other.
"""

from __future__ import annotations

from headish.gateway.files import UNREADABLE
from headish.gateway.spool.frames import SpoolFrame, SpoolKind
from headish.gateway.spool.reader import SpooledCall, SpoolReader, calls_in
from headish.gateway.spool.records import CallBegin, CallEnd, Outcome, ResponseHead, begin, end, head, now
from headish.gateway.spool.writer import SpoolWriter, is_written

__all__ = [
    "UNREADABLE",
    "CallBegin",
    "CallEnd",
    "Outcome",
    "ResponseHead",
    "SpoolFrame",
    "SpoolKind",
    "SpoolReader",
    "SpoolWriter",
    "SpooledCall",
    "begin",
    "calls_in",
    "end",
    "head",
    "is_written",
    "now",
]
