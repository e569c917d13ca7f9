"""Google ADK: ``HeadishSessionService`` keeps the sessions of agents (docs/how-to/integrations/adk.md)."""

from headish.integrations.adk.service import HeadishSessionService

__all__ = ["HeadishSessionService"]
