"""The code that all providers share.

Requests: ``request`` (the flow), ``ledger`` (calls and results), ``mapping`` (which block is allowed where) and
``parameters``. Answers: ``reply`` (blocks that grow piece by piece).
"""
