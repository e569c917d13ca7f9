"""Google's Gemini API: ``POST /v1/models/MODEL:generateContent``, and ``:streamGenerateContent?alt=sse``.

Source: https://ai.google.dev/api/generate-content, as the types of the official SDK have it, google-genai 3.4.0, read
on 2026-11-21.
"""

from headish.providers.gemini.reply import GeminiReader
from headish.providers.gemini.request import GeminiWriter
from headish.providers.shared.provider import Provider

PROVIDER = Provider("gemini", GeminiWriter, GeminiReader)
