"""The text before the first frame of a 2.x file: blanks, or the YAML header, which ends at the first line that begins
with a start token. The specification's own header holds that token inside a list, so the first token does not end it.
"""

from __future__ import annotations

from typing import Any

from headish.transcripts.openchatml.forms import START, form_of_version
from headish.transcripts.openchatml.yamlheader import (
    BadHeader,
    TextBehindHeader,
    find_yaml,
    read_header,
    requires_channels,
)
from headish.transcripts.shared.source import BLANKS, SourceText
from headish.values.limits import MESSAGE_HEADER_LIMIT


class Preamble:
    """Reads up to the first frame. ``form`` is the one that the header's version picks, None without a header."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._scanned = self._first = 0
        self.header: dict[str, Any] | None = None
        self.raw: str | None = None
        self.form: str | None = None
        self.requires_channels = False

    def read(self) -> bool:
        """Read on. True once the first frame is reached, False if more input is needed. Raises: InvalidTranscript."""
        source, text = self._source, self._source.text
        begin = self._first = next((at for at in range(self._first, len(text)) if text[at] not in BLANKS), len(text))
        if text.startswith(START, begin):
            source.at = begin
            return True
        found = text.find("\n" + START, max(self._scanned, begin - 1))
        # The next chunk may complete a start token.
        self._scanned = max(0, len(text) - len(START))
        if found >= 0:
            self._take(text[: found + 1])
            source.at = found + 1
        elif len(text) - begin > MESSAGE_HEADER_LIMIT + len(START):
            raise source.error("E-PARSE-HEADER", f"the YAML header has more than {MESSAGE_HEADER_LIMIT} bytes")
        return found >= 0

    def finish(self) -> None:
        """Take a header that no frame follows. The beginning of a start token after it is left unread."""
        source = self._source
        line = source.text[source.text.rfind("\n") + 1 :]
        if self._first + len(line) > len(source.text):
            line = source.text[self._first :]
        rest = line if line and START.startswith(line) else ""
        raw = source.text[: len(source.text) - len(rest)]
        if raw.strip(BLANKS):
            self._take(raw)
        source.at = len(raw)

    def _take(self, raw: str) -> None:
        source = self._source
        try:
            header = read_header(find_yaml(raw))
        except BadHeader as error:
            raise source.error("E-PARSE-HEADER", str(error)) from None
        except TextBehindHeader as error:
            raise source.error("E-PARSE-FRAME", str(error), error.at) from None
        self.header, self.raw, self.form = header, raw, form_of_version(header["version"])
        if self.form is None:
            raise source.error("E-PARSE-HEADER", f"version {header['version']} is not one that is read here")
        self.requires_channels = requires_channels(header)
