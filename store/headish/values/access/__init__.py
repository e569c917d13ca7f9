"""Decide who may talk to a server of headish: pure checks of requests and of tokens.

They know no socket, framework or store, so that every process of ``headish serve`` shares them.
"""
