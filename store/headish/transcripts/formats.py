"""The formats by name, with the parser and the writer of each."""

from __future__ import annotations

from headish.errors import InvalidArgument, UnknownFormat, shown
from headish.transcripts.chatml01.parser import ChatMLParser
from headish.transcripts.chatml01.writer import write_chatml
from headish.transcripts.openchatml.parser import FrameParser
from headish.transcripts.openchatml.writer import write_transcript
from headish.transcripts.rwkv.parser import RWKVParser
from headish.transcripts.rwkv.writer import write_rwkv
from headish.transcripts.shared.parser import Parser
from headish.transcripts.shared.transcript import Transcript

FORMATS = ("v0.1", "2.0", "2.2", "harmony", "rwkv")
ALIASES = {"openchatml": "2.2"}


def open_parser(
    format: str, *, strict: bool = True, start_role: str | None = None, bos: str = "[BOS]", eos: str = "[EOS]"
) -> Parser:
    """The incremental parser of a format. Raises: UnknownFormat, InvalidArgument."""
    name = known_format(format)
    if start_role is not None and (not isinstance(start_role, str) or not start_role):
        raise InvalidArgument(f"start_role is the name of a role, not {shown(start_role)}")
    if name == "v0.1":
        return ChatMLParser(bos=bos, eos=eos, start_role=start_role)
    return (
        RWKVParser(start_role=start_role) if name == "rwkv" else FrameParser(name, strict=strict, start_role=start_role)
    )


def write(transcript: Transcript, format: str, *, strict: bool = True, bos: str = "[BOS]", eos: str = "[EOS]") -> str:
    """The text of a transcript. Raises: Unrepresentable, HeaderValue, UnknownFormat."""
    name = known_format(format)
    if name == "v0.1":
        return write_chatml(transcript, bos=bos, eos=eos)
    return write_rwkv(transcript) if name == "rwkv" else write_transcript(transcript, name, strict=strict)


def is_format(name: object) -> bool:
    """Whether there is a format of this name, aliases included."""
    return isinstance(name, str) and (name in FORMATS or name in ALIASES)


def known_format(format: str) -> str:
    """The name of a format as plain text, aliases resolved: a member of a caller's ``Enum`` may be equal to a name, and
    another text where it is written. Raises: UnknownFormat."""
    name = ALIASES.get(format, format) if isinstance(format, str) else ""
    if name not in FORMATS:
        raise UnknownFormat(format, (*FORMATS, *ALIASES))
    return str.__str__(name)
