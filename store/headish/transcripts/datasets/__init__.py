"""Rows of data sets: a thread as one line of what trainers read, and what of a thread a trainer must not see."""
