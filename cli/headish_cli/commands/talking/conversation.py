"""A conversation at the terminal: messages become turns like any other, and a line with a slash is a command.

Nothing of it is kept but the turns: where it goes on is a bookmark, or the id of its last turn.
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
"""How many turns are looked through for what was said before."""


NOTHING = "nothing was said yet"


class ChatSession:
    """A conversation that goes on at ``name``, else at the turn ``head``; with neither it begins with the first line.

    ``call`` are options of ``open_answer``; ``turn`` is the ``system`` and ``ptr`` of a conversation that begins. A
    ``ptr`` holds from the next line on, even if there are lines before it.
    """

    def __init__(self, store: Store, name: str | None, head: str | None, call: dict[str, Any], turn: dict[str, Any]):
        self.store = store
        self.name, self.head = name, head
        self.call, self.turn = call, turn
        self.attached: list[str] = []
        self.failed = False
        """Whether the last answer did not come, or not whole."""
        self.stopped = False
        """Whether Ctrl-C ended the last answer."""
        self.unanswered = False
        """Whether something was stored that has no answer."""
        self._ptr: str | None = turn.get("ptr")

    @property
    def prompt(self) -> str:
        """What stands before a line: where it goes, and how many files go along."""
        files = f" +{len(self.attached)}" if self.attached else ""
        return f"{one_line(self.name, 40) if self.name else 'chat'}{files}> "

    def say(self, text: str) -> None:
        """Store what was said with what is attached, ask, and print the answer while it arrives.

        Raises: as ``Store.say`` and ``open_answer``; OSError for a file that is gone. What is attached stays attached
        until it is stored.
        """
        content = [*map(read_attachment, self.attached), text] if self.attached else text
        at, call = self.at(), self.call
        begun: dict[str, Any] = {"bookmark": self.name, **self.turn} if at is None else {"ptr": self._ptr}
        asked = self.store.say(content, continues=at, to=call.get("to"), model=call.get("model"), **begun)
        self.attached, self._ptr, self.unanswered = [], None, True
        self.head = str(asked[0])
        self._show(lambda: self.store.open_answer(*asked, **self.call))

    def retry(self, model: str | None = None) -> None:
        """Ask again for the last answer, or for the one that never came; ``model`` is another one to ask this once."""
        at = self.at()
        if at is None:
            raise Told(NOTHING)
        call = {**self.call, **({"model": model} if model else {})}
        if self.store.get(at).meta.role == "assistant":
            # Who replied before is asked again, unless somebody else is named.
            named = {key: value for key, value in call.items() if value is not None}
            self._show(lambda: self.store.open_retry(at, **named))
        else:
            self._show(lambda: self.store.open_answer(at, **call))

    def ask_from_now_on(self, model: str) -> None:
        """Ask a pointer from now on, or another model of the provider."""
        with suppress(InvalidName):  # as "llama3:8b" is: no pointer's
            if model in self.store.pointers:
                self.call["to"] = None  # the pointer says it
        self.call["model"] = model

    def attach(self, place: str) -> None:
        """Send a file or URL along with what is said next. Raises: as ``read_attachment``."""
        read_attachment(place)  # told now, and not when the message is ready
        self.attached.append(place)

    def fork(self, name: str) -> None:
        """Go on under a new name from here; the old one stays where it is."""
        from headish import ABSENT

        at = self.at()
        if at is None:
            raise Told(NOTHING)
        self.store.bookmarks.set(name, at, expect=ABSENT)
        self.name, self.head = name, None

    def last_said(self) -> tuple[Turn, int]:
        """The turn that the person said last, and how many turns ago that was. Raises: Told if there is none."""
        at, ago = self.at(), 0
        turn = None if at is None else self.store.get(at)
        while turn is not None and turn.meta.role != "user":
            parents = turn.meta.continues
            turn, ago = self.store.get(parents[0]) if parents else None, ago + 1
        if turn is None:
            raise Told(NOTHING)
        return turn, ago

    def edit(self, text: str) -> None:
        """Say something else in the place of what was said last, and ask again. The old words stay a version of it."""
        turn, ago = self.last_said()
        edited = self.store.edit(f"{self.name}~{ago}" if self.name else turn.id, text)
        self.head, self.unanswered = edited.turn.id, True
        at = self.name or edited.turn.id
        self._show(lambda: self.store.open_answer(at, **self.call))

    def undo(self, count: int = 1) -> list[str]:
        """Take back what was said last, with all that came after it; the words, oldest first. They stay stored."""
        at = self.at()
        turns = [] if at is None else self.store.log(at)
        asked = [index for index, turn in enumerate(turns) if turn.meta.role == "user"]
        if not 0 < count <= len(asked):
            raise Told(f"{counted(len(asked), 'line')} of yours can be taken back" if asked else NOTHING)
        steps = asked[count - 1] + 1
        words = [preview(self.store.blocks(turns[index].id)) for index in reversed(asked[:count])]
        if self.name is not None:
            self.store.bookmarks.undo(self.name, steps, expect=turns[0].id)
        self.head = turns[steps].id if self.name is None and steps < len(turns) else None
        return words

    def said_before(self) -> list[str]:
        """What the person said in this thread, oldest first: the history of the line editor."""
        at = self.at()
        if at is None:
            return []
        messages = self.store.messages(at, limit=REMEMBERED)
        return [message.text for _, message in messages if message.role == "user" and message.text]

    def last_words(self) -> list[str]:
        """The last question and answer, each on a line."""
        at = self.at()
        shown = []
        for turn, message in [] if at is None else self.store.messages(at, limit=2):
            role = "overlay" if turn.meta.attributes.overlay else message.role
            who = "you" if role == "user" else role or "-"
            shown.append(f"{who}: {one_line(in_words(turn.meta, message.content), room_beside(who, ': '))}")
        return shown

    def who(self) -> str | None:
        """The receiver of the next line, in a word; None if none is named."""
        for given in ("model", "ptr", "to"):
            if self.call.get(given):
                return str(self.call[given])
        at = self.at()
        named = None if at is None else self.store.options(at).get("provider_ptr")
        return named if isinstance(named, str) else self.turn.get("ptr") or self.store.pointers.default

    def describe_who(self) -> str:
        """``who``, and what it points at, where it is a pointer."""
        who = self.who()
        with suppress(InputError):  # another model is no pointer
            if who is not None and not self.call.get("to"):
                return f"{who} ({self.store.pointers[who]})"
        return f"{who} of {self.call['to']}" if self.call.get("to") not in (None, who) else f"{who}"

    def at(self) -> str | None:
        """The headish that the next line continues, None for a beginning."""
        if self.name is not None:
            return self.name if self.name in self.store.bookmarks else None
        return self.head

    def _show(self, open_answer: Callable[[], Answer]) -> None:
        """Print an answer as it arrives. Ctrl-C ends it: what arrived is kept."""
        self.failed, self.stopped = True, False
        answer = open_answer()
        self.stopped = show_answer(answer, advice=" /retry asks again.")
        try:
            turn = answer.finish()
        except KeyboardInterrupt:  # too late to stop anything: the answer is there
            turn = answer.finish()
        self.unanswered = False
        self.head = turn.id
        self.name = self.name or turn.meta.bookmark
        self._tell(turn)

    def _tell(self, turn: Turn) -> None:
        """Say what is out of the ordinary about an answer."""
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
