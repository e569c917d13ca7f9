"""Read what clients send: a list, a body or one turn's content becomes blocks and a record of how they were written.

Each reading is proved at once: the blocks, written and changed by the kept difference, equal what was given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from headish.content import strictjson
from headish.content.forms.layout import find_difference
from headish.content.forms.parts import FORM, WHAT, Form, Losses, NeutralEntry, refuse
from headish.content.forms.responses import group
from headish.content.forms.table import FORMS, find_form, tell_content, tell_form
from headish.errors import InvalidArgument
from headish.values.blocks import Block, ContentBlock, Other, ProviderBlock
from headish.values.caches import Cache, longest, plausible_cache
from headish.values.messages import Message

T = TypeVar("T")
Through: TypeAlias = "Callable[[str, list[Any], Callable[[list[Any]], Read | Any]], T]"
OPTIONS = ("cache", "attributes", "meta", "said_at", "key")
"""Keys of headish's own beside ``role`` and ``content``; no API has them."""
WRAPPED = "message"
"""The key that wraps an entry of any form, so that options of headish's own can be beside it."""
_MARKS = ("cache_control", "prompt_cache_breakpoint")
_IN_MARKS = b"cache_"
"""Bytes that each of them contains."""
_GEMINI_ROLES = {"assistant": "model", "tool": "function"}


class Read(NamedTuple):
    """One turn: what it says, whether it asks for a cache, how it was written (``system.form``), and the options of
    headish's own beside it."""

    role: str
    blocks: tuple[ContentBlock, ...]
    speaker: str | None
    cache: Cache
    form: dict[str, Any] | None
    options: Mapping[str, Any]


def read_list(messages: Any, name: str | None = None) -> list[Read | Any]:
    """Read the turns of a list, or of a request's body. Entries that could be of any form are returned as they are.

    ``name`` is the form; None recognises it by its shape. Raises: InvalidContent, InvalidArgument, UnknownFormat.
    """
    return read_through(messages, name, lambda _, run, read: read(run))


def read_through(messages: Any, name: str | None, through: Through[T]) -> list[T]:
    """As ``read_list``, but pass each turn through a function. It gets a name for the way in which the entries of the
    turn are read, the entries, and their reader. Equal entries with equal names are read alike.

    Raises: as ``read_list``.
    """
    form = None if name is None else find_form(name)
    if isinstance(messages, Mapping):
        return _read_body(messages, form, through)
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        raise InvalidArgument("messages are a list, or the body of a request that holds one")
    return _read_entries([_plain(each) for each in messages], form, through)


def read_turn(content: Any, turn: Mapping[str, Any]) -> Read | None:
    """Read the content of one turn: an entry of a form, or its parts. None if it could be of any form."""
    name = turn.get("form")
    plain = _plain(content) if isinstance(content, Mapping) or _is_sdk(content) else content
    if isinstance(plain, list | tuple):
        plain = [_plain(each) for each in plain]
    form = _tell_turn(plain) if name is None else find_form(name)
    if form is None:
        return None
    entries = _as_entries(form, plain, turn.get("role"))
    read = _read(form, entries)
    if turn.get("role") not in (None, read.role):
        raise InvalidArgument(f"the message is of role {read.role}, and role={turn['role']!r:.80}")
    return read


def _tell_turn(content: Any) -> Form | None:
    if isinstance(content, Mapping):
        return tell_form([content]) if "role" in content or "parts" in content else tell_content([content])
    return tell_content(content) if isinstance(content, list) and not any(map(is_neutral, content)) else None


def _as_entries(form: Form, content: Any, role: Any) -> list[Any]:
    """The entries of an API's list that the content of one turn holds."""
    role = "user" if role is None else role
    if isinstance(content, Mapping) and ("role" in content or form.list_name == "input" or "parts" in content):
        return [content]
    parts = [content] if isinstance(content, Mapping) else content
    if form.list_name == "input" and isinstance(parts, list) and any(map(_is_item, parts)):
        return parts
    if form.list_name == "contents":
        texts = [{"text": parts}] if isinstance(parts, str) else parts
        return [{"role": _GEMINI_ROLES.get(role, role), "parts": texts}]
    return [{"role": role, "content": parts}]


def _is_item(part: Any) -> bool:
    if not isinstance(part, Mapping):
        return False
    return "role" in part or tell_form([{"type": part.get("type")}]) is FORMS["responses"]


def _read_body(body: Mapping[str, Any], form: Form | None, through: Through[T]) -> list[T]:
    plain = _plain(body)
    forms = [form] if form is not None else FORMS.values()
    name = next((each.list_name for each in forms if isinstance(plain.get(each.list_name), list | str)), None)
    if name is None:
        raise InvalidArgument("a body holds its list as messages, input or contents")
    if form is None:
        # Among bodies with `messages`, only Anthropic's has its instructions beside them; else the entries decide.
        form_name = {"input": "responses", "contents": "gemini"}.get(name, "anthropic" if "system" in plain else None)
        form = tell_form(plain[name]) if form_name is None else FORMS[form_name]
    instructions = None if form is None else form.system_name
    further = sorted(plain.keys() - {name, instructions, "system_instruction" if name == "contents" else name})
    if further:
        raise InvalidArgument(f"a body is recorded as its messages alone, without {', '.join(further)[:200]}")
    entries = plain[name]
    if isinstance(entries, str):
        entries = [{"role": "user", "content": entries}]
    system = plain.get(instructions or "", plain.get("system_instruction") if name == "contents" else None)
    turns = _read_entries(list(entries), form, through)
    if form is None or system is None:
        return turns
    return [through(f"system of {form.name}", [system], partial(_read_system, form)), *turns]


def _read_system(form: Form, run: Sequence[Any]) -> Read:
    """The instructions before a body's list, as a turn of the system."""
    [instruction] = run
    if form.list_name == "contents":
        place = "entry" if isinstance(instruction, Mapping) else "text"
        entry = instruction if place == "entry" else {"parts": [{"text": instruction}]}
        # Google's SDKs write a role of ``user`` into it.
        read = _read(form, [entry], {"role": "system"})
    else:
        place = "content"
        read = _read(form, [{"role": "system", "content": instruction}])
    return read._replace(form={**(read.form or {}), "place": place})


def _read_entries(entries: Sequence[Any], form: Form | None, through: Through[T]) -> list[T]:
    found_form = form or tell_form([_unwrapped(entry) for entry in entries])
    if found_form is None:
        return [through("plain", [entry], _read_plain) for entry in entries]
    turns = group(entries) if found_form.list_name == "input" else [[entry] for entry in entries]
    way, reader = (f"told {found_form.name}", _read_told) if form is None else (found_form.name, _read_run)
    reading = partial(reader, found_form)
    return [through(way, run, reading) for run in turns]


def _read_told(form: Form, run: Sequence[Any]) -> Read | Any:
    return run[0] if is_neutral_entry(run[0]) else _read_run(form, run)


def _read_run(form: Form, run: Sequence[Any]) -> Read | Any:
    if isinstance(run[0], Message):
        return run[0]
    if not all(isinstance(entry, Mapping) for entry in run):
        raise refuse(f"a message is an object, not {type(run[0]).__name__}")
    options: dict[str, Any] = {}
    natives: list[Any] = []
    for entry in run:
        keys = frozenset(entry)
        if _is_wrapped(entry):
            native = entry[WRAPPED]
            natives += native if isinstance(native, list) else [native]
        elif keys <= {"role", "content", *OPTIONS}:
            natives.append({key: entry[key] for key in entry if key not in OPTIONS})
        else:
            natives.append(entry)
            continue
        options |= {key: entry[key] for key in OPTIONS if key in entry}
    read = _read(form, natives)
    return read._replace(options=options)


def _read_plain(run: Sequence[Any]) -> Read | Any:
    """An entry that could be of any form, unchanged; only a list of one text becomes a text, since both are stored
    alike."""
    [entry] = run
    content = entry.get("content") if isinstance(entry, Mapping) else None
    if not isinstance(content, list) or len(content) != 1 or not isinstance(content[0], Mapping):
        return entry
    if content[0].keys() != {"type", "text"} or content[0]["type"] != "text" or not isinstance(content[0]["text"], str):
        return entry
    options = {key: entry[key] for key in entry if key not in ("role", "content")}
    if not options.keys() <= set(OPTIONS):
        return entry  # the store refuses it
    form = {"layout": {"i": {"0": {"k": {"content": {"p": "text"}}}}}}
    return Read(entry.get("role", "user"), _read(FORMS["chat"], [{"role": "user", "content": content}]).blocks, None,
                False, form, options)  # fmt: skip


def _read(form: Form, entries: Sequence[Any], known: Mapping[str, Any] | None = None) -> Read:
    """Read the entries of one turn; ``known`` overrides what they say. Raises: InvalidContent, TooDeep."""
    known = known or {}
    if not entries or not all(isinstance(entry, Mapping) for entry in entries):
        raise refuse("it is an object, or a list of objects that belong together")
    strictjson.check(list(entries), WHAT)
    plain = [strictjson.plain(entry) for entry in entries]
    saids = [form.read({**entry, **known}) for entry in plain]
    neutral = NeutralEntry(saids[0].role, tuple(block for each in saids for block in each.blocks), saids[0].speaker)
    return prove(form, neutral, plain)


def prove(form: Form, said: NeutralEntry, given: Sequence[Any]) -> Read:
    """Make a turn of what was read of entries, with the difference that gives the entries back."""
    written = form.write(said, Losses(form.name, form.provider))
    spelled = strictjson.encode(given)
    # Nearly every entry is written as it was given: then there is no difference to look for.
    is_same = strictjson.encode(written) == spelled
    layout, further = (None, None) if is_same else find_difference(written, given, form.transport)
    blocks = said.blocks if further is None else (*said.blocks, ProviderBlock(form.provider, {FORM: further}))
    form_record = {"name": form.name} | ({} if layout is None else {"layout": layout})
    # Hardly any entry has a mark, and its bytes are searched faster than its values.
    cache = asked_cache(given) if _IN_MARKS in spelled else False
    return Read(said.role, blocks, said.speaker, cache, form_record, {})


def is_neutral_entry(entry: Any) -> bool:
    """Whether an entry has blocks in a shape that only headish writes."""
    if isinstance(entry, Message):
        return True
    content = entry.get("content") if isinstance(entry, Mapping) else None
    return any(map(is_neutral, content)) if isinstance(content, list | tuple) else isinstance(content, Block | Other)


def is_neutral(part: Any) -> bool:
    """Whether a part is a block in a shape that only headish writes."""
    if isinstance(part, Block | Other):
        return True
    if not isinstance(part, Mapping):
        return False
    kind, source = part.get("type"), part.get("source")
    if kind in ("provider", "mark", "tools") or (kind == "thinking" and "text" in part):
        return True
    if kind == "document" and isinstance(source, Mapping):
        return (
            source.get("type") == "turn" or "name" in part or ("media_type" in source and source.get("type") == "url")
        )
    return kind == "tool_result" and "name" in part


def _unwrapped(entry: Any) -> Any:
    if not _is_wrapped(entry):
        return entry
    native = entry[WRAPPED]
    return native[0] if isinstance(native, list) and native else native


def _is_wrapped(entry: Any) -> bool:
    return isinstance(entry, Mapping) and WRAPPED in entry and entry.keys() <= {WRAPPED, *OPTIONS}


def asked_cache(value: Any) -> Cache:
    """Whether a client has asked for a cache somewhere in an entry, and for how long."""
    if isinstance(value, Mapping):
        marks = (value[key] for key in _MARKS if value.get(key) is not None)
        return longest((*map(_asked_time, marks), *map(asked_cache, value.values())))
    return longest(map(asked_cache, value)) if isinstance(value, list) else False


def _asked_time(mark: Any) -> Cache:
    return (plausible_cache(mark.get("ttl")) if isinstance(mark, Mapping) else False) or True


def _is_sdk(value: Any) -> bool:
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type)


def _plain(value: Any, depth: int = 0) -> Any:
    """A value in which objects of the official SDKs are the JSON that they send. Everything else is unchanged."""
    if _is_sdk(value):
        # As the SDK sends it: under the names of the API, without what the client did not set.
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if depth < _SDK_DEPTH and type(value) is dict and _may_hold_sdk(value.values()):
        return {key: _plain(each, depth + 1) for key, each in value.items()}
    if depth < _SDK_DEPTH and type(value) is list and _may_hold_sdk(value):
        return [_plain(each, depth + 1) for each in value]
    return value


def _may_hold_sdk(values: Collection[Any]) -> bool:
    """Whether a container has anything but scalars. A long list of numbers takes no Python step for each."""
    return not strictjson.SCALARS.issuperset(map(type, values))


_SDK_DEPTH = 6
"""How deep clients nest objects of the SDKs in their messages."""
