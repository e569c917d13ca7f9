"""A PostgreSQL server that drops its connections: at most the calls in flight fail, and nothing is stored twice."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from headish import Store
from headish.database import postgresql
from headish.database.query import Query
from headish.database.server.connection import Piped, ServerConnection
from headish.errors import DatabaseUnavailable, OutcomeUnknown
from headish.history.writing import append
from support.growing import texts
from support.insides import database_of

pytest.importorskip("psycopg")


@pytest.fixture
def store(new_postgresql: str) -> Iterator[Store]:
    with Store.open(new_postgresql) as store:
        store.add_turn("first", bookmark="main")
        yield store


def drop_all(url: str) -> None:
    """Have the server end every other connection to the database."""
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def _is_there(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


@contextmanager
def closed_to_all(url: str) -> Iterator[None]:
    """The server ends all connections to the database, and takes none."""
    at = sqlalchemy.make_url(url)
    engine = sqlalchemy.create_engine(
        at.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f'ALTER DATABASE "{at.database}" ALLOW_CONNECTIONS false')
        left = f"FROM pg_stat_activity WHERE datname = '{at.database}'"
        ended = connection.exec_driver_sql(f"SELECT pid, pg_terminate_backend(pid) {left}").scalars().all()
        # A server's process takes messages until it is gone, which is a little later than it is listed.
        while connection.exec_driver_sql(f"SELECT count(*) {left}").scalar() or any(map(_is_there, ended)):
            time.sleep(0.01)
        try:
            yield
        finally:
            connection.exec_driver_sql(f'ALTER DATABASE "{at.database}" ALLOW_CONNECTIONS true')


def test_the_calls_after_it_open_new_connections(
    store: Store, new_postgresql: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with ThreadPoolExecutor(6) as pool:  # as many connections as threads
        list(pool.map(lambda number: store.add_turn(str(number), continues="main"), range(24)))
    drop_all(new_postgresql)
    with caplog.at_level(logging.ERROR):
        for number in range(10):
            store.add_turn(f"after {number}", continues="main")
    assert len(store.log("main")) == 35
    assert (caplog.text, capfd.readouterr().err) == ("", "")
    assert store.verify().problems == ()


@pytest.mark.slow
def test_no_driver_says_what_the_store_tells_or_does_again(store: Store, new_postgresql: str, tmp_path: Path) -> None:
    """In a program without a log, whose warnings Python prints: a call that succeeds on a new connection is silent."""
    program = """
import sys
from headish import Store
with Store.open(sys.argv[1]) as store:
    for verb in sys.stdin:
        if verb == "add\\n":
            store.add_turn("x", continues="main")
        elif verb == "many\\n":
            store.add_turns([{"content": str(number)} for number in range(30)])
        else:
            store.log("main")
        print(verb, end="", flush=True)
"""
    words = [sys.executable, "-c", program, new_postgresql]
    with (
        (tmp_path / "err").open("w+") as err,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        for verb in ("add\n", "many\n", "log\n") * 2:
            drop_all(new_postgresql)
            process.stdin.write(verb)
            process.stdin.flush()
            assert process.stdout.readline() == verb
        process.stdin.close()
        assert process.wait(60) == 0
        err.seek(0)
        assert err.read() == ""
    assert store.stats().turns == 1 + 2 * (1 + 30)


def test_rows_that_break_off_are_told_by_the_store_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection ends itself while several rows are under way, behind the first message of the transaction."""
    backend: Any = database_of(store)

    def work(connection: Any) -> None:
        own = connection.row(Query("who", "SELECT pg_backend_pid()"))[0]
        connection.run_rows(Query("end", "SELECT pg_terminate_backend(:own)"), [[own]] * 100)

    monkeypatch.setattr(postgresql, "RECONNECT_SECONDS", 0.0)
    with pytest.raises(DatabaseUnavailable):
        backend.read(work)
    assert caplog.records == []


def test_ctrl_c_while_a_broken_message_is_left_is_no_error_of_the_server() -> None:
    class Broken(AbstractContextManager[None]):
        def __exit__(self, *_: object) -> None:
            try:
                raise KeyboardInterrupt
            finally:
                raise RuntimeError("cannot exit")

    with pytest.raises(KeyboardInterrupt), Piped(Broken()):
        raise ValueError("it broke inside")
    with pytest.raises(RuntimeError, match="cannot exit"), Piped(Broken()):
        pass


class LosesTheAnswer:
    """The next commit is carried out or not, and its answer is lost with the connection."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch, *, commits: bool) -> None:
        self._commits, self._left = commits, 1
        backend: Any = database_of(store)
        commit = backend._commit

        def lose(pooled: Any) -> None:
            if not self._left or pooled.read_only:
                return commit(pooled)
            self._left -= 1
            if self._commits:
                commit(pooled)
            pooled.close()
            raise backend._psycopg.OperationalError("the connection was lost")

        monkeypatch.setattr(backend, "_commit", lose)


def lose_a_message(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, commits: bool, ever_after: bool = False
) -> list[bool]:
    """The next transaction that is one message is carried out or not, and its answer is lost with the connection;
    ``ever_after``: so is every connection that follows. The list is empty until then."""
    backend: Any = database_of(store)
    send, begin, lost = ServerConnection._send_whole, backend._begin, list[bool]()

    def lose(self: Any, *statements: Any) -> bool:
        if lost:
            return send(self, *statements)
        if commits:
            send(self, *statements)
        lost.append(True)
        self._driver.close()
        raise backend._psycopg.OperationalError("the connection was lost")

    def refuse(driver: Any, reads: bool) -> None:
        if lost and ever_after:
            driver.close()
        begin(driver, reads)

    monkeypatch.setattr(ServerConnection, "_send_whole", lose)
    monkeypatch.setattr(backend, "_begin", refuse)
    return lost


class TestACommitWhoseAnswerIsLost:
    @pytest.mark.parametrize("commits", [True, False], ids=["it was carried out", "it was not"])
    @pytest.mark.parametrize("verb", ["add_turn", "add_turns", "record", "set", "remove", "undo", "pointer", "forget"])
    def test_it_is_done_once(self, store: Store, monkeypatch: pytest.MonkeyPatch, verb: str, commits: bool) -> None:
        store.add_turn("second", continues="main")
        store.pointers.set("old", "openai/m")
        LosesTheAnswer(store, monkeypatch, commits=commits)
        turns, moves = store.stats().turns, len(store.bookmarks.history("main"))
        if verb == "add_turn":
            turn = store.add_turn("once", continues="main")
            assert (store.stats().turns, store.bookmarks["main"]) == (turns + 1, turn.id)
            assert store.get(turn.id) == turn
        elif verb == "add_turns":
            assert len(store.add_turns(["a", {"content": "b", "continues": 0}])) == 2
            assert store.stats().turns == turns + 2
        elif verb == "record":
            assert store.record([{"role": "user", "content": "r"}]).added == 1
            assert store.stats().turns == turns + 1
        elif verb == "set":
            store.bookmarks.set("main", "main~1")
            assert len(store.bookmarks.history("main")) == moves + 1
        elif verb == "remove":
            store.bookmarks.remove("main")
            assert ("main" in store.bookmarks, len(store.bookmarks.history("main"))) == (False, moves + 1)
        elif verb == "undo":
            assert len(store.bookmarks.undo("main")) == 1
            assert len(store.bookmarks.history("main")) == moves + 1
        elif verb == "pointer":
            store.pointers.set("new", "openai/m")
            assert len(store.pointers.history("new")) == 1
        else:
            store.pointers.remove("old")
            assert len(store.pointers.history("old")) == 2
        assert store.verify().problems == ()

    @pytest.mark.parametrize("commits", [True, False], ids=["it was carried out", "it was not"])
    def test_one_that_is_a_message_with_its_turn_is_done_once(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, commits: bool
    ) -> None:
        store.add_turn("second", continues="main")
        lost = lose_a_message(store, monkeypatch, commits=commits)
        turn = store.add_turn("once", continues="main")
        assert lost
        assert texts(store, "main") == ["first", "second", "once"]
        assert store.bookmarks["main"] == turn.id
        store.add_turn("behind it", continues="main")
        assert store.verify().problems == ()

    def test_a_message_that_cannot_be_settled_carries_the_id(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgresql, "RECONNECT_SECONDS", 0.2)
        store.add_turn("second", continues="main")
        with monkeypatch.context() as patched:
            lose_a_message(store, patched, commits=True, ever_after=True)
            with pytest.raises(OutcomeUnknown, match="may be stored or not") as unknown:
                store.add_turn("third", continues="main")
        assert list(unknown.value.ids) == [store.bookmarks["main"]]
        assert texts(store, "main") == ["first", "second", "third"]

    def test_a_server_that_was_gone_before_the_message_is_not_in_doubt(
        self, store: Store, new_postgresql: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgresql, "RECONNECT_SECONDS", 0.2)
        store.add_turn("second", continues="main")
        with closed_to_all(new_postgresql), pytest.raises(DatabaseUnavailable):
            store.add_turn("third", continues="main")
        assert texts(store, "main") == ["first", "second"]

    def test_what_follows_a_message_that_proved_nothing_is_not_in_doubt_before_its_commit(
        self, store: Store, new_postgresql: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgresql, "RECONNECT_SECONDS", 0.2)
        with Store.open(new_postgresql) as other:
            other.add_turn("second", continues="main")
        with ExitStack() as stack, monkeypatch.context() as patched:

            def lose(connection: Any, *_: Any, **__: Any) -> None:
                stack.enter_context(closed_to_all(new_postgresql))
                connection.row(Query("nobody answers", "SELECT 1"))

            patched.setattr(append, "take_seq", lose)
            with pytest.raises(DatabaseUnavailable):
                store.add_turn("third", continues="main")
        assert texts(store, "main") == ["first", "second"]

    def test_one_that_cannot_be_settled_carries_the_ids(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(postgresql, "RECONNECT_SECONDS", 0.2)
        LosesTheAnswer(store, monkeypatch, commits=True)
        backend: Any = database_of(store)
        begin = backend._begin

        def refuse(pooled: Any, reads: bool) -> None:
            if len(calls) > 0:
                pooled.close()
            calls.append(reads)
            begin(pooled, reads)

        calls: list[bool] = []
        with monkeypatch.context() as patched:
            patched.setattr(backend, "_begin", refuse)
            with pytest.raises(OutcomeUnknown, match="may be stored or not") as unknown:
                store.add_turns(["a", "b"])
        stored = [turn.id for turn in store.turns()][-2:]
        assert list(unknown.value.ids) == stored
