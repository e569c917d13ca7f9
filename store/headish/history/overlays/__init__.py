"""Store overlays: turns that change how readers see earlier turns from there on (rule R34, overlays).

``covering`` finds the turns that a new overlay covers, ``laying`` appends it.
"""
