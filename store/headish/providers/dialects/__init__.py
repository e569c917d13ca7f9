"""Dialects: how servers that speak Chat Completions differ from OpenAI's own, as a table with the source of each row.

A dialect says how a request is spelled and how an answer is read. It never says where a request goes, nor which key
goes along.
"""
