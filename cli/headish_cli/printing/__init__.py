"""Printing: values on stdout, messages on stderr, answers while they arrive, drawings."""
