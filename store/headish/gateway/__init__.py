"""The gateway: passes each call to its provider byte for byte, and records the call.

Nothing here knows the store: the record goes to a *spool* of files, and another process stores it. So no lock, full
disk or slow query affects a call.
"""
