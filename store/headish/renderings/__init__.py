"""What a window or a thread looks like outside: ``emission`` writes for models and programs, ``pages`` for people.

A page shows only what an end user may see, unless a debugging view opts in.
"""
