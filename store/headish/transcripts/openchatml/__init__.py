"""OpenChatML 2.2 and 2.0, and Harmony's wire form: one parser and one writer over a table of forms."""
