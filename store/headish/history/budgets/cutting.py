"""Cut a window to a budget: choose the messages that are left out.

The cut is found by replaying the thread from its first message, as if a request had been made after each one. When the
budget is exceeded, the cut moves on until 65 % of the budget are left, and stays there until it is exceeded again. So
the same thread is always cut in the same place, and a new message leaves the window before it unchanged, which
providers' prompt caches need; only a move of the cut breaks it.

Instructions, kept turns, summaries, the first exchange and the last question stay. A call is left out with its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from headish.errors import OverBudget
from headish.history.budgets.fitting import Fit, Sample
from headish.providers.shared.ledger import pair_calls
from headish.values.blocks import ToolUse
from headish.values.messages import Message, Note

CUT_TO = 0.65
"""The share of the budget that is left after a cut. A small cut at each turn would break the prompt cache each time."""
FIRST_SHARE = 0.25
"""The share of the budget up to which the whole first exchange stays, with all of its calls. If it is larger, only the
question and the first answer stay, with the results of its calls: an agent's first exchange may fill the window."""
CUT_ON_TO = 0.5
"""The share that must be left for the cut to go on to the next question, so that the rest begins with a question."""
LARGEST_TOLD = 5
"""The most turns that ``OverBudget`` names."""
INSTRUCTING = ("system", "developer")


class Weights(NamedTuple):
    """The weights of a window's messages: ``guesses`` in tokens, corrected by ``samples``, each from its end on.

    ``at`` is the index of each message's turn in the walk. ``fit`` corrects guesses as long as the thread has no
    samples of its own. ``tools`` is the guessed weight of the tool definitions.
    """

    guesses: Sequence[float]
    at: Sequence[int]
    tools: float = 0.0
    samples: Sequence[Sample] = ()
    fit: Fit | None = None
    is_exact: bool = False


class Scale:
    """Weighs the messages in the window while the thread is replayed; each message is weighed once, and once more when
    a sample corrects it."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._factor = 1.0 if weights.fit is None else weights.fit.factor
        self._of_turn: dict[int, list[int]] = {}
        self._ends = {sample.end: sample for sample in weights.samples}
        self._own: list[float] = [0.0, 0.0]  # tokens and guesses of the samples so far
        self.known: dict[int, float] = {}
        """The weights of messages that a sample covers, by index."""
        self._tools: float | None = None
        self._known_sum = self._guessed_sum = 0.0
        self.within: set[int] = set()

    def enter(self, index: int) -> None:
        """Take in the next message of the thread, and learn from its provider's count if it is a reply with one."""
        turn = self._weights.at[index]
        # Learned only now: a count must not move a cut that was made before the reply existed.
        sample = self._ends.pop(turn, None)
        if sample is not None:
            self._learn(sample)
        self._of_turn.setdefault(turn, []).append(index)
        self.put(index)

    def put(self, index: int) -> None:
        """Put a message into the window."""
        if index not in self.within:
            self.within.add(index)
            self._add(index, 1)

    def leave(self, index: int) -> None:
        """Leave a message out."""
        if index in self.within:
            self.within.remove(index)
            self._add(index, -1)

    @property
    def total(self) -> float:
        """The tokens of the window, tools included."""
        tools = self._weights.tools * self._factor if self._tools is None else self._tools
        return tools + self._known_sum + self._guessed_sum * self._factor

    @property
    def tools(self) -> float:
        """The tokens of the tools."""
        return self._weights.tools * self._factor if self._tools is None else self._tools

    def tokens(self, index: int) -> float:
        """The present weight of a message."""
        return self.known[index] if index in self.known else self._weights.guesses[index] * self._factor

    def _add(self, index: int, sign: int) -> None:
        if index in self.known:
            self._known_sum += sign * self.known[index]
        else:
            self._guessed_sum += sign * self._weights.guesses[index]

    def _learn(self, sample: Sample) -> None:
        """Weigh the turns of a sample by the provider's count."""
        factor = sample.tokens / sample.guessed
        for turn in range(sample.start, sample.end):
            for index in self._of_turn.get(turn, ()):
                # Replace the old weight in the sums by the new one: summing up again would take a pass for each reply.
                is_within = index in self.within
                if is_within:
                    self._add(index, -1)
                self.known[index] = self._weights.guesses[index] * factor
                if is_within:
                    self._add(index, 1)
        if sample.has_tools:
            self._tools = self._weights.tools * factor
            return
        self._own[0] += sample.tokens
        self._own[1] += sample.guessed
        self._factor = self._own[0] / self._own[1]


class Cut(NamedTuple):
    """The messages that stay, the scale that weighed them, and a note if any was left out."""

    messages: tuple[Message, ...]
    scale: Scale
    notes: tuple[Note, ...] = ()


def weigh(weights: Weights) -> Scale:
    """Weigh all messages of a thread."""
    scale = Scale(weights)
    for index in range(len(weights.guesses)):
        scale.enter(index)
    return scale


def cut(messages: Sequence[Message], weights: Weights, kept: Sequence[bool], budget: int) -> Cut:
    """Choose the messages that fit a budget. ``kept`` marks messages that always stay.

    Cost: linear. Raises: OverBudget, which names the largest turns, if the messages that must stay do not fit.
    """
    shape = Shape(messages, kept, weights.guesses, FIRST_SHARE * budget)
    scale, start, pinned = Scale(weights), shape.first_free, None
    for index in range(len(messages)):
        scale.enter(index)
        if scale.total > budget:
            start, pinned = _move(shape, scale, start, pinned, index, budget)
    if scale.total > budget:
        raise _over(messages, scale, budget)
    if len(scale.within) == len(messages):
        return Cut(tuple(messages), scale)
    return Cut(tuple(_without_orphans(shape, scale)), scale, (_note(messages, scale, budget),))


class Shape:
    """The messages of a thread that must stay (``must``), and the places where it can be cut.

    The first exchange begins with the first message that is not an instruction, and ends with the assistant's first
    message without a call. It stays whole if the sum of its ``guesses`` is at most ``most``. Guesses decide, because
    they do not change as the thread goes on.
    """

    def __init__(
        self, messages: Sequence[Message], kept: Sequence[bool], guesses: Sequence[float], most: float
    ) -> None:
        self.messages = messages
        self.pairs = pair_calls(messages)
        self.answering = {index for index, _ in self.pairs}
        self.must: set[int] = {index for index, message in enumerate(messages) if message.role in INSTRUCTING}
        # The first message, not the first of the user's: if an assistant's greeting begins the thread, the part that
        # stays would change when the user speaks.
        self.first_free = 1 + next((at for at, each in enumerate(messages) if each.role not in INSTRUCTING), -1)
        self.must |= set(range(self.first_free))
        answer = (index for index in range(self.first_free, len(messages)) if messages[index].role == "assistant")
        self.must |= self._with_results(next(answer, 0)) if messages else set()
        end = next((at for at in range(self.first_free, len(messages)) if _ends_exchange(messages[at])), -1)
        if sum(guesses[self.first_free - 1 : end + 1]) <= most:
            self.must |= set(range(self.first_free, end + 1))
        stay = {index for index, is_kept in enumerate(kept) if is_kept}
        if stay:
            self.must |= self._with_partners(stay)

    def can_begin(self, index: int) -> bool:
        """Whether the rest may begin with this message: not if it has results, whose calls would be left out."""
        return index not in self.answering

    def is_question(self, index: int) -> bool:
        """Whether a message is the user's own words, not results."""
        return self.messages[index].role == "user" and index not in self.answering

    def _with_results(self, index: int) -> set[int]:
        """A message, and the messages with results that follow it."""
        last = index
        while last + 1 in self.answering:
            last += 1
        return set(range(index, last + 1))

    def _with_partners(self, stay: set[int]) -> set[int]:
        """Messages with the calls that they answer, and all answers to those calls and to their own."""
        calls = {call for (one, _), (call, _) in self.pairs.items() if one in stay}
        return stay | calls | {one for (one, _), (call, _) in self.pairs.items() if call in calls or call in stay}


def _ends_exchange(message: Message) -> bool:
    return message.role == "assistant" and not any(isinstance(block, ToolUse) for block in message.content)


def _move(
    shape: Shape, scale: Scale, start: int, pinned: int | None, index: int, budget: int
) -> tuple[int, int | None]:
    """Move the cut on, at most up to the last message. Return its new place, and the index of the question that stays
    although it comes before the cut, if there is one."""
    question = next((at for at in range(index, start - 1, -1) if shape.is_question(at)), None)
    if question is None:
        question = pinned
    # A later question takes over, so the earlier one need not stay any longer.
    elif pinned is not None and pinned not in shape.must:
        scale.leave(pinned)
    at = start
    for end in range(start + 1, index + 1):
        if not shape.can_begin(end):
            continue
        _leave(shape, scale, range(at, end), question)
        at = end
        if scale.total <= CUT_TO * budget:
            break
    following = next((each for each in range(at, index + 1) if shape.is_question(each)), at)
    further = sum(scale.tokens(each) for each in range(at, following) if each not in shape.must)
    if scale.total <= budget and scale.total - further >= CUT_ON_TO * budget:
        _leave(shape, scale, range(at, following), question)
        at = following
    return at, question if question is not None and question < at else None


def _leave(shape: Shape, scale: Scale, portion: Iterable[int], question: int | None) -> None:
    for index in portion:
        if index not in shape.must and index != question:
            scale.leave(index)


def _without_orphans(shape: Shape, scale: Scale) -> list[Message]:
    """The messages in the window, without results whose calls were left out (results that came late, after other
    messages)."""
    left_out: dict[int, set[int]] = {}
    for (index, position), (call, _) in shape.pairs.items():
        if call not in scale.within:
            left_out.setdefault(index, set()).add(position)
    stays = []
    for index in sorted(scale.within):
        message = shape.messages[index]
        if index in left_out:
            content = tuple(block for at, block in enumerate(message.content) if at not in left_out[index])
            if not content:
                continue
            message = replace(message, content=content)
        stays.append(message)
    return stays


def _note(messages: Sequence[Message], scale: Scale, budget: int) -> Note:
    out = [message for index, message in enumerate(messages) if index not in scale.within]
    count = "1 message is" if len(out) == 1 else f"{len(out):,} messages are"
    until = f", the last of them turn {out[-1].turn}" if len(out) > 1 and out[-1].turn else ""
    return Note(f"{count} left out from here on{until}: the budget is {budget:,} tokens", out[0].turn)


def _over(messages: Sequence[Message], scale: Scale, budget: int) -> OverBudget:
    largest = sorted(scale.within, key=scale.tokens, reverse=True)[:LARGEST_TOLD]
    turns: Mapping[str, int] = {str(messages[index].turn): round(scale.tokens(index)) for index in largest}
    return OverBudget(budget, round(scale.total), turns)
