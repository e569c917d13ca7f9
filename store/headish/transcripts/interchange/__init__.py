"""Transcripts as JSON: the interchange forms of OpenChatML 2.2 and 2.0, and the neutral model itself."""
