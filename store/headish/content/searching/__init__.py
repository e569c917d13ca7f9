"""Search without a database: split texts into words, list the texts of a message, and parse questions.

The same words enter an index, a question and the check of a hit, so that every database finds the same.
"""
