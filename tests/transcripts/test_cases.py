"""Whole transcripts, a folder each in ``cases/FORMAT``: what they are read as, and what is written of them.

``text`` is read; ``model.json`` is the neutral model, or ``refused`` the whole message of the error. Written back it is
``text`` again, or ``canonical`` where that lies beside it. ``visible.json`` and ``lint.json`` are the two views.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headish import Store
from headish.errors import InvalidTranscript
from headish.transcripts import emit, from_json, lint, parse, to_json, visible

CASES = sorted(path.parent for path in (Path(__file__).parent / "cases").glob("*/*/text"))
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
accepted = [case for case in CASES if not (case / "refused").exists()]
each_accepted = pytest.mark.parametrize("case", accepted, ids=lambda case: f"{case.parent.name}/{case.name}")


def text_of(case: Path) -> bytes:
    return (case / "text").read_bytes()


def canonical(case: Path) -> bytes:
    path = case / "canonical"
    return path.read_bytes() if path.exists() else text_of(case)


@each_case
def test_it_is_read_or_refused(case: Path) -> None:
    refused = case / "refused"
    if refused.exists():
        with pytest.raises(InvalidTranscript) as error:
            parse(text_of(case), case.parent.name)
        assert str(error.value) == refused.read_text("utf-8").strip()
        return
    model = json.loads((case / "model.json").read_text("utf-8"))
    assert to_json(parse(text_of(case), case.parent.name)) == model
    assert emit(from_json(model), case.parent.name).encode() == canonical(case)


@each_accepted
def test_it_is_seen_and_linted(case: Path) -> None:
    transcript = parse(text_of(case), case.parent.name)
    assert [list(each) for each in visible(transcript)] == json.loads((case / "visible.json").read_text("utf-8"))
    assert lint(transcript, case.parent.name) == json.loads((case / "lint.json").read_text("utf-8"))


@each_accepted
def test_it_comes_back_from_a_store(case: Path, store: Store) -> None:
    done = store.import_file(case / "text", case.parent.name)
    assert store.export(done.tips[0], case.parent.name).encode() == canonical(case)
