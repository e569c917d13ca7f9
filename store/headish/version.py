"""The version of headish: read by the packaging, by ``headish --version`` and by nothing else."""

__version__ = "0.2.0"
"""Between two releases: the next one, with ``.dev0``."""
