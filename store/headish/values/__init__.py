"""Floor 0. Values: frozen structs, and the rules that hold for one value alone.

What a name may be stands in ``names``, how a headish is read in ``grammar``.
"""
