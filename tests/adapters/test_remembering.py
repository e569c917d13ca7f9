"""What a process remembers of turns is what they say, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from headish.adapters.remembering import LARGEST_BYTES, TurnMemory
from headish.values.ids import TurnId

PLAIN = {"role": "user", "content": "a"}


@pytest.mark.parametrize("odd", [float("nan"), "\ud800", {1: "a"}, {"set": {1}}, "x" * LARGEST_BYTES, (1, 2)])
def test_a_message_that_json_does_not_give_back_costs_itself_alone(odd: Any) -> None:
    memory = TurnMemory()
    turns = [TurnId(each) for each in "abcd"]
    memory.add_all([(turns[0], [PLAIN]), (turns[1], [{"odd": odd}]), (turns[2], []), (turns[3], [PLAIN, PLAIN])])
    assert set(memory.ids) == {turns[0], turns[3]}
    assert memory.decode([turns[3], turns[0]]) == [PLAIN] * 3
    assert memory.decode(turns) is None


def test_what_was_remembered_first_is_forgotten_first() -> None:
    memory = TurnMemory(limit_bytes=1000)
    memory.add_all([(TurnId(str(number)), [PLAIN]) for number in range(20)])
    assert 1 <= len(memory.ids) < 20
    assert [*memory.ids] == [str(number) for number in range(20 - len(memory.ids), 20)]
