"""Texts and models of transcripts, and readers that know nothing of the library's own."""
