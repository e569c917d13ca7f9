"""The recorder: stores the calls that passed the gateway.

``surfaces`` tells which API a call speaks, ``clients`` whose session it belongs to, ``requests`` takes its body apart,
``replies`` reads its answer, ``recording`` stores both, ``unread`` bounds the bodies that nobody could read, and
``following`` stores all that stands in a spool and says how far it is.
"""
