"""Commands that need no store: ``convert`` a transcript into another format, ``lint-transcript``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from headish.errors import InvalidImport, UnknownFormat
from headish_cli.options import INPUT, json_option, read_file, refuse_without
from headish_cli.printing.output import print_json, write

if TYPE_CHECKING:
    from headish.transcripts import Transcript

JSON_FORMS = {
    "json": None, "chat": "rwkv", "responses": "rwkv", "anthropic": "rwkv", "interchange": "2.2",
    "interchange20": "2.0",
}  # fmt: skip
"""The forms of JSON, and the format whose model each one carries; None for the neutral model, which carries any."""
from_option = click.option("--from", "source", metavar="FORMAT", help="What FILE is; detected when not given.")


@click.command("convert")
@click.argument("file", type=INPUT)
@from_option
@click.option("--to", "target", required=True, metavar="FORMAT", help="What to print.")
@click.option("--drop", multiple=True, metavar="WHAT", help="Give up, by name, what would be lost.")
@click.option("--partial", is_flag=True, help="Take a transcript that ends early.")
@click.option("--relaxed", is_flag=True, help="Take bodies that break their constraint, and missing channels.")
@click.option("--start-role", metavar="ROLE", help="The text begins inside this role's header, as a completion does.")
@click.option("--tight", is_flag=True, help="v0.1: no line break before <|im_end|> where headish writes a message.")
@click.option("--bos", default="[BOS]", help="v0.1: the base model's token for the beginning.")
@click.option("--eos", default="[EOS]", help="v0.1: the base model's token for the end.")
def convert_command(
    file: str, source: str | None, target: str, drop: tuple[str, ...], relaxed: bool, tight: bool, bos: str, eos: str,
    **further: Any,
) -> None:  # fmt: skip
    """Print a transcript in another format. Refuses anything that would not survive the round trip.

    Formats are v0.1, 2.0, 2.2 (OpenChatML), harmony, rwkv; as JSON chat, responses, anthropic, interchange (2.2),
    interchange20, and json, the neutral model.
    """
    # Late, as in every command: `headish --help` imports each command, and must not load the formats.
    from headish.transcripts import convert, convert_to_api, emit, to_json
    from headish.transcripts.drops import give_up
    from headish.transcripts.formats import ALIASES, FORMATS
    from headish.transcripts.threads import APIS

    if target not in (*FORMATS, *ALIASES, *JSON_FORMS):
        raise UnknownFormat(target, (*FORMATS, *ALIASES, *JSON_FORMS))
    if target != "v0.1":
        refuse_without("--to v0.1", "tight")
    settings = {"strict": not relaxed, "bos": bos, "eos": eos, **further}
    transcript, form = read_transcript(read_bytes(file), source, settings)
    if target == "json":
        print_json(to_json(give_up(transcript, drop)), pretty=True)
    elif target in APIS:
        print_json(convert_to_api(transcript, form or "rwkv", _writers()[target], drop=drop), pretty=True)
    else:
        target_form = JSON_FORMS.get(target) or target
        converted = convert(transcript, form or target_form, target_form, drop=drop, tight=tight)
        if target in JSON_FORMS:
            print_json(_writers()[target](converted), pretty=True)
        else:
            write(emit(converted, target_form, strict=not relaxed, bos=bos, eos=eos))


@click.command("lint-transcript")
@click.argument("file", type=INPUT)
@from_option
@json_option
def lint_transcript_command(file: str, source: str | None, as_json: bool) -> None:
    """Print a code for each oddity of a transcript, one per line."""
    from headish.transcripts import lint

    transcript, form = read_transcript(
        read_bytes(file), source, {"partial": False, "strict": False, "start_role": None}
    )
    codes = lint(transcript, form or "2.2")
    if as_json:
        print_json(codes)
    else:
        click.echo("".join(f"{code}\n" for code in codes), nl=False)


def read_bytes(file: str) -> bytes:
    """Read a file, or standard input for ``-``. Raises: InvalidImport; TooLarge."""
    try:
        return read_file(file)
    except OSError as error:
        raise InvalidImport(file, None, f"it cannot be read ({error.strerror})") from None


def read_transcript(data: bytes, source: str | None, settings: Mapping[str, Any]) -> tuple[Transcript, str | None]:
    """Parse a transcript. Return it with the format whose model it is; None for the neutral model itself."""
    from headish.content import strictjson
    from headish.imports.readers.api import LISTS
    from headish.transcripts import detect, parse

    if source in JSON_FORMS:
        value = strictjson.decode(data, "the file")
        # The messages alone, as `import` reads them, too.
        body = {LISTS[source]: value} if source in LISTS and isinstance(value, list) else value
        return _readers()[source](body), JSON_FORMS[source]
    # A text that begins inside a header lacks the tokens by which a format is detected.
    name = source or ("2.2" if settings["start_role"] else detect(data))
    transcript = parse(data, name, **settings)
    return transcript, transcript.format


def _readers() -> dict[str, Callable[[Any], Transcript]]:
    from headish import transcripts

    return {name: getattr(transcripts, f"from_{name}") for name in JSON_FORMS}


def _writers() -> dict[str, Callable[[Transcript], Any]]:
    from headish import transcripts

    return {name: getattr(transcripts, f"to_{name}") for name in JSON_FORMS}
