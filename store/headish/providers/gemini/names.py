"""Names of tools as Gemini takes them: a letter or an underscore stands first."""

from __future__ import annotations

from headish.providers.shared.tools import ToolNames


class GeminiNames(ToolNames):
    """Names that Gemini refuses, rewritten one for one; the digest at the end keeps them apart."""

    def send(self, name: str) -> str:
        sent = super().send(name)
        if sent not in self.rewritten or not sent.startswith(_NEVER_FIRST):
            return sent
        del self.rewritten[sent]
        begun = "_" + sent[1:]
        self.rewritten[begun] = name
        return begun


_NEVER_FIRST = ("-", *"0123456789")
