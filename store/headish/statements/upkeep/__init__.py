"""The statements of ``rows/upkeep``, and of reports."""
