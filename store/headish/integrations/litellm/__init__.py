"""LiteLLM: a callback that records each call. Needs the extra ``litellm``."""

from headish.integrations.litellm.logger import HeadishLogger

__all__ = ["HeadishLogger"]
