"""cross.stream's export: payloads by their hashes, several parents, names that answers take along."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from headish import Store
from headish.imports.folders import files_in
from support.insides import unchanged


def id_of(number: int) -> str:
    return f"03dxl6w8q53vjhs6i91q9r7{number:02}"


class Export:
    """A folder as ``.export`` of xs writes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "cas").mkdir(parents=True)
        self.frames: list[dict[str, Any]] = []

    def payload(self, data: bytes) -> str:
        hash = "sha256-" + b64encode(hashlib.sha256(data).digest()).decode()
        (self.folder / "cas" / b64encode(hash.encode()).decode()).write_bytes(data)
        return hash

    def turn(self, number: int, content: Any, **meta: Any) -> None:
        data = content if isinstance(content, bytes) else json.dumps([{"type": "text", "text": content}]).encode()
        meta = {"content_type": "application/json", "role": "user", **meta}
        self.frame("gpt.turn", number, self.payload(data), meta)

    def frame(self, topic: str, number: int, hash: str | None, meta: Any) -> None:
        self.frames.append({"topic": topic, "id": id_of(number).upper(), "hash": hash, "meta": meta, "ttl": "forever"})

    def write(self) -> Path:
        path = self.folder / "frames.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in self.frames))
        return path


@pytest.fixture
def export(tmp_path: Path) -> Export:
    made = Export(tmp_path / "export")
    made.frame("gpt.provider", 1, None, {"name": "kilo", "key": "sk-proj-0123456789abcdefghij"})
    made.turn(2, "Capital?", continues=[], head="Main", options={"provider_ptr": "kilo", "servers": ["fs"]}, cache=True)
    usage = {"input_tokens": 3, "output_tokens": 1}
    made.turn(
        3, "Lima.", role="assistant", continues=id_of(2), model="m", stop_reason="end_turn", usage=usage, frame_id="x"
    )
    made.turn(4, "And Chile?", continues=[id_of(3)], head="chile")
    made.turn(5, b"# Notes", type="document", content_type="text/markdown", document_name="n.md", file_size=7)
    made.turn(6, "Sum up", continues=[id_of(4), id_of(5)], head="chile")
    made.turn(7, b"just text", content_type="text/plain", continues="Main")
    return made


def test_turns_keep_their_parents_options_and_names(store: Store, export: Export) -> None:
    done = store.import_file(export.write())
    assert (done.trees, done.messages, done.added, done.bookmarks, done.broken) == (2, 6, 6, 2, 0)
    assert [each.text for each in store.resolve("Main").messages] == ["Capital?", "Lima.", "just text"]
    assert store.resolve("chile").options == {"provider_ptr": "kilo", "servers": ["fs"]}
    summed = store.get("chile")
    assert len(summed.meta.continues) == 2
    document = store.get(summed.meta.continues[1])
    assert (document.meta.type, document.meta.system["document_name"]) == ("document", "n.md")
    answer = store.get("Main~1")
    assert (answer.meta.reply["model"], answer.meta.reply["usage"]["output_tokens"]) == ("m", 1)
    assert answer.meta.app["cross-stream"] == {"frame_id": "x"}
    assert store.get(answer.meta.continues[0]).meta.cache
    assert done.unmapped["frame of topic gpt.provider (left out)"] == 1
    assert store.verify().problems == ()


def test_a_second_import_stores_nothing_and_a_longer_one_its_tail(store: Store, export: Export) -> None:
    path = export.write()
    store.import_file(path)
    with unchanged(store):
        assert store.import_file(path).added == 0
    export.turn(8, "Thanks", continues=[id_of(3)], head="Main")
    done = store.import_file(export.write())
    assert (done.added, done.bookmarks) == (1, 1)
    assert store.text("Main") == "Thanks"


def test_a_folder_stands_for_its_frames_alone(export: Export) -> None:
    frames = export.write()
    assert files_in(export.folder) == [str(frames)]


def test_a_payload_that_is_missing_changed_or_elsewhere_costs_its_turn(memory: Store, export: Export) -> None:
    outside = export.folder.parent / "secret"
    outside.write_text("secret")
    hash = "sha256-" + b64encode(hashlib.sha256(b"secret").digest()).decode()
    (export.folder / "cas" / b64encode(hash.encode()).decode()).symlink_to(outside)
    changed = export.payload(b"was")
    (export.folder / "cas" / b64encode(changed.encode()).decode()).write_bytes(b"is")
    for number, each in enumerate((hash, changed, "sha256-../../x", f"sha256-{'A' * 43}="), 10):
        export.frame("gpt.turn", number, each, {"role": "user", "continues": [id_of(6)]})
    export.turn(20, "lost", continues=[id_of(10)])
    told: list[str] = []
    done = memory.import_file(export.write(), told=lambda note: told.append(str(note)))
    assert (done.broken, done.added) == (4, 7)
    reasons = [each for each in told if ": broken: " in each]
    assert "leads out of the folder" in reasons[0]
    assert "disagrees with its hash" in reasons[1]
    assert memory.text(memory.find(f"cross-stream:{id_of(20)}").id) == "lost"


def test_what_continues_a_turn_that_is_left_out_continues_what_is_before_it(memory: Store, export: Export) -> None:
    export.frame("gpt.turn", 10, f"sha256-{'A' * 43}=", {"role": "assistant", "continues": [id_of(6)]})
    export.frame("gpt.turn", 11, f"sha256-{'B' * 43}=", {"role": "assistant", "continues": [id_of(10)]})
    export.turn(12, "Thanks", continues=[id_of(11)])
    told: list[str] = []
    memory.import_file(export.write(), told=lambda note: told.append(str(note)))
    thanks = memory.find(f"cross-stream:{id_of(12)}")
    assert [memory.get(each).text for each in thanks.meta.continues] == ["Sum up"]
    assert not any("stands as a root" in each for each in told)


def test_a_name_whose_last_turn_is_unreadable_stays_at_the_turn_before(memory: Store, export: Export) -> None:
    answer = export.payload(b'[{"type": "text", "text": "Done."}]')
    file = export.folder / "cas" / b64encode(answer.encode()).decode()
    file.unlink()
    export.frame(
        "gpt.turn", 10, answer, {"role": "assistant", "continues": [id_of(6)], "content_type": "application/json"}
    )
    done = memory.import_file(export.write())
    assert (done.trees, done.added, done.bookmarks, done.broken) == (2, 6, 2, 1)
    assert memory.text("chile") == "Sum up"
    export.payload(b'[{"type": "text", "text": "Done."}]')
    assert memory.import_file(export.write()).added == 1
    assert memory.text("chile") == "Done."


def test_a_stream_has_no_payloads(memory: Store, export: Export) -> None:
    with export.write().open("rb") as file:
        assert memory.import_file(file).broken == 6
