"""One transaction that a caller's function fills: ``Store.read`` and ``Store.write``.

- ``running``: runs the function, again where the database asks for it, and finds out whether it was stored.
- ``reading``, ``writing``: what the function may do, as ``ReadTransaction`` and ``WriteTransaction``.
- ``freeing``: which turns may be erased because nothing else leads to them.
"""
