"""Batches of a provider: many requests that it answers later and for less.

``apis`` has the calls of each provider's API, ``remote`` sends them. Nothing here knows the store or the meaning of an
answer.
"""
