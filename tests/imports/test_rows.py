"""Rows of data sets and of logs: each a conversation, pairs are branches, calls that go on from one another a tree."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.errors import InvalidImport
from support.insides import unchanged

ASK = {"role": "user", "content": "2+2?"}
FOUR = {"role": "assistant", "content": "4", "weight": 1}
CALL = {"id": "k", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 2}'}}
TOOLS = [
    ASK,
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "k", "content": "4"},
    FOUR,
]
SHARE = {
    "id": "s1", "system": "Be brief.", "tools": "[]",
    "conversations": [
        {"from": "human", "value": "2+2?"},
        {"from": "function_call", "value": '{"name": "add", "arguments": {"a": 2, "b": 2}}'},
        {"from": "observation", "value": "4"},
        {"from": "gpt", "value": "4\u2028", "loss": False},
    ],
}  # fmt: skip


def lines(*rows: Any) -> io.BytesIO:
    return io.BytesIO("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows).encode())


def threads(store: Store) -> list[list[str]]:
    """The words of every thread."""
    return sorted([each.text for each in store.resolve(head.id).messages] for head in store.heads())


def types(store: Store, headish: str = "@") -> list[tuple[str | None, str]]:
    return [(each.role, each.to_dict()["content"][0]["type"]) for each in store.resolve(headish).messages]


class TestMessages:
    def test_objects_that_take_many_lines_are_rows(self, store: Store) -> None:
        rows = [{"messages": TOOLS, "source": "a"}, {"messages": [ASK]}]
        text = "\ufeff\n" + "\n".join(json.dumps(each, indent=2) for each in rows)
        for written in (text, text.replace("\n", "\r\n")):
            done = store.import_file(io.BytesIO(written.encode()))
            assert (done.trees, done.messages, done.broken) == (2, 5, 0)
        assert store.verify().turns == 5

    def test_a_broken_first_line_costs_only_itself(self, store: Store) -> None:
        row = json.dumps({"messages": [ASK, FOUR]})
        for first in ("{", '{"messages":', '{"messages": [{"role": "user",'):
            done = store.import_file(io.BytesIO(f"{first}\n{row}\n".encode()))
            assert (done.trees, done.messages, done.broken) == (1, 2, 1), first

    def test_after_an_indented_row_a_broken_one_costs_only_itself(self, store: Store) -> None:
        first = json.dumps({"messages": TOOLS}, indent=2)
        rows = [json.dumps({"messages": [{**ASK, "content": str(number)}, FOUR]}) for number in range(3)]
        cut = json.dumps({"messages": [ASK, FOUR]}, indent=2)[:-9]
        for broken in (rows[0][:-2], rows[0][:-1] + "]", "", "oops", "{", '{"messages": [{"role": "user",', cut):
            told: list[str] = []
            text = "\n".join((first, rows[0], broken, rows[1], rows[2], first))
            done = store.import_file(io.BytesIO(text.encode()), told=lambda note, told=told: told.append(str(note)))
            assert (done.trees, done.messages, done.broken) == (5, 14, 1 if broken else 0), broken
            assert [each for each in told if "record 3: broken: it is not JSON" not in each] == []
        done = store.import_file(io.BytesIO("\n".join((cut, rows[0], rows[1])).encode()))
        assert (done.trees, done.messages, done.broken) == (2, 4, 1)

    def test_a_row_whose_messages_are_at_the_margin_is_one(self, store: Store) -> None:
        text = "\n".join(("{", '  "messages": [', json.dumps(ASK) + ",", json.dumps(FOUR), "]}", ""))
        done = store.import_file(io.BytesIO((text + text.replace("2+2", "3+3")).encode()))
        assert (done.trees, done.messages, done.broken) == (2, 4, 0)

    def test_an_object_without_indents_that_ends_early_is_refused(self, store: Store) -> None:
        text = json.dumps({"messages": [ASK, FOUR]}, indent=0)
        with pytest.raises(InvalidImport, match="ends in the middle of its JSON"):
            store.import_file(io.BytesIO(text[:-9].encode()))

    def test_a_row_is_a_conversation_and_comes_back_as_it_was(self, store: Store) -> None:
        done = store.import_file(lines({"messages": TOOLS, "tools": [], "prompt": "2+2?"}, {"messages": [ASK]}))
        assert (done.trees, done.messages, done.added, done.bookmarks, done.broken) == (2, 5, 5, 0, 0)
        [longest] = [head.id for head in store.heads() if len(store.resolve(head.id).messages) == 4]
        assert types(store, longest) == [
            ("user", "text"), ("assistant", "tool_use"), ("tool", "tool_result"), ("assistant", "text"),
        ]  # fmt: skip
        assert store.messages(longest, form="chat") == TOOLS
        assert store.get(f"{longest}~3").meta.app == {"row": {"prompt": "2+2?"}}
        assert store.verify().problems == ()

    def test_a_second_import_stores_nothing_and_equal_rows_are_one(self, store: Store) -> None:
        file = lines(*[{"messages": [ASK]}] * 2, *({"messages": [ASK], "id": number} for number in range(3)))
        assert store.import_file(file).added == 4
        file.seek(0)
        with unchanged(store):
            assert store.import_file(file, "hf").added == 0

    def test_pairs_are_two_branches_behind_what_they_share(self, memory: Store) -> None:
        five = {"role": "assistant", "content": "5"}
        memory.import_file(lines({"prompt": [ASK], "chosen": [FOUR], "rejected": [five], "score": 0.5}))
        memory.import_file(
            lines({"input": {"messages": [ASK]}, "preferred_output": [FOUR], "non_preferred_output": [five]})
        )
        memory.import_file(lines({"chosen": [ASK, FOUR], "rejected": [ASK, five]}))
        assert threads(memory) == [["2+2?", "4"]] * 3 + [["2+2?", "5"]] * 3
        assert memory.stats().turns == 9

    @pytest.mark.parametrize(
        ("row", "said", "beside"),
        [
            ({"prompt": [ASK], "completion": [FOUR]}, ["2+2?", "4"], {}),
            ({"prompt": [ASK], "completion": FOUR}, ["2+2?", "4"], {}),
            ({"prompt": [ASK], "completion": [ASK, FOUR], "label": False}, ["2+2?", "4"], {"label": False}),
            ({"system": "Add.", "prompt": "2+2?", "completion": "4"}, ["Add.", "2+2?", "4"], {}),
            ({"prompt": [ASK], "tools": [1]}, ["2+2?"], {"tools": [1]}),
            ({"messages": [ASK], "prompt": [FOUR], "completion": [FOUR]}, ["2+2?"],
             {"prompt": [FOUR], "completion": [FOUR]}),
            ({"prompt": [ASK], "chosen": [FOUR], "completion": "5"}, ["2+2?", "4"], {"completion": "5"}),
        ],
    )  # fmt: skip
    def test_a_prompt_and_what_completes_it_are_one_thread(
        self, memory: Store, row: Any, said: list[str], beside: dict[str, Any]
    ) -> None:
        done = memory.import_file(lines(row), "hf")
        assert (threads(memory), done.broken) == ([said], 0)
        assert memory.get(f"@~{len(said) - 1}").meta.app.get("row", {}) == beside

    def test_an_array_is_read_like_lines(self, memory: Store) -> None:
        assert memory.import_file(io.BytesIO(json.dumps([{"messages": TOOLS}]).encode())).added == 4

    def test_a_row_that_is_none_costs_itself(self, memory: Store) -> None:
        told: list[str] = []
        odd = [
            {"messages": [ASK]},
            {"text": "x"},
            ["y"],
            {"prompt": "a picture"},
            {"prompt": ["a"]},
            {"completion": "x"},
            {"messages": [1, {"role": "critic", "content": [{"a": 1}]}]},
        ]
        done = memory.import_file(lines(*odd), "hf", told=lambda note: told.append(str(note)))
        assert (done.broken, done.added) == (6, 2)
        assert "line 2: broken: it is not a row of a data set: it has no messages" in told[0]


class TestShareGpt:
    def test_calls_and_results_without_ids_follow_one_another(self, store: Store) -> None:
        assert store.import_file(lines(SHARE)).added == 5
        assert types(store) == [
            ("system", "text"), ("user", "text"), ("assistant", "tool_use"), ("tool", "tool_result"),
            ("assistant", "text"),
        ]  # fmt: skip
        [_, _, call, result, said] = store.resolve("@").messages
        assert call.to_dict()["content"][0]["input"] == {"a": 2, "b": 2}
        assert result.to_dict()["content"][0]["name"] == "add"
        assert said.text == "4\u2028"
        assert store.get("@").meta.app == {"row": {"loss": False}}
        assert store.get("@~4").meta.app == {"row": {"id": "s1", "tools": "[]"}}

    def test_one_answer_may_stand_alone_in_a_pair(self, memory: Store) -> None:
        row = {"conversations": SHARE["conversations"][:1], "chosen": {"from": "gpt", "value": "4"},
               "rejected": {"from": "gpt", "value": "5"}}  # fmt: skip
        memory.import_file(io.BytesIO(json.dumps([row]).encode()))
        assert threads(memory) == [["2+2?", "4"], ["2+2?", "5"]]

    def test_what_is_no_call_stays_a_text(self, memory: Store) -> None:
        memory.import_file(lines({"conversations": [{"from": "function_call", "value": "add(2, 2)"}]}))
        assert memory.text("@") == "add(2, 2)"


def called(*messages: Any, answer: str, **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
    body = {"id": "c1", "created": 1_700_000_000, "model": "m-1", "usage": usage, "choices": [choice]}
    return {"custom_id": "r", "body": {"model": "m", "messages": list(messages)}, "response": {"body": body}, **more}


class TestLogs:
    def test_calls_that_go_on_from_one_another_share_their_turns(self, store: Store) -> None:
        four, more = {"role": "assistant", "content": "4"}, {"role": "user", "content": "3+3?"}
        file = lines(called(ASK, answer="4"), called(ASK, four, more, answer="6"), called(ASK, answer="five"))
        done = store.import_file(file)
        assert (done.messages, done.added) == (8, 5)
        assert threads(store) == [["2+2?", "4", "3+3?", "6"], ["2+2?", "five"]]
        [answer] = [head for head in store.heads() if store.text(head.id) == "6"]
        found = store.get(answer.id)
        assert found.meta.reply == {
            "provider": "openai", "model": "m-1", "stop_reason": "stop", "response_id": "c1",
            "usage": {"input_tokens": 6, "output_tokens": 3, "cache_read_input_tokens": 4},
        }  # fmt: skip
        assert found.said_at.year == 2023
        assert found.meta.app["row"]["custom_id"] == "r"
        file.seek(0)
        assert store.import_file(file, "openai-log").added == 0

    def test_the_token_counts_of_several_choices_are_on_one_of_them(self, memory: Store) -> None:
        row = called(ASK, answer="4")
        choices = [{"message": {"role": "assistant", "content": word}} for word in ("4", "four")]
        row["response"]["body"]["choices"] = choices
        memory.import_file(lines(row))
        assert sorted("usage" in head.meta.reply for head in memory.heads()) == [False, True]

    def test_a_time_that_is_none_is_left_out(self, memory: Store) -> None:
        row = called(ASK, answer="4")
        row["response"]["body"]["created"] = 1e308
        done = memory.import_file(lines(row))
        assert (done.added, done.untimed) == (2, 1)


class TestParquet:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        reason = "needs the extra: pip install 'headish[parquet]'"
        arrow, parquet = (pytest.importorskip(name, reason=reason) for name in ("pyarrow", "pyarrow.parquet"))
        rows = [{"messages": TOOLS[:1] + TOOLS[3:], "score": float("nan")}, {"messages": [ASK], "score": 1.0}]
        parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "train.parquet")
        return tmp_path / "train.parquet"

    def test_a_table_is_read_like_lines(self, store: Store, path: Path) -> None:
        done = store.import_file(path)
        assert (done.trees, done.added, done.broken) == (2, 3, 0)
        assert threads(store) == [["2+2?"], ["2+2?", "4"]]
        assert store.import_file(path).added == 0

    def test_a_damaged_table_is_refused_by_name(self, memory: Store, path: Path) -> None:
        whole = path.read_bytes()
        path.write_bytes(whole[:-40])
        with pytest.raises(InvalidImport, match="not a parquet"):
            memory.import_file(path)

    def test_without_the_extra_the_error_says_what_installs_it(
        self, memory: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(InvalidImport, match=r"pip install 'headish\[parquet\]'"):
            memory.import_file(io.BytesIO(b"PAR1 rest"))


@pytest.mark.parametrize(
    ("row", "format"),
    [
        ({"messages": [ASK]}, "hf"), ({"id": 1, "conversations": [{"role": "user", "content": "x"}]}, "hf"),
        (SHARE, "sharegpt"), (called(ASK, answer="x"), "openai-log"), ({"prompt": [ASK], "chosen": [FOUR]}, "hf"),
        ({"prompt": [ASK], "completion": [FOUR]}, "hf"), ({"prompt": "2+2?", "completion": "4"}, "hf"),
        ({"prompt": 'He said "2+2?"', "chosen": "4", "rejected": "5"}, "hf"), ({"prompt": "2+2?", "id": 1}, None),
        ({"prompt": {"text": '"chosen": "4"', "role": "prompter", "replies": []}}, None),
    ],
)  # fmt: skip
def test_what_a_row_is_is_told_by_its_keys(row: Any, format: str | None) -> None:
    from headish.imports.detection import detect_beginning

    assert detect_beginning(lines(row).getvalue()) == format
    assert detect_beginning(json.dumps([row], indent=1).encode()) == format


def test_a_weight_of_sharegpt_is_honoured_by_exports_for_trainers(memory: Store) -> None:
    row = {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "No", "weight": 0},
                             {"from": "human", "value": "And?"},
                             {"from": "gpt", "value": "Yo", "weight": 1}]}  # fmt: skip
    memory.import_file(io.BytesIO(json.dumps(row).encode()), "sharegpt")
    exported = json.loads(memory.export("@", "openai-finetune", for_training=True))
    assert [each.get("weight") for each in exported["messages"]] == [None, 0, None, 1]


def test_a_weight_of_results_in_sharegpt_comes_back(memory: Store) -> None:
    calls = [{"name": name, "arguments": {}} for name in ("add", "sum")]
    for result in ({"value": '["4", "5"]', "weight": 0}, {"value": '["4", "6"]', "weight": 1}, {"value": '["4", "7"]'}):
        turns = [
            {"from": "human", "value": "2+2?"},
            {"from": "function_call", "value": json.dumps(calls)},
            {"from": "observation", **result},
            {"from": "gpt", "value": "4"},
        ]
        memory.import_file(lines({"conversations": turns}), "sharegpt")
        assert json.loads(memory.export("@", "sharegpt"))["conversations"] == turns


def test_results_of_several_weights_stay_apart_in_sharegpt(memory: Store) -> None:
    results = [{"from": "observation", "value": value, "weight": weight} for value, weight in (("4", 0), ("5", 1))]
    turns = [
        {"from": "human", "value": "2+2?"},
        {"from": "function_call", "value": '{"name": "add", "arguments": {}}'},
        *results,
        {"from": "gpt", "value": "4"},
    ]
    memory.import_file(lines({"conversations": turns}), "sharegpt")
    assert json.loads(memory.export("@", "sharegpt"))["conversations"] == turns
