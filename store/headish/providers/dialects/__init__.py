"""Dialects: how servers that speak Chat Completions differ from OpenAI's own, as a table with the source of each row.

A dialect decides how a request is written and how an answer is read. It never decides where a request goes or which key
goes along (ADR 0044).
"""
