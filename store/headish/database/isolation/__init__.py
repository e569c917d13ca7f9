"""Separate spaces by PostgreSQL's own means: roles, grants, policies, and which login may enter which space."""
