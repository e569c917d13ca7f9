"""Documents: the raw bytes are the payload, the window shows them as one document block."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
from blake3 import blake3

import headish
import headish_cli
from headish import Store
from headish.errors import InvalidArgument, InvalidContent, TooLarge
from headish.values.blocks import Document
from support.insides import unchanged
from support.places import Place

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"
GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"
WEBP = b"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"
OFFICE = "application/vnd.openxmlformats-officedocument."


def test_the_payload_is_the_files_bytes(store: Store, tmp_path: Path) -> None:
    """Rule I3, one address: ``b3sum`` of the file gives the same hash."""
    path = tmp_path / "notes.bin"
    path.write_bytes(bytes(range(256)))
    turn = store.add_document(path)
    assert store.payload(turn.id) == bytes(range(256))
    assert turn.hash == blake3(path.read_bytes()).hexdigest()


def test_meta_tells_name_path_size_and_types(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.pdf").write_bytes(PDF)
    monkeypatch.chdir(tmp_path)
    turn = store.add_document("report.pdf", cache=True, keep_path=True)
    assert turn.meta.to_dict() == {
        "role": "user",
        "content_type": "application/pdf",
        "type": "document",
        "cache": True,
        "continues": [],
        "document_name": "report.pdf",
        "original_path": str(tmp_path / "report.pdf"),
        "file_size": len(PDF),
    }
    assert store.get(turn.id).to_dict() == turn.to_dict()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x.js", "text/javascript"), ("x.mjs", "text/javascript"), ("x.rtf", "application/rtf"),
        ("x.rst", "text/x-rst"), ("x.markdown", "text/markdown"), ("x.MD", "text/markdown"),
        ("x.webp", "image/webp"), ("x.py", "text/x-python"), ("x.tgz", "application/x-tar"),
    ],
)  # fmt: skip
def test_the_type_of_a_name_is_the_same_on_every_python(store: Store, name: str, kind: str) -> None:
    """Other versions of Python have other tables, and the digest depends on the type."""
    assert store.add_document(b"{\\rtf1 x", name=name).meta.content_type == kind


def test_no_table_of_pythons_or_the_systems_is_asked() -> None:
    sources = [path.read_text("utf-8") for package in (headish, headish_cli) for path in _sources(package)]
    assert len(sources) > 100
    assert not any("mimetypes" in source for source in sources)


def _sources(package: ModuleType) -> list[Path]:
    return list(Path(str(package.__file__)).parent.rglob("*.py"))


def test_a_path_is_this_machines_own_and_left_out(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x")
    assert store.add_document(path).meta.system == {"document_name": "a.txt", "file_size": 1}
    with pytest.raises(InvalidArgument, match="keep_path is True or False"):
        store.add_document(path, keep_path="yes")  # type: ignore[arg-type]


def test_bytes_have_no_path_and_only_the_name_that_is_given(store: Store) -> None:
    assert store.add_document(b"x").meta.system == {"file_size": 1}
    assert store.add_document(b"x", name="x.txt").meta.system == {"document_name": "x.txt", "file_size": 1}


def test_a_given_name_wins_over_the_files(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"x")
    turn = store.add_document(path, name="b.md", keep_path=True)
    assert turn.meta.document_name == "b.md"
    assert turn.meta.content_type == "text/markdown"
    assert turn.meta.system["original_path"] == str(path)


def test_in_a_window_it_is_one_document_block(store: Store) -> None:
    turn = store.add_document(b"a,b\n", name="table.csv")
    [message] = store.resolve(turn.id).messages
    [block] = message.content
    assert isinstance(block, Document)
    assert message.role == "user"
    assert block.name == "table.csv"
    assert block.source.media_type == "text/csv"
    assert b64decode(block.source.data) == b"a,b\n"
    assert store.blocks(turn.id) == message.content


def test_a_document_continues_and_is_continued(store: Store) -> None:
    question = store.add_turn("what is in it?", bookmark="main")
    document = store.add_document(b"x", continues="main", bookmark="file")
    answer = store.add_turn("an x", role="assistant", continues=[question.id, document.id])
    assert document.meta.continues == (question.id,)
    assert document.meta.bookmark == "file"
    assert [message.turn for message in store.resolve(answer.id).messages] == [question.id, document.id, answer.id]


def test_an_empty_document_is_a_document(store: Store) -> None:
    turn = store.add_document(b"")
    assert store.payload(turn.id) == b""
    assert turn.meta.system["file_size"] == 0
    assert store.verify().problems == ()


def test_a_json_document_is_no_list_of_blocks(store: Store) -> None:
    """Its bytes may look like a payload; it stays a document."""
    turn = store.add_document(b'[{"type":"text","text":"a"}]', name="blocks.json")
    [block] = store.blocks(turn.id)
    assert isinstance(block, Document)
    assert turn.hash == store.add_turn("a").hash
    assert turn.digest != store.get("@").digest


@pytest.mark.parametrize(
    ("extension", "media_type"),
    [
        ("pdf", "application/pdf"),
        ("txt", "text/plain"),
        ("md", "text/markdown"),
        ("json", "application/json"),
        ("csv", "text/csv"),
        ("jpg", "image/jpeg"),
        ("JPEG", "image/jpeg"),
        ("png", "image/png"),
        ("webp", "image/webp"),
        ("gif", "image/gif"),
        ("docx", OFFICE + "wordprocessingml.document"),
        ("xlsx", OFFICE + "spreadsheetml.sheet"),
    ],
)
def test_the_extension_tells_the_media_type(extension: str, media_type: str) -> None:
    with Store.open(":memory:") as store:
        assert store.add_document(b"\x00 no magic here", name=f"a.{extension}").meta.content_type == media_type


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (PDF, "application/pdf"),
        (GIF, "image/gif"),
        (JPEG, "image/jpeg"),
        (WEBP, "image/webp"),
        ("plain text, naïve".encode(), "text/plain"),
        (b"", "text/plain"),
        (b"\x00\xfe\x01\x02 nothing known", "application/octet-stream"),
    ],
    ids=["png", "pdf", "gif", "jpeg", "webp", "text", "empty", "unknown"],
)
def test_without_a_name_the_content_tells_the_media_type(data: bytes, media_type: str) -> None:
    with Store.open(":memory:") as store:
        assert store.add_document(data).meta.content_type == media_type


def test_a_text_that_is_cut_inside_a_character_where_sniffing_ends_is_still_text() -> None:
    with Store.open(":memory:") as store:
        assert store.add_document(b"a" + "é".encode() * 5000).meta.content_type == "text/plain"


def test_an_office_file_is_told_by_its_extension_not_as_a_zip(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "letter.docx"
    with ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    assert store.add_document(path).meta.content_type == OFFICE + "wordprocessingml.document"


def test_a_given_content_type_wins(store: Store) -> None:
    assert store.add_document(PNG, name="a.png", content_type="x-own/type").meta.content_type == "x-own/type"


@pytest.mark.parametrize("from_path", [True, False])
def test_a_document_past_the_limit_is_refused(place: Place, tmp_path: Path, from_path: bool) -> None:
    store = place.open(payload_limit_bytes=10)
    path = tmp_path / "big.bin"
    for size_bytes in (10, 11):
        path.write_bytes(b"x" * size_bytes)
        document = path if from_path else path.read_bytes()
        if size_bytes == 10:
            store.add_document(document)
            continue
        with unchanged(store), pytest.raises(TooLarge, match="11 bytes and the limit is 10"):
            store.add_document(document)


def test_a_path_that_cannot_be_read_is_refused(store: Store, tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "missing.txt", "No such file"), (tmp_path, "it is a folder")):
        with unchanged(store), pytest.raises(InvalidArgument, match=reason):
            store.add_document(path)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"document": 5}, InvalidArgument),
        ({"document": "a\0b"}, InvalidArgument),
        pytest.param({"document": b"x", "name": 5}, InvalidArgument, id="name-number"),
        pytest.param({"document": b"x", "name": "\ud800"}, InvalidContent, id="name-half"),
        pytest.param({"document": b"x", "content_type": 5}, InvalidArgument, id="type-number"),
        ({"document": b"x", "content_type": "text/\0"}, InvalidArgument),
        pytest.param({"document": b"x", "content_type": "text/\ud800"}, InvalidArgument, id="type-half"),
        ({"document": b"x", "content_type": "text/plain\nX: y"}, InvalidArgument),
    ],
)
def test_what_is_no_document_name_or_media_type_is_refused(store: Store, arguments: dict, error: type) -> None:
    with unchanged(store), pytest.raises(error):
        store.add_document(**arguments)
