"""The recorder: stores the calls that passed the gateway.

``surfaces`` finds the API of a call, ``clients`` its client and session, ``requests`` takes its body apart, ``replies``
reads its answer, ``recording`` stores both, ``unread`` bounds the bodies that cannot be read, and ``following`` stores
all calls in a spool and reports its progress.
"""
