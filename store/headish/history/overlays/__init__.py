"""Overlays: turns that say how turns before them are seen from there on (rule R34, overlays).

``states`` follows what a thread's overlays say of each turn, ``view`` makes of it what a model sees, ``faces`` what
people see, ``covering`` finds what a new overlay covers. Pure, but for ``laying``, which appends one.
"""
