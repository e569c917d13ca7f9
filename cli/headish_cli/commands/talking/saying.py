"""Read one message of a person: text, piped input, attachments, and the options of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headish.errors import InvalidArgument, InvalidContent
from headish.values.limits import PAYLOAD_LIMIT_BYTES
from headish_cli.options import (
    INPUT,
    PLACE,
    GlobalOptions,
    combine_pairs,
    parse_settings,
    read_file,
    read_text,
    together,
)

if TYPE_CHECKING:
    from headish import Store
    from headish.content.encoding import Content

SCHEMES = ("http://", "https://")

attach_option = click.option(
    "-a", "--attach", "attached", multiple=True, type=INPUT, metavar="FILE|URL|-",
    help="Send a file along, or standard input; a URL is kept as it is, and nothing is fetched. Several times.",
)  # fmt: skip


class Said:
    """What the options of ``say_options`` say, as the library takes it.

    ``turn`` are ``system`` and ``inherited`` of ``Store.say``; ``params`` are those of this call alone.
    """

    # No NamedTuple, which takes as long to make as three modules to import: ``add`` imports this one, too.
    def __init__(self, content: Content | None, turn: dict[str, Any], params: dict[str, Any] | None) -> None:
        self.content, self.turn, self.params = content, turn, params


say_options = together(
    click.option("-s", "--system", metavar="TEXT", help="Begin a thread with this system message."),
    attach_option,
    click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE",
                 help="A parameter for this call alone, as temperature=0.2; kept beside the reply."),
    click.option("--schema", type=PLACE, metavar="FILE",
                 help="For this call: the JSON schema that the answer must follow."),
    click.option("--set", "settings_pairs", multiple=True, metavar="KEY=JSON",
                 help="Inherited: any option; a.b=1 sets inside a record, null switches off."),
)  # fmt: skip
"""The options of ``ask`` beside its text."""


def read_said(
    text: str | None, system: str | None, attached: tuple[str, ...], options: tuple[str, ...], schema: str | None,
    settings_pairs: tuple[str, ...], *, may_be_absent: bool,
) -> Said:  # fmt: skip
    """Read text, files and options. Raises: UsageError; InvalidContent, TooLarge, OSError."""
    params = read_params(options)
    if schema is not None:
        params["schema"] = _read_schema(schema)
    content = read_content(text, attached, may_be_absent=may_be_absent)
    if content == "":  # as of an unset variable; no provider takes it, and it would stand in the thread
        raise click.UsageError("there is nothing to say: the text is empty")
    inherited = parse_settings(settings_pairs) or None
    given = [("--system", system), ("--set", inherited)]
    for name, value in given:
        if content is None and value is not None:
            raise click.UsageError(f"{name} belongs to something that is said: give TEXT")
    return Said(content, {"system": system, "inherited": inherited}, params or None)


def check_call(base_url: str | None) -> None:
    """Refuse a call that can never be made, before what is said is stored. Raises: InvalidArgument."""
    from importlib.util import find_spec

    from headish.values.checks.addresses import parse_address

    if base_url is not None:
        parse_address(base_url)
    if find_spec("httpx2") is None:
        raise InvalidArgument("calling a provider needs the extra: pip install 'headish[call]'")


def choose_model(
    settings: GlobalOptions, store: Store, heads: Any, ptr: str | None, to: str | None, model: str | None
) -> str | None:
    """The model to ask, or the name of a pointer: the person's own (``HEADISH_PTR``, the configuration) where neither
    an option nor the thread says who.

    Raises: UnknownPointer where there is no pointer of that name.
    """
    if settings.ptr is None or any(each is not None for each in (ptr, to, model)):
        return model
    if heads and store.options(heads).get("provider_ptr") is not None:
        return None
    _ = store.pointers[settings.ptr]
    return settings.ptr


def read_content(text: str | None, attached: tuple[str, ...], *, may_be_absent: bool = False) -> Content | None:
    """TEXT and standard input as ``read_text`` joins them, behind the attachments; ``-`` attaches standard input."""
    if not attached:
        return read_text(text, may_be_absent=may_be_absent)
    if attached.count("-") + (text == "-") > 1:
        raise click.UsageError("standard input can be read once")
    said = text if "-" in attached else read_text(text, may_be_absent=True)
    documents = [read_attachment(each) for each in attached]
    return [*documents, *([said] if said else [])]


def read_attachment(place: str) -> Any:
    """The content block of a file, of standard input (``-``), or of what lies at a URL.

    Raises: OSError; TooLarge; InvalidContent for an empty file; InvalidArgument for what is no URL.
    """
    from base64 import b64encode
    from os.path import basename

    from headish.content.media import guess_media_type

    if place.lower().startswith(SCHEMES):
        return _url_block(place)
    data = read_file(place, PAYLOAD_LIMIT_BYTES)
    name = None if place == "-" else basename(place)
    source = {"type": "base64", "media_type": guess_media_type(data, name), "data": b64encode(data).decode()}
    return {"type": "document", "source": source, **({"name": name} if name else {})}


def read_params(pairs: tuple[str, ...]) -> dict[str, Any]:
    """``KEY=VALUE`` pairs as parameters; a value that is not JSON is taken as a string."""
    return combine_pairs(pairs, "KEY=VALUE", "--option", _read_value)


def _read_value(_key: str, text: str) -> Any:
    from headish.content import strictjson

    try:
        return strictjson.decode(text, "--option")
    except InvalidContent:
        return text


def _read_schema(file: str) -> Any:
    from headish.content import strictjson

    schema = strictjson.decode(read_file(file, PAYLOAD_LIMIT_BYTES), f"the schema {file}")
    if not isinstance(schema, dict):
        raise click.BadParameter(f"{file} is no JSON schema: it is not an object", param_hint="--schema")
    return schema


def _url_block(url: str) -> dict[str, Any]:
    """A document that stays where it is. Its type is told by the name at the end of the path."""
    from os.path import splitext
    from urllib.parse import urlsplit

    from headish.content.media import EXTENSIONS

    try:
        path = urlsplit(url).path
    except ValueError as error:
        raise InvalidArgument(f"{url!r} cannot be read as a URL ({error})") from None
    kind = EXTENSIONS.get(splitext(path)[1].lower())
    return {"type": "document", "source": {"type": "url", "url": url, **({"media_type": kind} if kind else {})}}
