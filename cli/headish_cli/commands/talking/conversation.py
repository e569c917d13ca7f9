"""A conversation at the terminal. Its messages become ordinary turns.

It keeps nothing but the turns (ADR 0036): a bookmark, or the id of its last turn, says where it goes on.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headish.errors import InputError, InvalidName
from headish_cli.commands.talking.saying import read_attachment
from headish_cli.printing.output import Told, counted, one_line, preview, room_beside, say
from headish_cli.printing.said import words as in_words
from headish_cli.printing.showing import describe_call, show_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from headish import Store, Turn
    from headish.store.answers.answer import Answer

REMEMBERED = 400
"""The number of turns that are searched for the line editor's history."""


NOTHING = "nothing was said yet"


class ChatSession:
    """A conversation that continues the bookmark ``name``, else the turn ``head``; without both, it begins anew.

    ``call`` has the options of ``open_answer``; ``turn`` the ``system`` and ``ptr`` of a new conversation. A ``ptr``
    applies from the next line on, even if there are lines before it.
    """

    def __init__(self, store: Store, name: str | None, head: str | None, call: dict[str, Any], turn: dict[str, Any]):
        self.store = store
        self.name, self.head = name, head
        self.call, self.turn = call, turn
        self.attached: list[str] = []
        self.failed = False
        """Whether the last answer did not arrive, or is incomplete."""
        self.stopped = False
        """Whether Ctrl-C ended the last answer."""
        self.unanswered = False
        """Whether the last message is stored and has no answer."""
        self._ptr: str | None = turn.get("ptr")

    @property
    def prompt(self) -> str:
        """The prompt of a line: the bookmark, and how many files the line will carry."""
        files = f" +{len(self.attached)}" if self.attached else ""
        return f"{one_line(self.name, 40) if self.name else 'chat'}{files}> "

    def say(self, text: str) -> None:
        """Store a message with its attachments, ask, and print the answer while it arrives.

        Attachments stay until the message is stored. Raises: as ``Store.say`` and ``open_answer``; OSError if an
        attached file is gone.
        """
        content = [*map(read_attachment, self.attached), text] if self.attached else text
        at, call = self.at(), self.call
        settings: dict[str, Any] = {"bookmark": self.name, **self.turn} if at is None else {"ptr": self._ptr}
        stored = self.store.say(content, continues=at, to=call.get("to"), model=call.get("model"), **settings)
        self.attached, self._ptr, self.unanswered = [], None, True
        self.head = str(stored[0])
        self._show(lambda: self.store.open_answer(*stored, **self.call))

    def retry(self, model: str | None = None) -> None:
        """Ask again for the last answer, or for one that never came. ``model`` is asked this once."""
        at = self.at()
        if at is None:
            raise Told(NOTHING)
        call = {**self.call, **({"model": model} if model else {})}
        if self.store.get(at).meta.role == "assistant":
            # Only named options: the others are those of the old reply, so the same model is asked again.
            options = {key: value for key, value in call.items() if value is not None}
            self._show(lambda: self.store.open_retry(at, **options))
        else:
            self._show(lambda: self.store.open_answer(at, **call))

    def ask_from_now_on(self, model: str) -> None:
        """From now on, ask the pointer ``model``; if there is none of that name, that model of the provider."""
        with suppress(InvalidName):  # a model's name, such as "llama3:8b", need not be a valid pointer name
            if model in self.store.pointers:
                self.call["to"] = None  # the pointer has a provider of its own
        self.call["model"] = model

    def attach(self, place: str) -> None:
        """Attach a file or URL to the next message. Raises: as ``read_attachment``."""
        read_attachment(place)  # an error should come now, not after the message was typed
        self.attached.append(place)

    def fork(self, name: str) -> None:
        """Continue under a new bookmark from here on; the old one stays where it is. Raises: BookmarkMoved; Told."""
        from headish import ABSENT

        at = self.at()
        if at is None:
            raise Told(NOTHING)
        self.store.bookmarks.set(name, at, expect=ABSENT)
        self.name, self.head = name, None

    def last_said(self) -> tuple[Turn, int]:
        """The person's last turn, and how many turns back it is. Raises: Told if there is none."""
        at, ago = self.at(), 0
        turn = None if at is None else self.store.get(at)
        while turn is not None and turn.meta.role != "user":
            parents = turn.meta.continues
            turn, ago = self.store.get(parents[0]) if parents else None, ago + 1
        if turn is None:
            raise Told(NOTHING)
        return turn, ago

    def edit(self, text: str) -> None:
        """Replace the person's last turn by a new version, and ask again. The old version stays stored."""
        turn, ago = self.last_said()
        edited = self.store.edit(f"{self.name}~{ago}" if self.name else turn.id, text)
        self.head, self.unanswered = edited.turn.id, True
        at = self.name or edited.turn.id
        self._show(lambda: self.store.open_answer(at, **self.call))

    def undo(self, count: int = 1) -> list[str]:
        """Go back by the person's last ``count`` turns and all that followed. Return their words, oldest first.

        The turns stay stored. Raises: Told if there are fewer.
        """
        at = self.at()
        turns = [] if at is None else self.store.log(at)
        positions = [index for index, turn in enumerate(turns) if turn.meta.role == "user"]
        if not 0 < count <= len(positions):
            raise Told(f"{counted(len(positions), 'line')} of yours can be taken back" if positions else NOTHING)
        steps = positions[count - 1] + 1
        words = [preview(self.store.blocks(turns[index].id)) for index in reversed(positions[:count])]
        if self.name is not None:
            self.store.bookmarks.undo(self.name, steps, expect=turns[0].id)
        self.head = turns[steps].id if self.name is None and steps < len(turns) else None
        return words

    def said_before(self) -> list[str]:
        """The person's messages in this thread, oldest first, as the history of the line editor."""
        at = self.at()
        if at is None:
            return []
        messages = self.store.messages(at, limit=REMEMBERED)
        return [message.text for _, message in messages if message.role == "user" and message.text]

    def last_words(self) -> list[str]:
        """The last two messages, each on a line."""
        at = self.at()
        lines = []
        for turn, message in [] if at is None else self.store.messages(at, limit=2):
            role = "overlay" if turn.meta.attributes.overlay else message.role
            who = "you" if role == "user" else role or "-"
            lines.append(f"{who}: {one_line(in_words(turn.meta, message.content), room_beside(who, ': '))}")
        return lines

    def who(self) -> str | None:
        """The model, pointer or provider that the next line goes to; None if none is named."""
        for option in ("model", "ptr", "to"):
            if self.call.get(option):
                return str(self.call[option])
        at = self.at()
        ptr = None if at is None else self.store.options(at).get("provider_ptr")
        return ptr if isinstance(ptr, str) else self.turn.get("ptr") or self.store.pointers.default

    def describe_who(self) -> str:
        """``who`` in words and, for a pointer, what it points at."""
        who = self.who()
        with suppress(InputError):  # `who` may be a model, which is not in the pointers
            if who is not None and not self.call.get("to"):
                return f"{who} ({self.store.pointers[who]})"
        return f"{who} of {self.call['to']}" if self.call.get("to") not in (None, who) else f"{who}"

    def at(self) -> str | None:
        """The headish that the next line continues; None if the line begins the conversation."""
        if self.name is not None:
            return self.name if self.name in self.store.bookmarks else None
        return self.head

    def _show(self, open_answer: Callable[[], Answer]) -> None:
        """Print an answer as it arrives. Ctrl-C ends it; what arrived is stored."""
        # Before the call: if it raises, the answer has failed.
        self.failed, self.stopped = True, False
        answer = open_answer()
        self.stopped = show_answer(answer, advice=" /retry asks again.")
        try:
            turn = answer.finish()
        except KeyboardInterrupt:  # too late to stop anything: the answer is there and must be stored
            turn = answer.finish()
        self.unanswered = False
        self.head = turn.id
        self.name = self.name or turn.meta.bookmark
        self._tell(turn)

    def _tell(self, turn: Turn) -> None:
        """Report what is out of the ordinary about an answer."""
        reply = turn.meta.reply
        self.failed = bool(reply.get("incomplete"))
        error = reply.get("error")
        if isinstance(error, dict):
            say(f"The provider failed: {error.get('message')}")
        if reply.get("stop_reason") == "max_tokens":
            say("The answer ends at a limit of tokens.")
        if self.failed and not self.stopped:
            say("The answer is incomplete; /retry asks again.")
        for call in self.store.open_calls(turn.id):
            say(f"open call: {describe_call(call)} ('headish ask -c {turn.id} --tool-loop' runs it)")
        for note in reply.get("notes") or ():
            say(f"note: {note}")
        if self.name is not None and turn.meta.bookmark != self.name:
            say(f"{self.name} has moved on meanwhile: the answer is {turn.id}, a branch without a name.")
