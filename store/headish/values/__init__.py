"""Values: frozen structs, and the rules that apply to one value alone.

``names`` says what a name may be, ``grammar`` how a headish is read.
"""
