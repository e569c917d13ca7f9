"""Read a person's message: text, piped input, attachments, and the options of its call."""

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
    """A message and the values of ``say_options``, as the library takes them.

    ``turn`` has the arguments ``system`` and ``inherited`` of ``Store.say``; ``params`` apply to this call alone.
    """

    # Not a NamedTuple: `add` imports this module, too, and creating the class would take as long as three imports.
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
"""The options of ``ask`` for its message, apart from the text."""


def read_said(
    text: str | None, system: str | None, attached: tuple[str, ...], options: tuple[str, ...], schema: str | None,
    settings_pairs: tuple[str, ...], *, may_be_absent: bool,
) -> Said:  # fmt: skip
    """Read text, files and options. Raises: UsageError; InvalidContent, TooLarge, OSError."""
    params = read_params(options)
    if schema is not None:
        params["schema"] = _read_schema(schema)
    content = read_content(text, attached, may_be_absent=may_be_absent)
    if content == "":  # from an unset variable of a shell; no provider takes it, and the turn would stay in the thread
        raise click.UsageError("there is nothing to say: the text is empty")
    inherited = parse_settings(settings_pairs) or None
    needing_text = [("--system", system), ("--set", inherited)]
    for name, value in needing_text:
        if content is None and value is not None:
            raise click.UsageError(f"{name} belongs to something that is said: give TEXT")
    return Said(content, {"system": system, "inherited": inherited}, params or None)


def check_call(base_url: str | None) -> None:
    """Refuse a call that can never be made, before the message is stored. Raises: InvalidArgument."""
    from importlib.util import find_spec

    from headish.values.checks.addresses import parse_address

    if base_url is not None:
        parse_address(base_url)
    # Looks without importing, which `ask` would pay for even if the store then refuses.
    if find_spec("httpx2") is None:
        raise InvalidArgument("calling a provider needs the extra: pip install 'headish[call]'")


def choose_model(
    settings: GlobalOptions, store: Store, heads: Any, ptr: str | None, to: str | None, model: str | None
) -> str | None:
    """Choose the model or pointer to ask: ``model`` or, if neither an option nor the thread names one, the person's own
    pointer (``HEADISH_PTR``, the configuration).

    Raises: UnknownPointer if the person's own pointer does not exist.
    """
    if settings.ptr is None or any(each is not None for each in (ptr, to, model)):
        return model
    if heads and store.options(heads).get("provider_ptr") is not None:
        return None
    _ = store.pointers[settings.ptr]  # raises: otherwise the name would be taken for a model of the provider
    return settings.ptr


def read_content(text: str | None, attached: tuple[str, ...], *, may_be_absent: bool = False) -> Content | None:
    """Read the attachments, then TEXT and standard input as ``read_text`` joins them; ``-`` attaches standard input."""
    if not attached:
        return read_text(text, may_be_absent=may_be_absent)
    if attached.count("-") + (text == "-") > 1:
        raise click.UsageError("standard input can be read once")
    message = text if "-" in attached else read_text(text, may_be_absent=True)
    documents = [read_attachment(each) for each in attached]
    return [*documents, *([message] if message else [])]


def read_attachment(place: str) -> Any:
    """Make a content block of a file, of standard input (``-``), or of a URL, which is not fetched.

    Raises: OSError; TooLarge; InvalidContent for an empty file; InvalidArgument for an invalid URL; Told.
    """
    from base64 import b64encode

    from headish.content.media import guess_media_type

    if place.lower().startswith(SCHEMES):
        return _url_block(place)
    data = read_file(place, PAYLOAD_LIMIT_BYTES)
    name = None if place == "-" else name_of(place, "rename it, or attach standard input: -a - < FILE")
    source = {"type": "base64", "media_type": guess_media_type(data, name), "data": b64encode(data).decode()}
    return {"type": "document", "source": source, **({"name": name} if name else {})}


def name_of(path: str, advice: str) -> str:
    """The name of a file. Raises: Told, with the advice, if it is not UTF-8: the name is stored as text."""
    from os.path import basename

    try:
        return basename(path.encode().decode())
    except UnicodeEncodeError:
        from headish_cli.printing.output import Told

        raise Told(f"the name of the file {path} is not UTF-8, so it cannot be stored: {advice}") from None


def read_params(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` pairs into parameters; a value that is not JSON is taken as a string."""
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
        raise click.BadParameter(f"{file} is not a JSON schema: it is not an object", param_hint="--schema")
    return schema


def _url_block(url: str) -> dict[str, Any]:
    """A document at a URL. Its media type follows from the file extension in the path."""
    from os.path import splitext
    from urllib.parse import urlsplit

    from headish.content.media import EXTENSIONS

    try:
        path = urlsplit(url).path
    except ValueError as error:
        raise InvalidArgument(f"{url!r} cannot be read as a URL ({error})") from None
    kind = EXTENSIONS.get(splitext(path)[1].lower())
    return {"type": "document", "source": {"type": "url", "url": url, **({"media_type": kind} if kind else {})}}
