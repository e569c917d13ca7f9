"""The benchmarks: ``make bench`` and ``make bench-peers``."""
