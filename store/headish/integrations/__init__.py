"""Adapters: headish as the memory of other frameworks. Each has a package of its own, and an extra of the same name.

==================  ============================  ===============
framework           import from                   extra
==================  ============================  ===============
OpenAI Agents SDK   ``integrations.agents``       ``agents``
LangChain           ``integrations.langchain``    ``langchain``
Google ADK          ``integrations.adk``          ``adk``
LangGraph           ``integrations.langgraph``    ``langgraph``
LiteLLM             ``integrations.litellm``      ``litellm``
Pydantic AI         ``integrations.pydantic_ai``  ``pydantic-ai``
==================  ============================  ===============

Importing this package imports no framework.
"""

from headish.adapters.naming import safe_name, text_of

__all__ = ["safe_name", "text_of"]
