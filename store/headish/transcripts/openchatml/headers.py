"""Message headers of OpenChatML 2.x: read word by word, written in canonical order.

::

    <|start|>ROLE[ key=value …][<|channel|>CHANNEL[ key=value …]][<|constrain|>TYPE]<|message|>

Sections come in this order, each at most once; any run of blanks separates words. Attributes are read in any order,
before or after the channel. Reading and writing refuse what does not fit: no reader would undo an escape.

Source: OpenChatML 2.2 §6, §12, §15; 2.0 §6; Harmony's docs/format.md and its own parser, where they differ.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from headish.errors import HeaderValue, Unrepresentable
from headish.transcripts.openchatml.forms import ATTRIBUTE_NAME, CHANNELS, FORMS, ROLES, FrameForm, is_tool_role
from headish.transcripts.shared.transcript import Header, is_header_value

REMEMBERED = 120
"""The longest header, in characters, whose reading is remembered."""


class BadFrame(ValueError):
    """A header that the grammar refuses; ``at`` is where, in characters after its start token."""

    def __init__(self, reason: str, at: int) -> None:
        self.reason, self.at = reason, at
        super().__init__(reason)


class HeaderWord(Struct, frozen=True):
    """One word of a header, and its position."""

    text: str
    at: int


def read_frame_header(text: str, form: FrameForm) -> Header:
    """The header between a start token and the message token. Raises: BadFrame."""
    return _read_short(text, form.name) if len(text) <= REMEMBERED else _read(text, form)


# A conversation has the same few headers again and again. Only short ones are kept, so the cache stays small.
@lru_cache(maxsize=256)
def _read_short(text: str, form: str) -> Header:
    return _read(text, FORMS[form])


def _read(text: str, form: FrameForm) -> Header:
    start, channel, constrain = _split_sections(text, form)
    words = _split_words(*start)
    if not words:
        raise BadFrame("a message header needs a role", len(text))
    channel_name = None
    behind: list[HeaderWord] = []
    if channel is not None:
        channel_name, behind = _read_channel(*channel)
    attributes = _Attributes(form)
    bare = [word for word in [*words[1:], *behind] if not attributes.read(word)]
    # Last, because what a bare word means depends on whether `to=` was written.
    attributes.read_bare(bare)
    role = _read_role(words[0], attributes)
    kind = None if constrain is None else _read_constrain(*constrain)
    return Header(role=role, channel=channel_name, constrain=kind, extra=attributes.extra, **attributes.known)


def _split_sections(
    text: str, form: FrameForm
) -> tuple[tuple[str, int], tuple[str, int] | None, tuple[str, int] | None]:
    """The sections, each with its position: the start, and those after the channel and the constrain token."""
    spans: dict[str, tuple[int, int]] = {}
    for token in form.token.finditer(text):
        name = token.group(1)
        if name not in ("channel", "constrain") or name in spans or (name == "channel" and "constrain" in spans):
            raise BadFrame(f"{token.group()} has no place here", token.start())
        spans[name] = token.span()
    ends = sorted([begin for begin, _ in spans.values()] + [len(text)])
    sections = {name: (text[end : next(each for each in ends if each >= end)], end) for name, (_, end) in spans.items()}
    return (text[: ends[0]], 0), sections.get("channel"), sections.get("constrain")


def _split_words(text: str, at: int) -> list[HeaderWord]:
    """The words between blanks. Only space, tab, line feed and carriage return are blanks."""
    words: list[HeaderWord] = []
    place = 0
    for piece in text.replace("\t", " ").replace("\n", " ").replace("\r", " ").split(" "):
        if piece:
            words.append(HeaderWord(piece, at + place))
        place += len(piece) + 1
    return words


def _read_channel(text: str, at: int) -> tuple[str, list[HeaderWord]]:
    words = _split_words(text, at)
    # Exact, because it decides who sees the text.
    if not words or words[0].at != at or words[0].text not in CHANNELS:
        raise BadFrame(f"a channel is one of {', '.join(CHANNELS)}", at)
    return words[0].text, words[1:]


def _read_constrain(text: str, at: int) -> str:
    words = _split_words(text, at)
    if len(words) != 1 or not is_header_value(words[0].text):
        raise BadFrame("<|constrain|> takes one word", at)
    return words[0].text


def _read_role(word: HeaderWord, attributes: _Attributes) -> str:
    """The role. A name that is written with it, or in its place, becomes an attribute."""
    role, colon, name = word.text.partition(":")
    if word.text in ROLES:
        return word.text
    if colon and role in ROLES and role != "tool":
        attributes.set("name", HeaderWord(name, word.at))
        return role
    # Harmony writes a tool's name in place of the role. Beside a recipient, any other word is a tool's name, too.
    if is_tool_role(word.text) or attributes.to_was_written:
        attributes.set("name", word)
        return "tool"
    raise BadFrame(f"{word.text[:80]!r} is not a role", word.at)


class _Attributes:
    """The attributes of a header, as they are read."""

    def __init__(self, form: FrameForm) -> None:
        self._form = form
        self.known: dict[str, str] = {}
        self.extra: dict[str, str] = {}
        self.to_was_written = False

    def read(self, word: HeaderWord) -> bool:
        """Take ``key=value``; False for a bare word."""
        key, equals, value = word.text.partition("=")
        if not equals:
            return False
        if ATTRIBUTE_NAME.fullmatch(key) is None:
            raise BadFrame(f"{key[:80]!r} is not the name of an attribute", word.at)
        self.to_was_written = self.to_was_written or key == "to"
        self.set(key, HeaderWord(value, word.at))
        return True

    def read_bare(self, words: list[HeaderWord]) -> None:
        """Take Harmony's bare words: the content type and, unless ``to=`` is written, the recipient before it."""
        keys = ("content_type",) if self.to_was_written else ("to", "content_type")[: self._form.bare_words]
        if not self._form.constrains or len(words) > len(keys):
            keys = ()
        if words and not keys:
            raise BadFrame(f"{words[0].text[:80]!r} is not an attribute", words[0].at)
        for key, word in zip(keys, words, strict=False):
            self.set(key, word)

    def set(self, key: str, word: HeaderWord) -> None:
        if not is_header_value(word.text):
            raise BadFrame(f"the value of {key} holds what no header may hold", word.at)
        # One value written twice does no harm; of two, nobody could tell which one counts.
        into = self.known if key in self._form.known else self.extra
        if into.setdefault(key, word.text) != word.text:
            raise BadFrame(f"{key} appears twice, with two values", word.at)


def write_attributes(header: Header, form: FrameForm, turn: str | None = None) -> str:
    """The attributes of a header in canonical order, each after a blank.

    Raises: HeaderValue if a name or value would break the header.
    """
    order = form.reply_order if header.role == "tool" else form.known
    known = [(key, value) for key in order if (value := getattr(header, key)) is not None]
    for key in header.extra:
        if ATTRIBUTE_NAME.fullmatch(key) is None or key in form.known:
            raise HeaderValue(form.title, f"an attribute named {key[:80]!r}", turn=turn)
    return "".join(f" {key}={check_value(key, value, form, turn)}" for key, value in [*known, *header.extra.items()])


def check_value(key: str, value: str, form: FrameForm, turn: str | None = None) -> str:
    """Return the value, checked for a header. Raises: HeaderValue."""
    if not is_header_value(value):
        raise HeaderValue(form.title, f"{key}={value[:80]!r} in a message header", turn=turn)
    return value


def check_channel(channel: str | None, form: FrameForm, turn: str | None = None) -> str | None:
    """Return the channel, one of three or None. It decides who sees the text, so any other is refused."""
    if channel is not None and channel not in CHANNELS:
        raise Unrepresentable(form.title, f"the channel {channel[:80]!r}", turn=turn)
    return channel
