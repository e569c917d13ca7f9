"""What is found by: the words of a text, the texts of a message, and questions. No database is asked here.

The same words enter an index, a question and the check of a hit, so that every database finds the same.
"""
