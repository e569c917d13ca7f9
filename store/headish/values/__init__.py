"""Values: frozen structs, and the rules that hold for one value alone.

``names`` says what a name may be, ``grammar`` how a headish is read.
"""
