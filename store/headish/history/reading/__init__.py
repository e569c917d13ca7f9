"""From a headish to turns, messages and options."""
