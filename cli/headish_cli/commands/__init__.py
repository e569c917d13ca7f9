"""The commands, one module for those that belong together. A module is imported when one of its commands runs."""
