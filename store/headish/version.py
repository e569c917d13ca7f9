"""The version of headish: read by the packaging, by ``headish --version`` and by nothing else."""

__version__ = "0.1.0"
