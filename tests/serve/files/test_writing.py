"""The page as files: every link leads to a file, nothing leaves the folder, nothing is replaced unasked."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import tracemalloc
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from headish import Store
from headish.errors import FileTaken, UnknownSpace
from headish.serve.files.writing import WrittenPages, write_pages
from support.command import Command
from support.hostile import PNG, documents, texts
from support.talks import fill

HOSTILE_NAMES = ("/etc/passwd", "CON", "index.html", ".hidden", "a" * 255, "c/garden", "Garden", "h<script>'\"&", "é")


def export(place: Path, folder: Path, **more: Any) -> WrittenPages:
    return asyncio.run(write_pages(str(place), "default", folder, **more))


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def links_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each address of each page that leads to no other host."""
    for page in folder.rglob("*.html"):
        for address in re.findall(r'(?:href|src)="([^"]*)"', page.read_text("utf-8")):
            if not re.match(r"(?:https?|mailto):", address):
                yield page, unescape(address)


def add_long(store: Store, name: str, turns: int, text: str = "turn") -> list[str]:
    items = [{"content": f"{text} {n}", **({"continues": n - 1} if n else {})} for n in range(turns)]
    items[-1]["bookmark"] = name
    return [turn.id for turn in store.add_turns(items)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "talk.db") as store:
        fill(store)
    return tmp_path / "talk.db"


@pytest.mark.slow
def test_every_link_leads_to_a_file_or_a_turn_that_is_there(place: Path, tmp_path: Path) -> None:
    with Store.open(place) as store:
        ids = add_long(store, "long", 230)
        add_long(store, "even", 100)
        for n in range(60):
            store.add_turn(f"One of many, {n}", bookmark=f"many/{n}")
        store.add_turn("nobody named this")
        store.add_turn("x" * 30_000 + " its end", bookmark="wide")
    done = export(place, tmp_path / "out")
    files = files_of(tmp_path / "out")
    assert (done.files, done.unchanged, done.refused, done.conversations) == (len(files), 0, 0, 69)
    targets = set()
    for page, address in links_of(tmp_path / "out"):
        path, _, anchor = address.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        assert target.is_relative_to(tmp_path / "out"), address
        assert target.is_file(), (page, address)
        assert not anchor or anchor == "main" or f'id="{anchor}"' in target.read_text("utf-8"), (page, address)
        targets.add(str(target.relative_to(tmp_path / "out")))
    assert set(files) - {"index.html"} <= targets
    assert b"turn 99<" in files["c/long/2.html"]
    assert b"turn 229<" in files["c/long/index.html"]
    assert f'id="t{ids[100]}"'.encode() in files["c/long/3.html"]
    assert sum(name.startswith("c/long/") for name in files) == 5
    assert {name for name in files if name.startswith("c/even/")} == {"c/even/1.html", "c/even/index.html"}
    assert any(b"its end" in page for name, page in files.items() if re.fullmatch(r"c/wide/\w{25}\.html", name))
    assert PNG in files.values()
    assert [name for name in files if "/" not in name and name != "index.html"] == ["2.html"]


@pytest.mark.slow
def test_what_strangers_said_leaves_no_folder_and_is_text(place: Path, tmp_path: Path) -> None:
    with Store.open(place) as store:
        for number, name in enumerate(HOSTILE_NAMES):
            store.add_turn(f"named {number}", bookmark=name)
        tip = store.add_turn(documents(), bookmark="documents").id
        for text in texts("http://127.0.0.1:1/canary"):
            tip = store.add_turn(text, continues=tip).id
        store.conversations.set("documents", title="</title><script>document.title='owned'</script>", tags=["<b>"])
    export(place, tmp_path / "out")
    assert {each.name for each in tmp_path.iterdir() if not each.name.startswith("talk.db")} == {"out"}
    files = files_of(tmp_path / "out")
    for number in range(len(HOSTILE_NAMES)):
        assert sum(f"<p>named {number}</p>".encode() in page for page in files.values()) == 1
    for name, data in files.items():
        assert re.fullmatch(r"(?:c/[\w.+=,@-]+/)?[\w-]+\.(?:html|png|gif)", name), name
        if name.endswith(".html"):
            page = data.decode()
            assert "Content-Security-Policy" in page[: page.index("<style>")]
            assert not re.search(r"<script|<form|<iframe|<link|\son\w+=\"|(?:href|src)=\"\s*(?:javascript|data):", page)
    # Of seven documents that claim something, one is the picture that it claims to be.
    assert [data[:6] for name, data in files.items() if name.endswith(".gif")] == [b"GIF89a"]
    assert sum(name.endswith(".png") for name in files) == 1


@pytest.mark.slow
def test_nothing_is_replaced_unasked_and_what_is_the_same_is_left(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with Store.open(place) as store:
        add_long(store, "long", 120)
        export(place, out)
        before = files_of(out)
        with pytest.raises(FileTaken):
            export(place, out)
        (out / "c" / "mine.txt").write_text("kept")
        done = export(place, out, overwrite=True)
        assert (done.files, done.unchanged) == (0, len(before))
        store.add_turn("It went on.", continues="long")
    done = export(place, out, overwrite=True)
    after = files_of(out)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"index.html", "c/long/1.html", "c/long/2.html", "c/long/index.html"}
    assert done.files == len(changed)
    assert after["c/mine.txt"] == b"kept"


@pytest.mark.slow
def test_what_is_gone_since_stands_in_no_file(tmp_path: Path) -> None:
    out, place = tmp_path / "out", tmp_path / "talk.db"
    with Store.open(place) as store:
        wide = store.add_turn("canary " * 5_000, bookmark="wide")
        store.add_turn("It stays.", continues="wide")
        long = add_long(store, "long", 120, "canary")
        for n in range(60):
            store.add_turn(f"canary {n}", bookmark=f"many/{n}")
        export(place, out)
        assert f"c/wide/{wide.id}.html" in files_of(out)
        assert {"2.html", "c/long/1.html"} <= set(files_of(out))
        (out / "c" / "long" / "notes.txt").write_text("mine")
        store.erase([wide.id, *long], reason="asked for")
        for n in range(60):
            store.erase(f"many/{n}", scope="thread", reason="asked for")
    done = export(place, out, overwrite=True)
    files = files_of(out)
    assert [name for name, data in files.items() if b"canary" in data] == []
    assert set(files) == {"index.html", "c/wide/index.html", "c/long/notes.txt"}
    assert len(files) == done.files + done.unchanged + 1


def test_a_page_holds_its_thread_alone_and_an_erased_turn_only_its_mark(place: Path, tmp_path: Path) -> None:
    with Store.open(place) as store:
        first = store.add_turn("Kept.", bookmark="draft").id
        store.add_turn("What I threw away.", role="assistant", continues="draft")
        store.add_turn("What stays.", role="assistant", continues=first)
        store.bookmarks.undo("draft")
    export(place, tmp_path / "out")
    pages = b"".join(files_of(tmp_path / "out").values())
    assert b"threw away" not in pages
    assert b"555-0100" not in pages
    assert b"Erased on" in pages


def test_a_damaged_conversation_is_listed_without_a_page_and_the_others_follow(place: Path, tmp_path: Path) -> None:
    with Store.open(place) as store:
        turn = store.get("trip~1").id
    with sqlite3.connect(place) as connection:
        assert connection.execute("UPDATE turn SET role = 'system' WHERE id = ?", [turn]).rowcount == 1
    told: list[str] = []
    done = export(place, tmp_path / "out", told=lambda subject, error: told.append(f"{subject}: {error}"))
    assert done.refused == 1
    assert [each.partition(":")[0] for each in told] == ["trip"]
    assert turn in told[0]
    index = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "damaged, without a page" in index
    assert "c/trip/" not in index
    assert (tmp_path / "out" / "c" / "garden" / "index.html").exists()


@pytest.mark.slow
def test_memory_does_not_grow_with_a_thread(tmp_path: Path) -> None:
    def peak(turns: int) -> int:
        place = tmp_path / f"{turns}.db"
        with Store.open(place) as store:
            add_long(store, "long", turns, "w" * 2_000)
        tracemalloc.start()
        try:
            export(place, tmp_path / f"out{turns}")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(50)  # what is imported once
    # The tokens of a thread are counted 512 turns at a time: a little more of a longer one is held, but not its text.
    assert peak(1_200) - peak(550) < 650 * 2_000


def test_the_command_says_what_it_wrote(place: Path, tmp_path: Path) -> None:
    headish = Command(str(place))
    out = str(tmp_path / "out")
    assert headish("serve", "--export", out).err == f"7 files written, for 5 conversations: open {out}/index.html\n"
    assert "--overwrite replaces" in headish.fails("serve", "--export", out)
    assert "7 unchanged" in headish("--read-only", "serve", "--export", out, "--overwrite").err
    assert headish.run("serve", "--overwrite").code == 2
    with pytest.raises(UnknownSpace):
        asyncio.run(write_pages(str(place), "nobody", tmp_path / "other"))
    assert "nobody" in headish.fails("--space", "nobody", "serve", "--export", str(tmp_path / "third"))
