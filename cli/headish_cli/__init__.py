"""The headish command."""
