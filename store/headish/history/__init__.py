"""History: the graph of turns. Verbs that take a ``Connection`` and return values.

Inward: ``planning`` (what a draft continues, which bookmark moves), ``append`` (places, ids, digests, seals).
Outward: ``find`` (a headish to its turn), ``order`` and ``walk`` (the turns that lead there), ``resolve``, ``decode``.
"""
