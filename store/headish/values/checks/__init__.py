"""Checks of arguments, texts and addresses."""
