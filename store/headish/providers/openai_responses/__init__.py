"""OpenAI's Responses API, used without its memory: each request has the whole thread, and the server keeps nothing.

Source: https://developers.openai.com/api/reference/resources/responses, as the types of the official SDK have it,
openai 3.54.0, read on 2026-11-21.
"""

from headish.providers.openai_responses.reply import OpenAIResponsesReader
from headish.providers.openai_responses.request import OpenAIResponsesWriter
from headish.providers.shared.provider import Provider

PROVIDER = Provider("openai_responses", OpenAIResponsesWriter, OpenAIResponsesReader)
