"""What has changed since the last call is imported: what grew, was cut off, stands in another's place, or is new."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headish import Store
from headish.errors import InvalidArgument
from headish.store.writing import imports
from headish_cli.commands.keeping import watching
from imports.test_claude_code import WORK, session
from imports.test_codex import WORK as ROLLOUT
from imports.test_codex import rollout
from support.insides import unchanged

WHOLE = session(*WORK).getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "projects"
    (made / "tides").mkdir(parents=True)
    (made / "tides" / "a.jsonl").write_bytes(WHOLE[:-30])
    age(made / "tides" / "a.jsonl")
    return made


def age(path: Path) -> None:
    """Nobody has written to the file for an hour: nothing in it is held back, in a process of its own either."""
    os.utime(path, (time.time() - 3600, time.time() - 3600))


def test_a_second_call_reads_nothing(store: Store, folder: Path) -> None:
    done = store.import_changed(folder)
    assert (done.messages, done.added) == (4, 4)
    with unchanged(store):
        assert store.import_changed(folder).messages == 0


def test_what_grew_since_and_what_is_new_is_imported(store: Store, folder: Path) -> None:
    store.import_changed(folder)
    with (folder / "tides" / "a.jsonl").open("ab") as file:
        file.write(WHOLE[-30:])
    (folder / "rollout-b.jsonl").write_bytes(rollout(*ROLLOUT).getvalue())
    done = store.import_changed(folder)
    assert (done.messages, done.added) == (8, 7), "of the session that grew, its last message and what is new"
    assert store.text("list-the-files") == "Two files."


def test_a_file_that_was_cut_off_takes_nothing_away(store: Store, folder: Path) -> None:
    store.import_changed(folder)
    path = folder / "tides" / "a.jsonl"
    path.write_bytes(b"")
    assert store.import_changed(folder).messages == 0
    assert store.stats().turns == 4
    path.write_bytes(WHOLE)
    assert store.import_changed(folder).added == 1


def test_a_file_in_the_place_of_another_is_read(memory: Store, folder: Path) -> None:
    memory.import_changed(folder)
    path = folder / "tides" / "a.jsonl"
    path.rename(folder / "tides" / "a.1.jsonl")
    other = WHOLE.replace(b'"uuid": "', b'"uuid": "z').replace(b'"parentUuid": "', b'"parentUuid": "z')
    path.write_bytes(other.replace(b"5f1c0a52", b"6f1c0a52").replace(b'"id": "msg_', b'"id": "zmsg_'))
    assert memory.import_changed(folder).added == 5
    assert memory.stats().turns == 9


def test_a_file_that_was_rewritten_in_its_size_and_time_is_read(memory: Store, folder: Path) -> None:
    """As by a program that sets the time of its own, or while the clock goes back."""
    memory.import_changed(folder)
    path = folder / "tides" / "a.jsonl"
    before = os.stat(path)
    path.write_bytes(path.read_bytes().replace(b"List the files", b"List my folder"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(path).st_size == before.st_size
    assert memory.import_changed(folder).added


def test_a_file_that_is_replaced_while_it_is_read_is_read_whole_by_the_next_call(
    memory: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "tides" / "a.jsonl"
    read = imports._import_trees

    def replaced(*arguments: Any, **options: Any) -> Any:
        (folder / "new").write_bytes(WHOLE)
        os.replace(folder / "new", path)
        return read(*arguments, **options)

    with monkeypatch.context() as context:
        context.setattr(imports, "_import_trees", replaced)
        memory.import_changed(folder)
    assert memory.import_changed(folder).messages == 5, "its stamp is that of the file before it"
    assert memory.stats().turns == 5
    assert memory.import_changed(folder).messages == 0


def test_a_half_written_line_is_read_once_it_is_whole(memory: Store, folder: Path) -> None:
    memory.import_changed(folder)
    path = folder / "tides" / "a.jsonl"
    for at in (20, 10, 1):
        path.write_bytes(WHOLE[:-at])
        done = memory.import_changed(folder)
        assert (done.added, done.broken) == ((0, 0) if at > 1 else (1, 0))
    path.write_bytes(WHOLE)
    assert memory.import_changed(folder).added == 0


def test_a_session_under_another_name_is_the_same_one(memory: Store, folder: Path) -> None:
    memory.import_changed(folder)
    (folder / "tides" / "a.jsonl").rename(folder / "b.jsonl")
    assert memory.import_changed(folder).added == 0
    (folder / "b.jsonl").unlink()
    assert memory.import_changed(folder).messages == 0
    assert memory.stats().turns == 4


def test_a_file_that_is_refused_is_told_and_tried_again(memory: Store, folder: Path) -> None:
    (folder / "rollout-c.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd rest")
    told: list[str] = []
    assert memory.import_changed(folder, told=lambda note: told.append(str(note))).broken == 1
    assert any("rollout-c.jsonl.zst: broken: " in each for each in told)
    assert memory.import_changed(folder).broken == 1


def test_links_that_lead_out_of_the_folder_are_not_followed(memory: Store, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_bytes(rollout(*ROLLOUT).getvalue())
    (folder / "out.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.jsonl").write_bytes(rollout(*ROLLOUT).getvalue())
    (folder / "more").symlink_to(tmp_path / "more")
    assert memory.import_changed(folder).trees == 1


def test_of_a_folder_only_logs_are_kept_imported(memory: Store, folder: Path) -> None:
    with pytest.raises(InvalidArgument, match="claude-code, codex, gemini-cli"):
        memory.import_changed(folder, "chatgpt")


def start(target: Path, *words: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from headish_cli.main import main; main()", "--db", target, "import", *words]
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(target: Path, turns: int) -> None:
    """Until the database holds so many turns; a minute at most."""
    for _ in range(600):
        if target.exists():
            with Store.open(target) as store:
                if store.stats().turns >= turns:
                    return
        time.sleep(0.1)
    raise AssertionError(f"{turns} turns did not come")


@pytest.mark.slow
def test_watching_ends_with_ctrl_c_and_loses_and_repeats_nothing_when_it_is_killed(
    tmp_path: Path, folder: Path
) -> None:
    target, path = tmp_path / "history.db", folder / "tides" / "a.jsonl"
    watching = start(target, "--watch", folder, "--every", "0.1")
    wait_for(target, 4)
    watching.kill()
    watching.communicate()
    with path.open("ab") as file:
        file.write(WHOLE[-30:])
    age(path)
    watching = start(target, "--watch", folder, "--every", "0.1")
    wait_for(target, 5)
    watching.send_signal(signal.SIGINT)
    said = watching.communicate(timeout=60)
    assert (watching.returncode, said[0]) == (130, "")
    assert "Traceback" not in said[1]
    with Store.open(target) as store:
        assert store.verify().problems == ()
        assert store.stats().turns == 5


@pytest.mark.slow
def test_two_that_watch_the_same_folder_store_it_once(tmp_path: Path, folder: Path) -> None:
    for number in range(20):
        records = [{**each, "sessionId": f"s{number}"} if "sessionId" in each else each for each in WORK]
        text = session(*records).getvalue().replace(b'uuid": "', f'uuid": "{number}-'.encode())
        text = text.replace(b'parentUuid": "', f'parentUuid": "{number}-'.encode())
        (folder / f"{number}.jsonl").write_bytes(text.replace(b"msg_", f"msg_{number}_".encode()))
        age(folder / f"{number}.jsonl")
    target = tmp_path / "history.db"
    os.unlink(folder / "tides" / "a.jsonl")
    both = [start(target, "--watch", "--once", folder) for _ in range(2)]
    for each in both:
        said = each.communicate(timeout=120)
        assert each.returncode == 0, said
    with Store.open(target) as store:
        assert store.stats().turns == 100
        assert len(store.bookmarks) == 20


@pytest.mark.slow
def test_a_folder_that_is_not_there_yet_is_watched_all_the_same(tmp_path: Path, folder: Path) -> None:
    target, later = tmp_path / "history.db", tmp_path / "later"
    watching = start(target, "--watch", folder, later, "--every", "0.1")
    wait_for(target, 4)
    later.mkdir()
    (later / "rollout-b.jsonl").write_bytes(rollout(*ROLLOUT).getvalue())
    age(later / "rollout-b.jsonl")
    wait_for(target, 10)
    watching.send_signal(signal.SIGINT)
    told = watching.communicate(timeout=60)[1]
    assert watching.returncode == 130
    assert told.count(f"There is no {later} now; what appears there is imported.") == 1
    once = start(target, "--watch", "--once", tmp_path / "nowhere")
    assert "there is no" in once.communicate(timeout=60)[1]
    assert once.returncode == 2


@pytest.mark.slow
def test_a_store_that_is_read_only_is_not_watched_into(tmp_path: Path, folder: Path) -> None:
    target = tmp_path / "history.db"
    Store.open(target).close()
    command = [sys.executable, "-c", "from headish_cli.main import main; main()", "--read-only", "--db", str(target)]
    done = subprocess.run(
        [*command, "import", "--watch", str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "read-only" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_watch_outlives_a_database_that_others_hold(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "history.db"
    with Store.open(target) as store, closing(sqlite3.connect(target, isolation_level=None)) as other:
        monkeypatch.setattr(store._open_backend(), "_wait_seconds", 0.1)
        other.execute("BEGIN IMMEDIATE")
        rounds: Iterator[Callable[[], object]] = iter([lambda: None, lambda: other.execute("COMMIT"), lambda: None])

        def rest(_seconds: float) -> None:
            between = next(rounds, None)
            if between is None:
                raise KeyboardInterrupt
            between()

        # The module's own: the store waits for locks with the same function.
        monkeypatch.setattr(watching, "time", SimpleNamespace(monotonic=time.monotonic, sleep=rest))
        with pytest.raises(KeyboardInterrupt):
            watching.watch_files(store, [str(folder)], None, lambda note: None, 0.1, False)
        told = capsys.readouterr().err
        assert told.count("another process has held it") == 1
        assert told.index("Watching goes on") < told.index("can be written again") < told.index("New: 4 turns")
        assert store.stats().turns == 4
