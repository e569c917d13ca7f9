"""Cutting a window to a budget: which messages are left out, and which stay.

The cut point is found by going through the thread from its first message on, as if a request had been made after each
of them. Once the budget is exceeded, the cut moves on until 65 % of it are left, and stays there until it is exceeded
again. So the same thread is always cut in the same place, and a message that is added leaves the window before it as it
was, which providers' prompt caches need; only a move of the cut breaks it.

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
"""How much of the budget is left after a cut."""
FIRST_SHARE = 0.25
"""How much of the budget the first exchange may take with all of its calls. A larger one could never be cut: of it the
question and the first answer stay, with the results of its calls."""
CUT_ON_TO = 0.5
"""How much of it is left at the least where the cut goes on to the next question, so that no answer comes first."""
LARGEST_TOLD = 5
"""How many turns an error names where nothing can be left out."""
INSTRUCTING = ("system", "developer")


class Weights(NamedTuple):
    """What the messages of a window weigh: ``guesses`` in tokens, which ``samples`` correct from their ends on.

    ``at`` is the turn of the walk that each message stands for. ``fit`` corrects what no sample weighs, as long as the
    thread has no samples of its own. ``tools`` weigh what stands outside the messages.
    """

    guesses: Sequence[float]
    at: Sequence[int]
    tools: float = 0.0
    samples: Sequence[Sample] = ()
    fit: Fit | None = None
    is_exact: bool = False


class Scale:
    """Weighs the messages that are in the window while the thread goes on, each step in constant time."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._factor = 1.0 if weights.fit is None else weights.fit.factor
        self._of_turn: dict[int, list[int]] = {}
        self._ends = {sample.end: sample for sample in weights.samples}
        self._own: list[float] = [0.0, 0.0]  # tokens and guesses of the samples so far
        self.known: dict[int, float] = {}
        """What a message weighs by a sample."""
        self._tools: float | None = None
        self._known_sum = self._guessed_sum = 0.0
        self.within: set[int] = set()

    def enter(self, index: int) -> None:
        """The next message of the thread; it is in the window."""
        turn = self._weights.at[index]
        sample = self._ends.pop(turn, None)
        if sample is not None:
            self._learn(sample)
        self._of_turn.setdefault(turn, []).append(index)
        self.put(index)

    def put(self, index: int) -> None:
        """Take a message into the window."""
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
        """What a message weighs now."""
        return self.known[index] if index in self.known else self._weights.guesses[index] * self._factor

    def _add(self, index: int, sign: int) -> None:
        if index in self.known:
            self._known_sum += sign * self.known[index]
        else:
            self._guessed_sum += sign * self._weights.guesses[index]

    def _learn(self, sample: Sample) -> None:
        """Weigh what lies before a reply by what its provider counted."""
        factor = sample.tokens / sample.guessed
        for turn in range(sample.start, sample.end):
            for index in self._of_turn.get(turn, ()):
                # Out of the sums with the old weight, in again with the new one. Summing anew would take a pass for
                # each reply.
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
    """All messages of a thread on the scale."""
    scale = Scale(weights)
    for index in range(len(weights.guesses)):
        scale.enter(index)
    return scale


def cut(messages: Sequence[Message], weights: Weights, kept: Sequence[bool], budget: int) -> Cut:
    """The messages that fit a budget. ``kept`` says which stay whatever comes.

    Cost: linear. Raises: OverBudget, which names the largest turns, where what must stay does not fit.
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
    """Which part of a thread must stay, and where the thread can be cut.

    The first exchange begins with the first message that is no instruction, and ends with the assistant's first message
    without a call. It stays whole while the sum of its ``guesses`` is at most ``most``; the guesses do not change as
    the thread goes on.
    """

    def __init__(
        self, messages: Sequence[Message], kept: Sequence[bool], guesses: Sequence[float], most: float
    ) -> None:
        self.messages = messages
        self.pairs = pair_calls(messages)
        self.answering = {index for index, _ in self.pairs}
        self.must: set[int] = {index for index, message in enumerate(messages) if message.role in INSTRUCTING}
        # Not the first of the user's: what begins with a greeting would change when the user speaks.
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
        """Whether what stays may begin with a message: not with the results of a call that is left out."""
        return index not in self.answering

    def is_question(self, index: int) -> bool:
        """Whether a message is the user's own, and no result."""
        return self.messages[index].role == "user" and index not in self.answering

    def _with_results(self, index: int) -> set[int]:
        """A message, and those behind it that answer its calls."""
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
    """Move the cut on, up to the last message at the most; where it is then, and the question that stays before it."""
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
    """What stays, without a result whose call was left out: it came late, behind what stands between them."""
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
