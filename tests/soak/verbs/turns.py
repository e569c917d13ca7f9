"""The verbs that store turns, and what is seen of them."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from headish import Store
from headish.errors import TurnErased
from soak.verbs.verb import Verb, add_thread, always, is_head, is_longer, other
from support.providers.answers import anthropic_text


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


def _capture_again(store: Store, tag: str) -> None:
    """Forget what is kept of an answer that was cut off, and ask again."""
    for stream in store.streams:
        store.streams.drop(stream)
    if not is_longer(store, tag):
        _capture(store, tag)


def _file(tag: str) -> io.BytesIO:
    return io.BytesIO("".join(f"<|start|>user<|message|>{tag} {name}<|end|>\n" for name in "abc").encode())


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


EXCHANGES = 4


def _add_exchanges(store: Store, tag: str) -> None:
    """A thread of which a part can be covered: neither the first exchange nor the last."""
    said = [{"content": f"{tag} {n} " + "word " * 50, "role": ("user", "assistant")[n % 2], "respond": n > 0}
            for n in range(2 * EXCHANGES)]  # fmt: skip
    store.add_turns([*said[:-1], {**said[-1], "bookmark": tag}])


def _finds(store: Store, tag: str) -> bool:
    """A search brings the index up to date."""
    return any(store.search(f'"{tag}"', limit=1))


TURNS: dict[str, Verb] = {
    "Store.add_turn": Verb(lambda store, tag: store.add_turn(tag, bookmark=tag), is_head),
    "Store.add_turns": Verb(
        lambda store, tag: store.add_turns([{"content": f"{tag} {n}", "bookmark": f"{tag}.{n}"} for n in range(3)]),
        lambda store, tag: all(tag in store.text(f"{tag}.{n}") for n in range(3)),
    ),
    "Store.add_document": Verb(
        lambda store, tag: store.add_document(tag.encode(), name=f"{tag}.txt", continues=tag), is_longer, add_thread
    ),
    "Store.record": Verb(
        lambda store, tag: store.record([{"role": "user", "content": tag}], bookmark=tag), is_head
    ),
    "Store.import_file": Verb(
        lambda store, tag: store.import_file(_file(tag), "2.2"),
        lambda store, tag: store.import_file(_file(tag), "2.2").added == 0,
        lambda store, tag: list(store.search(tag, limit=1)),  # brings the index up to date, or the next import has to
    ),
    "Store.reply": Verb(lambda store, tag: store.reply(tag, "openai", _answer(tag)), is_longer, add_thread),
    "Store.capture": Verb(
        _capture, lambda store, tag: is_longer(store, tag) and is_head(store, tag), add_thread, go_on=_capture_again
    ),
    "Store.edit": Verb(
        lambda store, tag: store.edit(tag, "edited"), lambda store, tag: store.text(tag) == "edited", add_thread
    ),
    "Store.write": Verb(
        lambda store, tag: store.write(lambda each: each.add_turns([{"content": tag, "bookmark": tag}])), is_head
    ),
    "Store.hide": _overlay(lambda store, turn, tag: store.hide(turn, continues=tag)),
    "Store.unhide": _overlay(lambda store, turn, tag: store.unhide(store.log(tag)[-2].id, continues=tag), hidden=True),
    "Store.replace": _overlay(lambda store, turn, tag: store.replace(turn, "another", continues=tag)),
    "Store.original": _overlay(
        lambda store, turn, tag: store.original(store.log(tag)[-2].id, continues=tag), hidden=True
    ),
    "Store.compact": Verb(
        lambda store, tag: store.compact(tag, to=0.1), lambda store, tag: len(store.log(tag)) == 2 * EXCHANGES + 1,
        _add_exchanges,
    ),
    "Store.keep": _overlay(lambda store, turn, tag: store.keep(turn, continues=tag)),
    "Store.summarize": _overlay(lambda store, turn, tag: store.summarize(turn, turn, "short", continues=tag)),
    "Store.copy_to": Verb(
        lambda store, tag: store.copy_to("copies", tag), lambda store, tag: tag in other(store).bookmarks, add_thread
    ),
    "Store.erase": Verb(
        lambda store, tag: store.erase(tag, reason="asked for", scrub=False), _is_erased,
        lambda store, tag: store.add_turn(tag, bookmark=tag),
    ),
    "Store.search": Verb(_finds, _finds, add_thread),
    "Store.reindex": Verb(lambda store, tag: store.reindex(), always),
}  # fmt: skip
