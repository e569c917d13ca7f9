"""The fault of an outside format: it has no place for what the thread holds.

Each names the word for ``drop`` that leaves out what the format cannot carry, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from headish.errors.base import HeadishError


class Unrepresentable(HeadishError):
    """The outside format cannot carry this (``code`` is E-EMIT-…).

    ``drop`` is the word that gives it up, or None. ``more`` are further losses of the same text, ``drops`` the words
    for all of them; ``reason`` is the sentence without the advice.
    """

    code = "E-EMIT-UNREPRESENTABLE"

    def __init__(
        self,
        target: str,
        what: str,
        *,
        turn: str | None = None,
        drop: str | None = None,
        more: Sequence[Unrepresentable] = (),
    ) -> None:
        self.target, self.what, self.turn, self.drop, self.more = target, what, turn, drop, tuple(more)
        # Each word once, in the order of the losses.
        self.drops = tuple(dict.fromkeys(loss.drop for loss in (self, *more) if loss.drop))
        losses = [f"{loss.what} (turn {loss.turn})" if loss.turn else loss.what for loss in (self, *more)]
        self.reason = f"{target} cannot carry {', '.join(losses)}"
        super().__init__(self.advise(f"drop={_as_argument(self.drops)}"))

    def advise(self, words: str) -> str:
        """The whole sentence. ``words`` are ``drops`` as the caller spells them: an argument or options."""
        what = "give it up with" if len(self.drops) == 1 else "give them up with"
        return f"{self.reason}; {what} {words}" if self.drops else self.reason


def _as_argument(words: Sequence[str]) -> str:
    listed = ", ".join(f'"{word}"' for word in words)
    return listed if len(words) == 1 else f"[{listed}]"


class HeaderValue(Unrepresentable):
    """A value that would break out of the format's message header."""

    code = "E-EMIT-HEADER-VALUE"


class Unmappable(Unrepresentable):
    """API JSON that cannot carry this transcript so that it comes back the same (E-MAP-UNREPRESENTABLE)."""

    code = "E-MAP-UNREPRESENTABLE"


class ConversionLoss(Unrepresentable):
    """A conversion that would not come back the same (E-CONVERT-LOSS); ``drop`` may give up what prevents it."""

    code = "E-CONVERT-LOSS"


class Unsupported(Unrepresentable):
    """The provider cannot take this."""

    def __init__(self, provider: str, what: str, *, turn: str | None = None) -> None:
        self.provider = provider
        super().__init__(provider, what, turn=turn)
