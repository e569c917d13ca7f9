"""Readers of other programs' files: a folder per family, a module per format (``headish.imports.registry``)."""
