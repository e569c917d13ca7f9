"""Bundles of turns: written, applied, and checked without a store."""
