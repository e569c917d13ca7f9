"""Each verb that writes, as a call that can be struck: what must be there before it, and what is true once it returned.

A call has a tag of its own, and changes what bears this tag alone: what it stored stays true however many calls follow.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

from headish import Database, Store
from headish.errors import TurnErased, UnknownObject
from support.providers.answers import anthropic_text


def _nothing(store: Store, tag: str) -> None:
    """Nothing has to be there but a connection."""
    store.get("main")


class Verb(NamedTuple):
    """``call`` is the verb alone. ``holds`` says whether a store has what the call stored."""

    call: Callable[[Store, str], Any]
    holds: Callable[[Store, str], bool]
    prepare: Callable[[Store, str], Any] = _nothing


def add_thread(store: Store, tag: str) -> None:
    """A thread of three turns that is named by the tag."""
    store.add_turns({"content": f"{tag} {index}", "respond": index > 0} for index in range(3))
    store.bookmarks.set(tag, "@")


def _add_name(store: Store, tag: str) -> None:
    store.bookmarks.set(tag, "main")


def _is_head(store: Store, tag: str) -> bool:
    """The name of the tag is at a turn that says it."""
    return tag in store.text(tag)


def _is_longer(store: Store, tag: str) -> bool:
    return len(store.log(tag)) == 4


def _is_named(store: Store, tag: str) -> bool:
    return tag in store.bookmarks


def _is_kept(store: Store, tag: str) -> bool:
    try:
        return store.objects.get("kind", tag).data == tag.encode()
    except UnknownObject:
        return False


def _is_erased(store: Store, tag: str) -> bool:
    try:
        return not store.text(tag)
    except TurnErased:
        return True


def _answer(tag: str) -> dict[str, Any]:
    said = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": tag}}
    return {"object": "chat.completion", "id": tag, "choices": [said]}


def _capture(store: Store, tag: str) -> None:
    with store.capture(tag, "anthropic") as capture:
        for _ in capture.read(anthropic_text("Hel", tag)):
            pass


def _file(tag: str) -> io.BytesIO:
    return io.BytesIO("".join(f"<|start|>user<|message|>{tag} {name}<|end|>\n" for name in "abc").encode())


def _spaces(store: Store) -> Any:
    return Database(store._database).spaces


def _other(store: Store) -> Store:
    return Database(store._database).store("copies")


def _overlay(lay: Callable[[Store, str, str], Any], *, hidden: bool = False) -> Verb:
    def prepare(store: Store, tag: str) -> None:
        add_thread(store, tag)
        if hidden:
            store.hide(store.log(tag)[1].id, continues=tag)

    return Verb(
        lambda store, tag: lay(store, store.log(tag)[-2].id, tag),
        lambda store, tag: len(store.log(tag)) == (5 if hidden else 4),
        prepare,
    )


VERBS: dict[str, Verb] = {
    "Store.add_turn": Verb(lambda store, tag: store.add_turn(tag, bookmark=tag), _is_head),
    "Store.add_turns": Verb(
        lambda store, tag: store.add_turns([{"content": f"{tag} {n}", "bookmark": f"{tag}.{n}"} for n in range(3)]),
        lambda store, tag: all(tag in store.text(f"{tag}.{n}") for n in range(3)),
    ),
    "Store.add_document": Verb(
        lambda store, tag: store.add_document(tag.encode(), name=f"{tag}.txt", continues=tag), _is_longer, add_thread
    ),
    "Store.record": Verb(
        lambda store, tag: store.record([{"role": "user", "content": tag}], bookmark=tag), _is_head
    ),
    "Store.import_file": Verb(
        lambda store, tag: store.import_file(_file(tag), "2.2"),
        lambda store, tag: store.import_file(_file(tag), "2.2").added == 0,
        lambda store, tag: list(store.search(tag, limit=1)),  # brings the index up to date, or the next import has to
    ),
    "Store.reply": Verb(lambda store, tag: store.reply(tag, "openai", _answer(tag)), _is_longer, add_thread),
    "Store.capture": Verb(_capture, lambda store, tag: _is_longer(store, tag) and _is_head(store, tag), add_thread),
    "Store.edit": Verb(
        lambda store, tag: store.edit(tag, "edited"), lambda store, tag: store.text(tag) == "edited", add_thread
    ),
    "Store.write": Verb(
        lambda store, tag: store.write(lambda each: each.add_turns([{"content": tag, "bookmark": tag}])), _is_head
    ),
    "Store.hide": _overlay(lambda store, turn, tag: store.hide(turn, continues=tag)),
    "Store.unhide": _overlay(lambda store, turn, tag: store.unhide(store.log(tag)[-2].id, continues=tag), hidden=True),
    "Store.replace": _overlay(lambda store, turn, tag: store.replace(turn, "another", continues=tag)),
    "Store.keep": _overlay(lambda store, turn, tag: store.keep(turn, continues=tag)),
    "Store.summarize": _overlay(lambda store, turn, tag: store.summarize(turn, turn, "short", continues=tag)),
    "Store.copy_to": Verb(
        lambda store, tag: store.copy_to("copies", tag), lambda store, tag: tag in _other(store).bookmarks, add_thread
    ),
    "Store.erase": Verb(
        lambda store, tag: store.erase(tag, reason="asked for", scrub=False), _is_erased,
        lambda store, tag: store.add_turn(tag, bookmark=tag),
    ),
    "Store.reindex": Verb(lambda store, tag: store.reindex(), lambda store, tag: True),
    "Bookmarks.set": Verb(_add_name, _is_named),
    "Bookmarks.remove": Verb(
        lambda store, tag: store.bookmarks.remove(tag), lambda store, tag: tag not in store.bookmarks, _add_name
    ),
    "Bookmarks.rename": Verb(
        lambda store, tag: store.bookmarks.rename(tag, f"{tag}.new"),
        lambda store, tag: tag not in store.bookmarks and f"{tag}.new" in store.bookmarks, _add_name,
    ),
    "Bookmarks.undo": Verb(
        lambda store, tag: store.bookmarks.undo(tag), lambda store, tag: store.text(tag) == f"{tag} 1", add_thread
    ),
    "Bookmarks.erase": Verb(
        lambda store, tag: store.bookmarks.erase(tag, reason="asked for", scrub=False),
        lambda store, tag: tag not in store.bookmarks, _add_name,
    ),
    "Conversations.set": Verb(
        lambda store, tag: store.conversations.set(tag, title=tag),
        lambda store, tag: store.conversations.get(tag).record.title == tag, add_thread,
    ),
    "Objects.put": Verb(
        lambda store, tag: store.objects.put("kind", tag, tag.encode()),
        _is_kept,
    ),
    "Objects.remove": Verb(
        lambda store, tag: store.objects.remove("kind", tag),
        lambda store, tag: not _is_kept(store, tag),
        lambda store, tag: store.objects.put("kind", tag, tag.encode()),
    ),
    "Pointers.set": Verb(
        lambda store, tag: store.pointers.set(tag, f"openai/{tag}"), lambda store, tag: tag in store.pointers
    ),
    "Pointers.remove": Verb(
        lambda store, tag: store.pointers.remove(tag), lambda store, tag: tag not in store.pointers,
        lambda store, tag: store.pointers.set(tag, "openai/m"),
    ),
    "Tools.set": Verb(
        lambda store, tag: store.tools.set(tag, []), lambda store, tag: tag in store.tools
    ),
    "Tools.remove": Verb(
        lambda store, tag: store.tools.remove(tag), lambda store, tag: tag not in store.tools,
        lambda store, tag: store.tools.set(tag, []),
    ),
    "Spaces.add": Verb(lambda store, tag: _spaces(store).add(tag), lambda store, tag: tag in _spaces(store)),
    "Spaces.rename": Verb(
        lambda store, tag: _spaces(store).rename(tag, f"{tag}.new"),
        lambda store, tag: f"{tag}.new" in _spaces(store), lambda store, tag: _spaces(store).add(tag),
    ),
    "Spaces.remove": Verb(
        lambda store, tag: _spaces(store).remove(tag), lambda store, tag: tag not in _spaces(store),
        lambda store, tag: _spaces(store).add(tag),
    ),
    "Spaces.erase": Verb(
        lambda store, tag: _spaces(store).erase(tag, reason="asked for", scrub=False),
        lambda store, tag: tag not in _spaces(store), lambda store, tag: _spaces(store).add(tag),
    ),
    "Database.gc": Verb(lambda store, tag: Database(store._database).gc(), lambda store, tag: True),
}  # fmt: skip
"""By their names in tests/concurrency/test_every_verb.py.

Left out is what calls a provider (batches), and what needs a server of its own or keys (isolation, spreading,
signatures).
"""
