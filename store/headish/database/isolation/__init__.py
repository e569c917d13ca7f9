"""Spaces that PostgreSQL keeps apart: roles, grants, policies, and who may enter which space."""
