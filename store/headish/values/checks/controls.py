"""Write out the characters that steer a terminal.

Steering characters are the C0 and C1 controls without tab and line feed, DEL, and the bidirectional embeddings,
overrides and isolates, which can reorder the rest of a line. A carriage return before a line feed is a line end and
stays. Format characters that scripts need (ZWJ, ZWNJ, soft hyphen, LRM, RLM) do not steer and are never touched.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress

# Compiled at first use: most texts have only printable characters, and a command would take longer to start.
_STEERING = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
# Inside JSON the C0 controls are escaped already; U+2028 and U+2029 end a line in YAML and in older JavaScript.
_STEERING_IN_JSON = "[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"


def escape_controls(text: str) -> str:
    r"""The text with every steering character written out: ``\x1b``, ``\r``, ``\u202e``. For terminals."""
    if text.isprintable():
        return text
    return re.sub(_STEERING, lambda match: ascii(match.group())[1:-1], text)


def escape_json_controls(encoded: str) -> str:
    """JSON text with its steering characters as JSON escapes. It still decodes to the same value."""
    if encoded.isprintable():
        return encoded
    return re.sub(_STEERING_IN_JSON, lambda match: f"\\u{ord(match.group()):04x}", encoded)


def report(line: str) -> None:
    """Print a line on stderr for people. For processes that live long: a line that cannot be written, because the disk
    is full or nobody reads any more, is lost, and the process goes on."""
    with suppress(OSError):
        print(escape_controls(line), file=sys.stderr, flush=True)
