"""What all providers share.

Outward: ``request`` (the flow), ``ledger`` (calls and results), ``mapping`` (which block may stand where) and
``parameters``.
Back: ``reply`` (blocks that grow piece by piece).
"""
