"""Media in requests: what each API takes goes out in its words, what it does not take is refused by name."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from headish.content.encoding import read_content
from headish.content.forms.limits import MB, MEDIA, OFFICE
from headish.errors import Unsupported
from headish.providers import PROVIDERS, prepare_request
from headish.providers.openai_responses.particulars import FILES
from headish.values.messages import ContextWindow, Message

URL = "https://example.org"


def sent(provider: str, *blocks: dict[str, Any]) -> list[Any]:
    """The parts of one message of the user."""
    message = Message(role="user", content=read_content([{"type": "text", "text": "See"}, *blocks]))
    body = prepare_request(provider, ContextWindow((message,), {})).body
    [entry] = body.get("messages") or body.get("input") or body.get("contents")
    return list(entry.get("content") or entry["parts"])[1:]


def document(type: str, **source: str) -> dict[str, Any]:
    name = {"name": source.pop("name")} if "name" in source else {}
    return {"type": "document", "source": {"type": type, **source}, **name}


def data(media_type: str, content: bytes = b"x", **more: str) -> dict[str, Any]:
    return document("base64", media_type=media_type, data=b64encode(content).decode(), **more)


SENT: list[tuple[str, dict[str, Any], Any]] = [
    ("anthropic", document("url", url=URL, media_type="image/*"),
     {"type": "image", "source": {"type": "url", "url": URL}}),
    ("anthropic", document("file", file_id="f", provider="anthropic", name="t"),
     {"type": "document", "source": {"type": "file", "file_id": "f"}, "title": "t"}),
    ("openai", document("url", url=URL, media_type="image/*"), {"type": "image_url", "image_url": {"url": URL}}),
    ("openai", data("audio/mpeg"), {"type": "input_audio", "input_audio": {"data": "eA==", "format": "mp3"}}),
    ("openai", document("file", file_id="f", provider="openai"), {"type": "file", "file": {"file_id": "f"}}),
    ("openai_responses", document("url", url=URL, media_type="application/pdf"),
     {"type": "input_file", "file_url": URL}),
    ("openai_responses", document("file", file_id="f", media_type="image/*"),
     {"type": "input_image", "detail": "auto", "file_id": "f"}),
    ("gemini", document("url", url=URL, media_type="video/mp4"),
     {"fileData": {"fileUri": URL, "mimeType": "video/mp4"}}),
    ("gemini", data("audio/wav"), {"inlineData": {"mimeType": "audio/wav", "data": "eA=="}}),
    ("cohere", document("url", url=URL, media_type="image/*"), {"type": "image_url", "image_url": {"url": URL}}),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "block", "part"), SENT)
def test_what_an_api_takes_goes_out_in_its_words(provider: str, block: dict[str, Any], part: Any) -> None:
    assert sent(provider, block) == [part]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("cerebras", document("url", url=URL, media_type="image/*"), r"a document at a URL \(image/\*\)"),
    ("cohere", document("url", url=URL, media_type="application/pdf"), r"a document at a URL \(application/pdf\)"),
    ("openai", document("file", file_id="f_1", provider="anthropic"), r"a file that anthropic keeps \(f_1\)"),
    ("cohere", document("file", file_id="f_1"), r"a file of its own \(document\)"),
    ("anthropic", data("audio/wav"), "a document of type audio/wav"),
    ("openai_responses", data("video/mp4"), "a document of type video/mp4"),
    ("anthropic", data("image/png", bytes(5 * MB + 1)), "of type image/png of 5,242,881 bytes: 5,242,880 fit"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "block", "what"), REFUSED)
def test_what_an_api_does_not_take_is_refused_by_name(provider: str, block: dict[str, Any], what: str) -> None:
    with pytest.raises(Unsupported, match=what):
        sent(provider, block)


def test_more_than_fits_into_a_request_is_refused() -> None:
    with pytest.raises(Unsupported, match="21 images: 20 fit"):
        sent("cohere", *([data("image/png")] * 21))
    with pytest.raises(Unsupported, match="documents of 22,020,096 bytes: 20,971,520 fit"):
        sent("cohere", *([data("image/png", bytes(7 * MB))] * 3))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_text_document_keeps_its_name(provider: str) -> None:
    [part] = sent(provider, data("text/markdown", b"# Plan", name='a "b".md'))
    if provider == "anthropic":
        source = {"type": "text", "media_type": "text/plain", "data": "# Plan"}
        assert part == {"type": "document", "source": source, "title": 'a "b".md'}
    else:
        assert part["text"] == '<document name="a &quot;b&quot;.md">\n# Plan\n</document>'


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_svg_goes_out_as_its_text_and_a_note_says_so(provider: str) -> None:
    message = Message(role="user", content=read_content([data("image/svg+xml", b"<svg/>")]))
    request = prepare_request(provider, ContextWindow((message,), {}))
    assert "an SVG picture goes out as its text" in {note.what for note in request.notes}
    assert "<svg/>" in str(request.body)


def test_every_provider_has_a_row_and_every_row_its_source() -> None:
    assert set(MEDIA) == set(PROVIDERS)
    assert all(row.source and row.read for row in MEDIA.values())
    assert set(FILES) == {"application/pdf", *OFFICE}


def test_what_one_api_says_beside_a_picture_stays_with_it() -> None:
    block = data("image/png") | {"opaque": {"openai": {"part": {"image_url": {"detail": "high"}}}}}
    [part] = sent("openai", block)
    assert part["image_url"]["detail"] == "high"
    [other] = sent("anthropic", block)
    assert other == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}
