"""Verbs that store turns: added, imported, copied, edited, and seen otherwise by overlays."""
