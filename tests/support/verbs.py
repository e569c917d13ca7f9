"""The public verbs, found by looking at the classes, each with the arguments of a usual call."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypedDict

import headish
from headish import Database, Store, providers, transcripts
from headish.content.drafts import DocumentOptions, TurnOptions
from headish.providers import Settings
from headish.store.asking.batches import Batches
from headish.store.asking.pointers import Pointers
from headish.store.asking.streams import Streams
from headish.store.asking.tools import Tools
from headish.store.call_options import CallOptions
from headish.store.keeping.bookmarks import Bookmarks
from headish.store.keeping.conversations import Conversations
from headish.store.keeping.erase import Erasures
from headish.store.keeping.export_all import ExportOptions
from headish.store.keeping.objects import Objects
from headish.store.keeping.spaces import Spaces
from headish.values.blocks import Text

ANSWER = {"choices": [{"message": {"role": "assistant", "content": "yes"}}]}
DEFAULTS: dict[str, Any] = {
    "content": "hello",
    "document": b"hello",
    "items": ["hello"],
    "messages": [{"role": "user", "content": "hello"}],
    "headish": "main",
    "first": "main",
    "login": "nobody",
    "ids": [],
    "provider": "openai",
    "to": "openai",
    "response": ANSWER,
    "run": lambda calls: [],
    "name": "main",
    "query": "hello",
    "old": "default",
    "new": "other",
    "space": "other",
    "stream": "0" * 25,
    "server": "files",
    "tools": [],
    "ptr": "nobody",
    "key": "main",
    "prices": {"price": []},
    "reason": "asked for",
    "work": lambda transaction: None,
}
"""What a program would give, by the name of the parameter; where a verb differs, ``OWN`` says so."""

CHATML = "<|im_start|>user\nhello<|im_end|>\n"
WINDOW = headish.ContextWindow((headish.Message(role="user", content=(Text("hello"),)),), {})
FOREIGN = {
    "transcript": transcripts.parse(CHATML),
    "data": CHATML,
    "format": "v0.1",
    "source": "v0.1",
    "target": "rwkv",
    "write": transcripts.to_chat,
    "index": 0,
}
CALLED = {"to": "openai", "model": "gpt-5", "key_env": "HEADISH_TEST_NO_SUCH_KEY"}
OWN: dict[str, dict[str, Any]] = {
    "Store.import_file": {"source": "chat.txt"},
    "Store.import_changed": {"source": "chat.txt"},
    "Store.say": {"to": "openai"},
    "Store.request": {"to": "openai", "model": "gpt-5"},
    "Store.lint": {"to": "openai", "model": "gpt-5"},
    "Store.ask": CALLED,
    "Store.open_answer": CALLED,
    "Store.retry": {**CALLED, "headish": "answered"},
    "Store.open_retry": {**CALLED, "headish": "answered", "stream": False},
    "Store.summarize": {"content": "in short"},
    "Store.run_tools": {"headish": "answered"},
    "Store.open": {"target": ":memory:"},
    **{f"{name}.backup": {"dest": "kept.hbackup"} for name in ("Store", "Database")},
    "headish.restore": {"file": "chat.txt", "target": "restored.db"},
    "Database.open": {"target": ":memory:"},
    "Store.at_least": {"cursor": f"{'0' * 32}.0.0.{'0' * 8}"},
    "Store.copy_to": {"to": "other"},
    "Store.export_folder": {"folder": "exported"},
    "Store.edit": {"content": "another word"},
    "Store.diff": {"first": "main", "second": "answered"},
    "Database.move": {"to": "other", "headish": "main"},
    "Spaces.limit": {"space": "default"},
    "Bookmarks.at": {"ids": []},
    "Bookmarks.rename": {"old": "main", "new": "renamed"},
    **{f"Objects.{name}": {"kind": "kind", "key": "key"} for name in ("get", "remove")},
    "Objects.put": {"kind": "kind", "key": "another", "data": b"data"},
    "Objects.list": {"kind": "kind"},
    "Batches.create": {"heads": ["main"], **CALLED},
    **{f"Batches.{name}": {"name": "batch-1"} for name in ("get", "status", "collect", "drop")},
    "Conversations.find": {"key": "key"},
    **{f"Conversations.{name}": {"subject": "main"} for name in ("get", "set")},
    "Erasures.__getitem__": {"number": 1},
    "Spaces.erase": {"space": "default"},
    "Pointers.set": {"name": "small", "target": "openai/gpt-5"},
    "Pointers.remove": {"name": "milli"},
    "Pointers.history": {"name": "milli"},
    "Pointers.url": {"name": "milli"},
    "Pointers.set_default": {"name": "milli"},
    "Pointers.__getitem__": {"name": "milli"},
    **{f"transcripts.{name}": FOREIGN for name in transcripts.__all__},
    **{
        f"transcripts.from_{name}": {"data": getattr(transcripts, f"to_{name}")(FOREIGN["transcript"])}
        for name in ("anthropic", "chat", "interchange", "interchange20", "json", "responses")
    },
    "transcripts.from_events": {"events": []},
    "headish.emit": {"window": WINDOW, "target": "openai", "model": "gpt-5"},
    "providers.parse_response": {"response": ANSWER},
    "providers.prepare_request": {"window": WINDOW, "model": "gpt-5"},
    "providers.lint": {"window": WINDOW, "model": "gpt-5"},
}
PARTS: dict[type, Callable[[Store], Any]] = {
    Store: lambda store: store,
    Bookmarks: lambda store: store.bookmarks,
    Pointers: lambda store: store.pointers,
    Tools: lambda store: store.tools,
    Streams: lambda store: store.streams,
    Objects: lambda store: store.objects,
    Batches: lambda store: store.batches,
    Conversations: lambda store: store.conversations,
    Database: lambda store: Database(store._database),
    Spaces: lambda store: Database(store._database).spaces,
    Erasures: lambda store: store.erasures,
}


class Named(TypedDict):
    """What else a retry passes on to ``request``."""

    to: str
    ptr: str


FURTHER: dict[str, type] = {"turn": TurnOptions}
"""The keywords behind a ``**``, by its name and else by the verb's."""
FURTHER_OF = {
    "Store.add_document": [DocumentOptions],
    "Store.request": [Settings],
    "Store.lint": [Settings],
    "providers.prepare_request": [Settings],
    "providers.lint": [Settings],
    "headish.emit": [Settings],
    "Store.export_each": [ExportOptions],
    "Store.export_folder": [ExportOptions],
    "Store.summarize": [CallOptions],
    "Store.compact": [CallOptions],
    "Store.ask": [CallOptions, Settings],
    "Store.open_answer": [CallOptions, Settings],
    "Store.retry": [CallOptions, Settings, Named],
    "Batches.create": [Settings],
    "Store.open_retry": [CallOptions, Settings, Named],
}
CALLED_BACK = ("count", "work", "warn", "write", "run", "approve", "on_delta", "told", "progress")
SPELLING = ("bos", "eos", "strict")


class Verb(NamedTuple):
    """A public function or method, with the arguments of a usual call and the names of all it takes."""

    name: str
    find: Callable[[Store], Callable[..., Any]]
    usual: dict[str, Any]
    takes: list[str]
    annotations: list[str]


def make_verb(name: str, function: Callable[..., Any], find: Callable[[Store], Callable[..., Any]]) -> Verb:
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    if name.split(".")[0] in ("Store", "Database") and parameters and parameters[0].name == "space":
        parameters = parameters[1:] if name.startswith("Store.") and name != "Store.open" else parameters
    takes: list[str] = []
    for each in parameters:
        if each.kind is each.VAR_KEYWORD:
            further = FURTHER_OF.get(name) or ([FURTHER[each.name]] if each.name in FURTHER else [])
            takes += [key for form in further for key in getattr(form, "__struct_fields__", form.__annotations__)]
            takes += SPELLING if each.name == "spelling" else ()
        else:
            takes.append(each.name)
    given = {**DEFAULTS, **OWN.get(name, {})}
    needed = [each.name for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    usual = {key: given[key] for key in needed}
    usual |= {key: value for key, value in OWN.get(name, {}).items() if key in takes}
    return Verb(name, find, usual, list(dict.fromkeys(takes)), [str(each.annotation) for each in parameters])


def find_verbs() -> Iterator[Verb]:
    for kind, part in PARTS.items():
        for name, member in inspect.getmembers(kind, callable):
            if (name.startswith("_") and name != "__getitem__") or name == "close":
                continue
            raw = inspect.getattr_static(kind, name)
            function = raw.__func__ if isinstance(raw, classmethod) else raw
            if inspect.isfunction(function) and function.__module__.startswith("headish"):
                yield make_verb(
                    f"{kind.__name__}.{name}",
                    member if isinstance(raw, classmethod) else function,
                    lambda store, part=part, name=name: getattr(part(store), name),  # type: ignore[misc]
                )
    for module in (transcripts, providers):
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function):
                full = f"{module.__name__.rpartition('.')[2]}.{name}"
                yield make_verb(full, function, lambda _, function=function: function)  # type: ignore[misc]
    yield make_verb("headish.emit", headish.emit, lambda _: headish.emit)
    yield make_verb("headish.restore", headish.restore, lambda _: headish.restore)


def use_up(made: Any) -> None:
    """Take what was made to its end, and close it: an iterator does its work when it is asked."""
    if isinstance(made, Iterator):
        for each in made:
            if getattr(each, "kind", None) == "live":
                break  # it waits from now on
    if hasattr(made, "close"):
        made.close()


@contextlib.contextmanager
def somewhere() -> Iterator[None]:
    """A folder of a verb's own: a text is a path for some, and some paths are written."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("chat.txt").write_text(CHATML)
        yield


def open_store() -> Store:
    store = Store.open(":memory:")
    store.add_turn("hello", bookmark="main")
    store.add_turn("yes", continues="main", bookmark="answered", role="assistant")
    store.objects.put("kind", "key", b"data")
    store.pointers.set("milli", "openai/gpt-5-mini")
    store.tools.set("files", [{"name": "read", "inputSchema": {"type": "object"}}])
    return store


def call(store: Store, verb: Verb, arguments: dict[str, Any]) -> None:
    by_place = [arguments.pop(key) for key in list(arguments)] if verb.name.endswith("__getitem__") else []
    use_up(verb.find(store)(*by_place, **arguments))


VERBS = list(find_verbs())
