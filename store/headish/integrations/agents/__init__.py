"""OpenAI Agents SDK: ``HeadishSession`` keeps the items of an agent's runs (docs/how-to/integrations/agents.md)."""

from headish.integrations.agents.session import HeadishSession

__all__ = ["HeadishSession"]
