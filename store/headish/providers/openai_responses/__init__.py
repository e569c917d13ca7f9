"""OpenAI's Responses API, used without its memory: all of a thread is in each request, nothing is kept by the server.

Source: https://developers.openai.com/api/reference/resources/responses, as the types of the official SDK have it,
openai 3.54.0, read on 2026-11-21.
"""

from headish.providers.openai_responses.reply import OpenAIResponsesReader
from headish.providers.openai_responses.request import OpenAIResponsesWriter
from headish.providers.shared.provider import Provider

PROVIDER = Provider("openai_responses", OpenAIResponsesWriter, OpenAIResponsesReader)
