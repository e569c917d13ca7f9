"""Batches of a provider: many requests that it answers later and for less.

``apis`` says how each provider's API is asked, ``remote`` asks. Nothing here knows the store or what an answer means.
"""
