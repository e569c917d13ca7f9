"""Graphs tell the same with LangGraph's own saver and with ours: see ``support/scenarios.py``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.frameworks import not_installed

pytest.importorskip("langgraph.checkpoint.sqlite", reason=not_installed("langgraph"))

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from headish import Store
from headish.integrations.langgraph import HeadishSaver
from support.places import Place
from support.scenarios import ASYNC, SCENARIOS

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("langgraph")]


def name_of(scenario: Any) -> str:
    return str(scenario.__name__)


class TestAGraphTellsTheSame:
    @pytest.mark.parametrize("scenario", SCENARIOS, ids=name_of)
    def test_as_with_their_saver(self, scenario: Any, tmp_path: Path) -> None:
        with SqliteSaver.from_conn_string(":memory:") as theirs, HeadishSaver(tmp_path / "a.db") as ours:
            assert scenario(ours) == scenario(theirs)
        with Store.open(tmp_path / "a.db") as store:
            assert store.verify().problems == ()

    @pytest.mark.parametrize("scenario", ASYNC, ids=name_of)
    def test_in_a_loop(self, scenario: Any, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as ours:
            assert asyncio.run(scenario(ours)) == asyncio.run(scenario(InMemorySaver()))

    @pytest.mark.parametrize("scenario", SCENARIOS[::4], ids=name_of)
    def test_on_every_database(self, scenario: Any, place: Place) -> None:
        with HeadishSaver(place.target, space=place.space) as ours:
            assert scenario(ours) == scenario(InMemorySaver())

    @pytest.mark.parametrize("scenario", SCENARIOS, ids=name_of)
    def test_when_nothing_is_remembered(self, scenario: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As after a restart between any two calls."""
        with HeadishSaver(tmp_path / "a.db") as ours:
            monkeypatch.setattr(ours._known, "remember", lambda *_: None)
            assert scenario(ours) == scenario(InMemorySaver())
