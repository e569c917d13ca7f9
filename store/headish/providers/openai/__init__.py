"""OpenAI's Chat Completions API, and the servers that speak it (Ollama, vLLM, llama.cpp, gateways).

Source: https://developers.openai.com/api/reference/resources/chat, as the types of the official SDK have it, openai
3.54.0, read on 2026-11-21.
"""

from headish.providers.openai.reply import OpenAIReader
from headish.providers.openai.request import OpenAIWriter
from headish.providers.shared.provider import Provider

PROVIDER = Provider("openai", OpenAIWriter, OpenAIReader)
