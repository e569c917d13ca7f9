"""``--timeout``: the time limits of a call, as one number or one by one by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
LEAST_SECONDS = 0.1


class Limit(click.ParamType[dict[str, float]]):
    """``SECONDS``, or ``NAME=SECONDS``."""

    name = "limit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, float]:
        """The limits that a value sets: a number alone limits silence, both before the first byte and after it."""
        from headish.providers.pointers import LONGEST_SECONDS, TIMEOUTS  # late: most commands call no provider

        name, equals, number = value.rpartition("=")
        names = (name.replace("-", "_"),) if equals else ("first_byte", "silence")
        if unknown := set(names) - set(TIMEOUTS):
            known = ", ".join(each.replace("_", "-") for each in TIMEOUTS)
            self.fail(f"{unknown.pop()!r} is not a time limit; there are {known}", param, ctx)
        try:
            seconds = float(number)
        except ValueError:
            seconds = 0.0
        if not LEAST_SECONDS <= seconds <= LONGEST_SECONDS:
            self.fail(f"{number!r} is not a number of seconds from {LEAST_SECONDS} on", param, ctx)
        return dict.fromkeys(names, seconds)


def timeout_option(said: str) -> Callable[[F], F]:
    """The option ``--timeout``, which may be repeated; the command gets one mapping, empty without it."""
    return click.option(
        "--timeout", multiple=True, type=Limit(), metavar="[NAME=]SECONDS", callback=_merge,
        help=f"{said} NAME is connect, first-byte, silence or total; several times.",
    )  # fmt: skip


def _merge(context: click.Context, param: click.Parameter, given: tuple[dict[str, float], ...]) -> dict[str, float]:
    return {name: seconds for limits in given for name, seconds in limits.items()}
