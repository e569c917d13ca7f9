"""The sample cases of ../shared/fixtures/transcripts, run from where they lie; its README says what each file means.

They hold every worked example of the format documents in its true line structure, and Harmony's own test data.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headish.errors import HeadishError, HiddenMessage
from headish.transcripts import (
    Transcript,
    convert,
    detect,
    emit,
    from_anthropic,
    from_chat,
    from_interchange,
    from_interchange20,
    from_json,
    from_responses,
    lint,
    parse,
    resample,
    show,
    to_anthropic,
    to_chat,
    to_interchange,
    to_interchange20,
    to_json,
    to_responses,
    visible,
)  # fmt: skip
from support.shared import TRANSCRIPTS, needs_shared

pytestmark = needs_shared


class Case:
    """One case: its files, by suffix."""

    def __init__(self, why: Path) -> None:
        self.format, self.name = why.parent.name, f"{why.parent.name}/{why.stem}"
        self._base = str(why).removesuffix(".why")

    def read(self, suffix: str) -> bytes | None:
        path = Path(self._base + suffix)
        return path.read_bytes() if path.exists() else None

    def json(self, suffix: str) -> Any:
        found = self.read(suffix)
        return None if found is None else json.loads(found)

    @property
    def text(self) -> bytes:
        found = self.read(".txt")
        assert found is not None
        return found

    def option(self, name: str, default: Any) -> Any:
        return (self.json(".opts.json") or {}).get(name, default)

    def parse(self) -> Transcript:
        return parse(self.text, None if self.format == "auto" else self.format, **self.option("parse", {}))

    @property
    def target(self) -> str:
        return str(self.option("format", detect(self.text) if self.format == "auto" else self.format))


def all_cases() -> list[Case]:
    return [Case(why) for why in sorted(TRANSCRIPTS.glob("*/*.why")) if why.parent.name != "convert"]


def cases(*suffixes: str, accepted: bool = False) -> pytest.MarkDecorator:
    """The cases that have all these files; with ``accepted`` those whose text can be read."""
    chosen = [case for case in all_cases() if all(case.read(suffix) is not None for suffix in suffixes)]
    kept = [case for case in chosen if not accepted or "error" not in case.json(".json")]
    # Where the folder is missing one case stands for all, and is skipped with the reason.
    params = [pytest.param(case, id=case.name) for case in kept] or [pytest.param(None, id="none")]
    return pytest.mark.parametrize("case", params)


def outcome(work: Callable[[], Any]) -> Any:
    """What comes of it: the value, or the error's code as the cases write it."""
    try:
        return work()
    except HeadishError as error:
        return {"error": error.code}


@cases(".txt")
def test_reading_gives_the_model_or_the_error(case: Case) -> None:
    wanted = case.json(".json")
    assert outcome(lambda: to_json(case.parse())) == wanted
    if "error" not in wanted:
        assert from_json(wanted) == case.parse()


@cases(".txt", accepted=True)
def test_writing_gives_the_text_back(case: Case) -> None:
    refused = case.json(".out.json")
    wanted = case.read(".out.txt") or case.text
    strict = case.option("parse", {}).get("strict", True)
    written = outcome(lambda: emit(case.parse(), case.target, strict=strict).encode())
    assert written == (wanted if refused is None else refused)


@cases(".model.json")
def test_a_model_is_written_or_refused(case: Case) -> None:
    wanted = case.read(".out.txt")
    written = outcome(lambda: emit(from_json(case.json(".model.json")), case.format).encode())
    assert written == (case.json(".json") if wanted is None else wanted)


@cases(".detect.json")
def test_the_format_is_detected(case: Case) -> None:
    assert detect(case.text) == case.json(".detect.json")


@cases(".txt", ".harmony.txt")
def test_harmony_carries_what_is_left_of_it(case: Case) -> None:
    assert emit(case.parse(), "harmony", drop=case.option("drop", ())).encode() == case.read(".harmony.txt")


@cases(".txt", ".harmony.json")
def test_harmony_refuses_it(case: Case) -> None:
    refused = outcome(lambda: emit(case.parse(), "harmony", drop=case.option("drop", ())))
    assert refused == case.json(".harmony.json")


@cases(".txt", ".lint.json")
def test_the_lint_codes_are_these(case: Case) -> None:
    # The fixtures were written before lint named what a strict reader refuses.
    promises = {"E-BODY-CONSTRAINT-VIOLATION", "E-PARSE-CHANNEL-MISSING"} - set(case.json(".lint.json"))
    assert [code for code in lint(case.parse(), case.target) if code not in promises] == case.json(".lint.json")


@cases(".txt", ".visible.json")
def test_an_end_user_sees_this_and_no_more(case: Case) -> None:
    transcript, wanted = case.parse(), case.json(".visible.json")
    assert [list(each) for each in visible(transcript)] == wanted
    for index, text in wanted:
        assert show(transcript, index) == text
    for index in set(range(len(transcript.messages))) - {index for index, _ in wanted}:
        with pytest.raises(HiddenMessage) as error:
            show(transcript, index)
        assert error.value.code == "E-PERM-VISIBILITY"
        assert show(transcript, index, debug=True) is not None


@cases(".txt", ".resample.json")
def test_the_next_sampling_sees_these_messages(case: Case) -> None:
    for policy, wanted in case.json(".resample.json").items():
        assert resample(case.parse(), policy) == wanted


APIS = {
    "interchange": (to_interchange, from_interchange), "chat": (to_chat, from_chat),
    "responses": (to_responses, from_responses), "anthropic": (to_anthropic, from_anthropic),
}  # fmt: skip


def api_of(case: Case, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (to_interchange20, from_interchange20) if (case.format, name) == ("2.0", "interchange") else APIS[name]


@pytest.mark.parametrize(("case", "name"), [
    pytest.param(case, name, id=f"{case.name}-{name}") for name in APIS for case in all_cases()
    if case.read(f".{name}.json") is not None and case.read(".txt") is not None
] or [pytest.param(None, "", id="none")])  # fmt: skip
def test_api_json_is_written_and_read_back(case: Case, name: str) -> None:
    write, read = api_of(case, name)
    wanted = case.json(f".{name}.json")
    written = outcome(lambda: write(case.parse()))
    assert written == wanted
    if "error" not in wanted and not case.option("oneway", False):
        model = to_json(case.parse())
        model.pop("header_raw", None)
        assert to_json(read(written)) == model


@pytest.mark.parametrize(("case", "name"), [
    pytest.param(case, name, id=f"{case.name}-{name}") for name in APIS for case in all_cases()
    if case.read(f".in.{name}.json") is not None
] or [pytest.param(None, "", id="none")])  # fmt: skip
def test_other_api_json_is_read(case: Case, name: str) -> None:
    _, read = api_of(case, name)
    transcript = outcome(lambda: read(case.json(f".in.{name}.json")))
    assert (transcript if isinstance(transcript, dict) else to_json(transcript)) == case.json(".json")
    wanted = case.read(".out.txt")
    assert wanted is None or emit(transcript, case.format).encode() == wanted


@pytest.mark.parametrize("case", [
    pytest.param(Case(why), id=why.stem) for why in sorted(TRANSCRIPTS.glob("convert/*.why"))
] or [pytest.param(None, id="none")])  # fmt: skip
def test_a_format_is_converted_into_another(case: Case) -> None:
    source, target = case.option("from", ""), case.option("to", "")
    transcript = parse(case.text, source)
    converted = outcome(
        lambda: emit(convert(transcript, source, target, drop=case.option("drop", ())), target).encode()
    )
    wanted = case.read(".out.txt")
    if wanted is not None and transcript.header is None and target in ("2.0", "2.2"):
        wanted = f"version: {target}\n\n".encode() + wanted  # what is written anew has a header
    assert converted == (case.json(".json") if wanted is None else wanted)
