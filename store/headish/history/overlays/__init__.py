"""Overlays are laid: turns that say how turns before them are seen from there on (rule R34, overlays).

``covering`` finds what a new overlay covers, ``laying`` appends it.
"""
