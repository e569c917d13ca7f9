"""The items of a Responses request: what each block of a thread becomes."""

from __future__ import annotations

from base64 import b64encode
from mimetypes import MimeTypes
from typing import Any

import pytest

from headish import ContextWindow, Message
from headish.providers import prepare_request
from headish.providers.openai_responses.particulars import FILES
from headish.providers.shared.ledger import INTERRUPTED
from headish.values.blocks import Text
from support.providers.responses_requests import (
    DATA,
    DOCX,
    PROVIDER,
    REASONING,
    SEARCH,
    SHELL,
    USER,
    call,
    document,
    items,
    notes,
    own,
    refused,
    request,
    result,
    said,
    text,
    thought,
)


class TestMessages:
    def test_system_and_developer_messages_stay_in_place(self) -> None:
        found = items({"role": "system", "content": "Be brief."}, USER, said("Yes."),
                      {"role": "developer", "content": ["In German.", "Always."]}, USER)  # fmt: skip
        assert [item["role"] for item in found] == ["system", "user", "assistant", "developer", "user"]
        assert found[3]["content"] == [
            {"type": "input_text", "text": "In German."},
            {"type": "input_text", "text": "Always."},
        ]

    def test_an_answer_is_text_without_the_ids_of_its_items(self) -> None:
        assert items(USER, said("Yes.", "Or no."))[1:] == [
            {"role": "assistant", "content": "Yes."},
            {"role": "assistant", "content": "Or no."},
        ]

    def test_the_phase_of_an_answer_goes_back_with_it(self) -> None:
        first = {**text("I look."), "opaque": {PROVIDER: {"phase": "commentary"}}}
        second = {**text("Snow."), "opaque": {PROVIDER: {"phase": "final_answer", "annotations": [{"a": 1}]}}}
        prepared = request([USER, said(first, second)])
        assert prepared.body["input"][1:] == [
            {"role": "assistant", "content": "I look.", "phase": "commentary"},
            {"role": "assistant", "content": "Snow.", "phase": "final_answer"},
        ]
        assert "what openai_responses keeps beside 1 block is left out" in notes(prepared)

    def test_a_phase_of_the_user_is_not_sent(self) -> None:
        block = {**text("Hi"), "opaque": {PROVIDER: {"phase": "commentary"}}}
        assert items({"role": "user", "content": [block]}) == [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
        ]

    def test_blank_texts_are_left_out(self) -> None:
        assert items(USER, said(" "), {"role": "user", "content": ["", "So?"]})[1:] == [
            {"role": "user", "content": [{"type": "input_text", "text": "So?"}]}
        ]

    def test_each_item_says_which_turn_it_came_from(self) -> None:
        turns = ["03h9y0v2b3kwwnz05szmqutr9", "03h9y0v2b3kwwnz05szmqutra"]
        window = ContextWindow(
            (
                Message(role="user", content=(Text("Hi"),), turn=turns[0]),
                Message(role="assistant", content=(Text("A"), Text("B")), turn=turns[1]),
            ),
            {},
        )
        origins = prepare_request(PROVIDER, window).origins
        assert [(origin.place, list(origin.turns)) for origin in origins] == [
            ("input[0]", turns[:1]),
            ("input[1]", turns[1:]),
            ("input[2]", turns[1:]),
        ]


class TestDocuments:
    def test_an_image_is_sent_with_its_detail(self) -> None:
        prepared = request([{"role": "user", "content": [document("image/webp", name="a.webp")]}])
        assert prepared.body["input"][0]["content"] == [
            {"type": "input_image", "detail": "auto", "image_url": f"data:image/webp;base64,{DATA}"}
        ]
        assert notes(prepared) == ["the name of the document 'a.webp' has no place"]

    @pytest.mark.parametrize(
        ("media_type", "name", "sent"),
        [
            ("application/pdf", None, "document.pdf"),
            ("application/pdf", "Report.PDF", "Report.PDF"),
            ("application/pdf", "report", "report.pdf"),
            (DOCX, "letter.docx", "letter.docx"),
            (DOCX, "letter.doc", "letter.doc.docx"),
            ("application/vnd.ms-excel", None, "document.xls"),
        ],
    )
    def test_a_file_has_a_name_that_says_its_type(self, media_type: str, name: str | None, sent: str) -> None:
        block = document(media_type) | ({"name": name} if name else {})
        prepared = request([{"role": "user", "content": [block]}])
        assert prepared.body["input"][0]["content"] == [
            {"type": "input_file", "filename": sent, "file_data": f"data:{media_type};base64,{DATA}"}
        ]
        changed = [f"the file {name!r} goes out as {sent!r}: its ending says what it is"]
        assert notes(prepared) == (changed if name not in (None, sent) else [])

    def test_the_endings_are_those_of_their_types(self) -> None:
        """The standard table of Python is the judge, as far as it knows them; it calls RTF text since 3.13."""
        guessed = {(media_type, MimeTypes(filenames=()).guess_type(f"x{ending}")[0])
                   for media_type, endings in FILES.items() for ending in endings}  # fmt: skip
        assert {pair for pair in guessed if pair[1] not in (pair[0], None)} <= {("application/rtf", "text/rtf")}
        assert ("application/msword", "application/msword") in guessed

    @pytest.mark.parametrize("role", ["user", "system", "assistant"])
    def test_a_text_document_is_text(self, role: str) -> None:
        block = document("text/csv", b64encode(b"a,b").decode())
        found = items(USER, {"role": role, "content": [block]})[1]["content"]
        assert found == ("a,b" if role == "assistant" else [{"type": "input_text", "text": "a,b"}])

    @pytest.mark.parametrize(
        "media_type", ["image/bmp", "audio/wav", "application/zip", "application/octet-stream", ""]
    )
    def test_another_type_is_refused(self, media_type: str) -> None:
        message = refused([{"role": "user", "content": [document(media_type)]}])
        assert f"a document of type {media_type or 'unknown'}" in message

    @pytest.mark.parametrize("media_type", ["image/png", DOCX])
    def test_an_empty_one_is_refused(self, media_type: str) -> None:
        message = refused([{"role": "user", "content": [document(media_type, "")]}])
        assert f"an empty document of type {media_type}" in message

    def test_a_document_of_a_tool_that_is_in_no_result_goes_into_a_message_of_the_user(self) -> None:
        prepared = request([USER, said(call()), result("Snow."), {"role": "tool", "content": [document("image/png")]}])
        assert prepared.body["input"][-1]["role"] == "user"
        assert "a document of a tool that is in no result goes into a message of the user" in notes(prepared)


class TestCallsAndResults:
    def test_a_call_and_its_output_are_items_that_share_an_id(self) -> None:
        assert items(USER, said("I look.", call()), result("Snow."))[1:] == [
            {"role": "assistant", "content": "I look."},
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"place":"Oslo"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "Snow."},
        ]

    def test_what_the_api_keeps_beside_a_call_goes_back(self) -> None:
        program = {"type": "program", "id": "p1", "call_id": "p1", "code": "1", "fingerprint": "f"}
        caller = {"type": "program", "caller_id": "p1"}
        block = call(opaque={PROVIDER: {"namespace": "geo", "caller": caller}})
        found = items(USER, said(own(program), block), result("Snow."))
        assert (found[2]["namespace"], found[2]["caller"], found[3]["caller"]) == ("geo", caller, caller)

    @pytest.mark.parametrize(
        ("content", "output"),
        [
            ([], ""),
            (["Snow."], "Snow."),
            (["Snow.", "Ice."], "Snow.\nIce."),
            ([" "], ""),
        ],
    )
    def test_texts_are_joined(self, content: list[str], output: str) -> None:
        assert items(USER, said(call()), result(*map(text, content)))[-1]["output"] == output

    @pytest.mark.parametrize(
        ("content", "output"),
        [
            ([], "Error: (empty result)"),
            ([text("No."), text("Why?")], "Error: No.\nWhy?"),
        ],
    )
    def test_an_error_says_so_in_its_text(self, content: list[Any], output: str) -> None:
        assert items(USER, said(call()), result(*content, is_error=True))[-1]["output"] == output

    def test_media_stand_in_the_output(self) -> None:
        image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{DATA}"}
        file = {"type": "input_file", "filename": "document.pdf", "file_data": f"data:application/pdf;base64,{DATA}"}
        content = [document("image/png"), text("Look."), document("application/pdf")]
        assert items(USER, said(call()), result(*content))[-1]["output"] == [
            image, {"type": "input_text", "text": "Look."}, file
        ]  # fmt: skip
        assert items(USER, said(call()), result(*content, is_error=True))[-1]["output"] == [
            image, {"type": "input_text", "text": "Error: Look."}, file
        ]  # fmt: skip
        assert items(USER, said(call()), result(content[0], is_error=True))[-1]["output"] == [
            {"type": "input_text", "text": "Error:"}, image
        ]  # fmt: skip

    def test_an_interrupted_call_is_settled(self) -> None:
        assert items(USER, said(call()), USER)[2]["output"] == f"Error: {INTERRUPTED}"


class TestReasoning:
    def test_an_item_goes_back_verbatim_in_front_of_what_it_led_to(self) -> None:
        assert items(USER, said(thought(), "Yes."))[1:] == [REASONING, {"role": "assistant", "content": "Yes."}]
        assert items(USER, said(thought(), call()), result("Snow."))[1] == REASONING
        assert items(USER, said(thought(), own(SEARCH), "Yes."))[1:3] == [REASONING, SEARCH]

    def test_nulls_that_an_sdk_adds_are_not_sent(self) -> None:
        item = {**REASONING, "status": None, "content": None}
        assert items(USER, said(thought(item), "Yes."))[1] == REASONING

    @pytest.mark.parametrize(
        "item", [{**REASONING, "encrypted_content": None}, {**REASONING, "encrypted_content": ""}, {}, None, "x", []]
    )
    def test_without_its_encrypted_content_it_is_left_out(self, item: Any) -> None:
        prepared = request([USER, said(thought(item), "Yes.")])
        assert prepared.body["input"][1:] == [{"role": "assistant", "content": "Yes."}]
        assert "reasoning without its encrypted content is left out" in notes(prepared)

    @pytest.mark.parametrize(
        "content",
        [
            (thought(),),
            (thought(), " "),
            (thought(), thought()),
            (thought(), own(SHELL)),
            (thought(), {"type": "provider", "provider": "gemini", "data": {}}),
            (thought(), {**call(), "partial": True}),
        ],
        ids=["at the end", "a blank text", "reasoning at the end", "a call without output", "another's", "half a call"],
    )
    def test_it_is_left_out_where_what_it_led_to_is_not_sent(self, content: tuple[Any, ...]) -> None:
        prepared = request([USER, said(*content), USER])
        assert [item.get("role") for item in prepared.body["input"]] == ["user", "user"]
        assert "reasoning without what it led to is left out" in notes(prepared)

    def test_what_follows_in_a_later_message_is_not_what_it_led_to(self) -> None:
        """What a message becomes may not depend on later ones."""
        assert [item.get("type") for item in items(USER, said(thought()), said("Yes."))] == [None, None]

    def test_where_the_server_stores_answers_it_is_left_out(self) -> None:
        for params in ({"store": True}, {"store": False, PROVIDER: {"store": True}}):
            prepared = request([USER, said(thought(), "Yes.")], {"params": params})
            assert prepared.body["store"] is True
            assert len(prepared.body["input"]) == 2
        assert len(items(USER, said(thought(), "Yes."))) == 3

    def test_anothers_reasoning_is_left_out(self) -> None:
        prepared = request([USER, said({"type": "thinking", "text": "Hm.", "provider": "anthropic"}, "Yes.")])
        assert len(prepared.body["input"]) == 2
        assert "another provider's reasoning is left out" in notes(prepared)
