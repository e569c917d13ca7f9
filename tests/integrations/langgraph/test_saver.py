"""What a saver keeps: each value of each writer, each message once. What it deletes is gone, what it hides is said."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import pytest

from support.frameworks import not_installed

pytest.importorskip("langgraph.checkpoint.base", reason=not_installed("langgraph"))

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from headish import Database, Store
from headish.adapters.hiding import HidesOnly
from headish.errors import AdapterClosed, Closed, InvalidArgument, TooLarge, TurnErased
from headish.integrations.langgraph import HeadishSaver
from support.places import Place
from support.savers import put, said
from support.scenarios import at, chatbot, say

pytestmark = [pytest.mark.peers, pytest.mark.xdist_group("langgraph")]

ODD = ["line\nbreak", "😀", "x" * 10_000, "", "a/b%2f..", "half \ud800", "'; DROP TABLE object; --", "\x00"]


def human(*texts: str) -> list[Any]:
    return [HumanMessage(text, id=f"id-{text}") for text in texts]


def texts(store: Store, name: str = "1") -> list[str]:
    return [turn.text for turn in store.log(name)][::-1]


def everything(store: Store) -> bytes:
    """All bytes that the objects and turns of a space hold, whatever reads them."""
    from headish.rows.objects import objects_page

    rows = store._read(lambda connection: objects_page(connection, store._number, "", b"", 10_000))
    kept = b"".join(bytes(row[3]) for row in rows if row[0].startswith("langgraph/"))
    return kept + b"".join(_payload(store, turn) for turn in store.turns())


def _payload(store: Store, turn: Any) -> bytes:
    try:
        return store.payload(turn.id)
    except TurnErased:
        return b""


class TestMetadata:
    """The cases of langgraph-checkpoint 4.3.2, tests/test_memory.py, whose metadata has the key ``writes``."""

    FIRST = {"source": "input", "step": 2, "writes": {}, "score": 1}
    SECOND = {"source": "loop", "step": 1, "writes": {"foo": "bar"}, "score": None}

    @pytest.mark.parametrize(
        ("filter", "found"),
        [({"source": "input"}, ["1"]), ({"step": 1, "writes": {"foo": "bar"}}, ["2"]), ({}, ["2", "1"]),
         ({"source": "update", "step": 1}, [])],
    )  # fmt: skip
    def test_is_kept_whole_and_found(self, tmp_path: Path, filter: dict[str, Any], found: list[str]) -> None:
        from langgraph.checkpoint.base import empty_checkpoint

        with HeadishSaver(tmp_path / "a.db") as saver:
            for thread, metadata in (("1", self.FIRST), ("2", self.SECOND)):
                saver.put(at(thread, checkpoint_ns=""), empty_checkpoint(), metadata, {})
                assert saver.get_tuple(at(thread)).metadata == metadata
            listed = [each.config["configurable"]["thread_id"] for each in saver.list(None, filter=filter)]
            assert sorted(listed, reverse=True) == found


class TestPut:
    @pytest.mark.parametrize("thread", ODD, ids=lambda text: repr(text)[:12])
    def test_takes_any_ids(self, place: Place, thread: str) -> None:
        with HeadishSaver(place.target, space=place.space) as saver:
            for ns in ODD:
                config = put(saver, human(f"in {len(ns)}"), thread=thread, ns=ns, **{ns: 1})
                saver.put_writes(config, [(ns, "wrote"), ("__error__", ns)], ns, ns)
            for ns in ODD:
                found = saver.get_tuple(at(thread, checkpoint_ns=ns))
                assert said(saver, thread=thread, ns=ns) == [f"in {len(ns)}"]
                assert found.checkpoint["channel_values"][ns] == 1
                assert [write[:2] for write in found.pending_writes] == [(ns, "__error__"), (ns, ns)]
            assert len(list(saver.list(at(thread)))) == len(ODD)
            saver.delete_thread(thread)
            assert list(saver.list(None)) == []

    def test_stores_a_message_once(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            everybody = human(*map(str, range(30)))
            for count in range(1, 31):
                put(saver, everybody[:count])
            with Store.open(tmp_path / "a.db") as store:
                assert store.stats().turns == 30
                assert texts(store) == [*map(str, range(30))]

    def test_goes_on_after_a_restart(self, tmp_path: Path) -> None:
        for count in range(1, 6):
            with HeadishSaver(tmp_path / "a.db") as saver:
                put(saver, human(*map(str, range(count))))
        with Store.open(tmp_path / "a.db") as store:
            assert store.stats().turns == 5

    def test_keeps_two_values_under_one_version(self, place: Place) -> None:
        with HeadishSaver(place.target, space=place.space) as saver:
            one, two, again = (put(saver, version=1, value=value) for value in ("a", "b", "a"))
            found = [saver.get_tuple(each).checkpoint["channel_values"] for each in (one, two, again)]
        assert found == [{"value": "a"}, {"value": "b"}, {"value": "a"}]

    def test_of_two_lists_that_share_a_beginning_makes_a_fork(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            first = put(saver, human("a", "b", "c"))
            other = put(saver, human("a", "b", "d"))
            back = put(saver, human("a", "b"))
            assert [said(saver, each) for each in (first, other, back)] == [[*"abc"], [*"abd"], [*"ab"]]
            with Store.open(tmp_path / "a.db") as store:
                assert store.stats().turns == 4
                assert texts(store) == ["a", "b"]

    def test_leaves_a_name_that_is_somebody_elses(self, tmp_path: Path) -> None:
        with Store.open(tmp_path / "a.db") as store, HeadishSaver(tmp_path / "a.db") as saver:
            store.add_turn("mine", bookmark="1")
            put(saver, human("theirs"))
            assert (texts(store, "1"), texts(store, "1-2")) == (["mine"], ["theirs"])

    def test_follows_a_name_that_was_given_another_one(self, tmp_path: Path) -> None:
        with Store.open(tmp_path / "a.db") as store, HeadishSaver(tmp_path / "a.db") as saver:
            put(saver, human("a"))
            store.bookmarks.rename("1", "holidays")
            put(saver, human("a", "b"))
            assert list(store.bookmarks) == ["holidays"]
            assert texts(store, "holidays") == ["a", "b"]

    def test_refuses_what_is_larger_than_the_database_takes_and_keeps_nothing(self, tmp_path: Path) -> None:
        with Database.open(tmp_path / "a.db", payload_limit_bytes=1000) as database, HeadishSaver(database) as saver:
            with pytest.raises(TooLarge):
                put(saver, human("a", "x" * 2000))
            assert list(saver.list(None)) == []
            assert database.store().stats().turns == 0

    @pytest.mark.parametrize("where", ["value", "metadata", "write"])
    def test_names_what_is_too_large_whatever_it_is(self, tmp_path: Path, where: str) -> None:
        with Database.open(tmp_path / "a.db", payload_limit_bytes=3000) as database, HeadishSaver(database) as saver:
            last, large = put(saver, human("a"), value=1), "x" * 4000
            store_it = {
                "value": lambda: put(saver, human("a", "b"), value=large),
                "metadata": lambda: put(saver, human("a", "b"), metadata={"note": large}),
                "write": lambda: saver.put_writes(last, [("value", large)], "task"),
            }[where]
            with pytest.raises(TooLarge, match="the limit is 3,000"):
                store_it()
            assert [(each.config, each.pending_writes) for each in saver.list(None)] == [(last, [])]
            assert texts(database.store()) == ["a"]

    @pytest.mark.parametrize("broken", ["\ud800", {"\udfff": 1}, [{"a": ("\ud800", 1)}]], ids=repr)
    def test_of_half_a_character_ends_no_run(self, tmp_path: Path, broken: Any) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            config = put(saver, value=broken, metadata={"note": broken})
            saver.put_writes(config, [("value", broken)], "task")
            found = saver.get_tuple(config)
            kept = [found.checkpoint["channel_values"]["value"], found.metadata["note"], found.pending_writes[0][2]]
        assert [str(each).isprintable() for each in kept] == [True, True, True]
        assert not any("\ud800" in repr(each) or "\\ud" in repr(each) for each in kept)

    def test_of_a_list_that_holds_itself_is_refused(self, tmp_path: Path) -> None:
        endless: list[Any] = []
        endless.append(endless)
        with HeadishSaver(tmp_path / "a.db") as saver, pytest.raises(TypeError, match="Recursion"):
            put(saver, value=endless)

    def test_takes_a_large_state(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            config = put(saver, human("x" * 5_000_000), data=b"\x00" * 5_000_000)
            values = saver.get_tuple(config).checkpoint["channel_values"]
        assert (len(values["messages"][0].content), len(values["data"])) == (5_000_000, 5_000_000)

    def test_shows_nothing_to_a_serializer_that_encrypts(self, tmp_path: Path) -> None:
        class Backwards:
            def encrypt(self, data: bytes) -> tuple[str, bytes]:
                return "backwards", data[::-1]

            def decrypt(self, _: str, data: bytes) -> bytes:
                return data[::-1]

        with HeadishSaver(tmp_path / "a.db", serde=EncryptedSerializer(Backwards())) as saver:
            config = put(saver, human("a secret word"), other="another secret", metadata={"note": "a third secret"})
            saver.put_writes(config, [("c", "a fourth secret")], "t")
            assert said(saver) == ["a secret word"]
            with Store.open(tmp_path / "a.db") as store:
                assert store.stats().turns == 0
                assert b"secret" not in everything(store)


class TestSeveralWriters:
    def test_of_one_thread_lose_nothing(self, place: Place) -> None:
        with HeadishSaver(place.target, space=place.space) as saver:
            start = put(saver, human("start"))

            def write(number: int) -> list[Any]:
                last, mine, made = start, ["start"], []
                for step in range(6):
                    mine.append(f"{number} {step}")
                    last = put(saver, human(*mine), parent=last)
                    saver.put_writes(last, [("c", f"{number} {step}")], f"task {number}")
                    made.append((last, [*mine]))
                return made

            with ThreadPoolExecutor(6) as pool:
                made = [each for some in pool.map(write, range(6)) for each in some]
            assert all(said(saver, config) == expected for config, expected in made)
            assert all(len(saver.get_tuple(config).pending_writes) == 1 for config, _ in made)
            assert len(list(saver.list(at()))) == 37

    @pytest.mark.slow
    def test_in_two_processes_lose_nothing(self, tmp_path: Path) -> None:
        path, children = tmp_path / "a.db", []
        with HeadishSaver(path) as saver:
            put(saver, human("start"))
            for number in range(2):
                child = os.fork()
                if not child:
                    os._exit(_write_in_a_child(saver, path, number))
                children.append(child)
            assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
            found = [each.checkpoint["channel_values"]["messages"] for each in saver.list(at())]
        assert len(found) == 31
        said_in = {each[-1].content for each in found}
        assert said_in == {"start", *(f"{number} {step}" for number in range(2) for step in range(15))}
        with Store.open(path) as store:
            assert store.verify().problems == ()

    def test_one_deletes_what_another_goes_on_with(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as one, HeadishSaver(tmp_path / "a.db") as other:
            last = put(one, human("a", "b"))
            other.delete_thread("1")
            again = put(one, human("a", "b", "c"), parent=last)
            assert said(other, again) == ["a", "b", "c"]

    def test_cancelled_at_random_know_what_is_stored(self, tmp_path: Path) -> None:
        drawn = random.Random(7)

        async def run(saver: HeadishSaver) -> list[tuple[Any, bool]]:
            told = []
            for number in range(40):
                made = {"id": f"{number:05}", "v": 1, "ts": "", "channel_values": {"x": number}, "versions_seen": {}}
                made["channel_versions"] = {"x": f"{number:05}"}
                task = asyncio.create_task(saver.aput(at(checkpoint_ns=""), made, {}, made["channel_versions"]))
                await asyncio.sleep(drawn.random() * 0.004)
                task.cancel()
                try:
                    await task
                    told.append((number, True))
                except asyncio.CancelledError:
                    told.append((number, saver.get_tuple(at(checkpoint_id=f"{number:05}")) is not None))
            return told

        with HeadishSaver(tmp_path / "a.db") as saver:
            told = asyncio.run(run(saver))
            stored = {each.checkpoint["channel_values"]["x"] for each in saver.list(at())}
        assert stored == {number for number, is_stored in told if is_stored}

    @pytest.mark.slow
    def test_killed_at_any_moment_keep_whole_checkpoints(self, durable_place: Place) -> None:
        place, last = durable_place, 0
        for seconds in (0.05, 0.15, 0.3):
            told = _kill_a_writer(place, seconds)
            with HeadishSaver(place.target, space=place.space) as saver:
                found = [each.checkpoint["channel_values"] for each in saver.list(at())]
                assert [(len(each["messages"]), each["count"]) for each in found] == [
                    (count, count) for count in range(len(found), 0, -1)
                ]
                assert last <= told <= len(found) <= told + 1
                last = len(found)
                with saver._held.use() as store:
                    assert store.stats().turns == last
                    assert store.verify().problems == ()
        assert last > 3


WRITER = """
import sys
from langchain_core.messages import HumanMessage
from headish.integrations.langgraph import HeadishSaver
from support.savers import put

with HeadishSaver(sys.argv[1], space=sys.argv[2]) as saver:
    last = saver.get_tuple({"configurable": {"thread_id": "1"}})
    config, said = (None, []) if last is None else (last.config, last.checkpoint["channel_values"]["messages"])
    while True:
        print(len(said), flush=True)
        said = [*said, HumanMessage(f"number {len(said)}", id=str(len(said)))]
        config = put(saver, said, parent=config, count=len(said))
"""


def _kill_a_writer(place: Place, seconds: float) -> int:
    """Let another process write for a while and kill it; how many messages it knew to be stored."""
    paths = os.pathsep.join([*sys.path])
    command = [sys.executable, "-c", WRITER, place.target, place.space]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": paths}) as child:
        assert child.stdout is not None
        first = child.stdout.readline()
        time.sleep(seconds)
        child.kill()
        lines = [line for line in (first + child.stdout.read()).splitlines(keepends=True) if line.endswith("\n")]
    return int(lines[-1])


def _write_in_a_child(saver: HeadishSaver, path: Path, number: int) -> int:
    """The exit code: one child goes on with the saver that it inherited, one opens its own."""
    mine = saver if number else HeadishSaver(path)
    last, own = mine.get_tuple(at()).config, ["start"]
    for step in range(15):
        own.append(f"{number} {step}")
        last = put(mine, human(*own), parent=last)
        if said(mine, last) != own:
            return 1
    return 0


class TestClosed:
    def test_refuses_every_verb_and_is_closed_twice(self, tmp_path: Path) -> None:
        other = HeadishSaver(tmp_path / "a.db")
        saver = HeadishSaver(tmp_path / "a.db")
        put(saver, human("a"))
        saver.close()
        saver.close()
        for verb in (
            lambda: put(saver, human("b")),
            lambda: saver.get_tuple(at()),
            lambda: list(saver.list(None)),
            lambda: saver.delete_thread("1"),
            lambda: saver.prune(["1"]),
            lambda: asyncio.run(saver.aput_writes(at(checkpoint_id="1"), [("a", 1)], "t")),
        ):
            with pytest.raises(RuntimeError, match="closed") as caught:
                verb()
            assert isinstance(caught.value, AdapterClosed | Closed)
        assert said(other) == ["a"]
        other.close()

    def test_leaves_a_database_of_the_caller_open(self, tmp_path: Path) -> None:
        with Database.open(tmp_path / "a.db") as database:
            with HeadishSaver(database) as saver:
                put(saver, human("a"))
            assert texts(database.store()) == ["a"]

    def test_takes_no_other_erase(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidArgument):
            HeadishSaver(tmp_path / "a.db", erase="yes")  # type: ignore[arg-type]


class TestDeleting:
    @pytest.fixture
    def saver(self, place: Place) -> Any:
        with HeadishSaver(place.target, space=place.space, erase=True) as made:
            yield made

    @pytest.fixture
    def shown(self, place: Place, saver: HeadishSaver) -> Any:
        with saver._held.use() as store:
            yield store

    def test_a_thread_takes_all_of_it(self, saver: HeadishSaver, shown: Store) -> None:
        config = put(saver, human("secret one"), other="secret two", metadata={"note": "secret three"})
        saver.put_writes(config, [("c", "secret four")], "t")
        put(saver, human("secret one", "secret five"), ns="inner")
        saver.delete_thread("1")
        assert b"secret" not in everything(shown)
        assert list(saver.list(None)) == []
        assert "1" not in shown.bookmarks
        assert shown.verify().problems == ()

    def test_a_thread_leaves_its_copies_and_forks(self, saver: HeadishSaver, shown: Store) -> None:
        put(saver, human("a", "b"))
        put(saver, human("inside"), ns="inner")
        saver.copy_thread("1", "2")
        saver.copy_thread("2", "3")
        put(saver, human("a", "b", "only one"))
        put(saver, human("a", "b", "only two"), thread="2")
        shown.add_turn("of a person", continues="1~1", bookmark="mine", force=True)
        saver.delete_thread("1")
        assert (said(saver), said(saver, thread="2"), said(saver, thread="3")) == (
            None, ["a", "b", "only two"], ["a", "b"],
        )  # fmt: skip
        assert said(saver, thread="3", ns="inner") == ["inside"]
        assert texts(shown, "mine") == ["a", "b", "of a person"]
        assert b"only one" not in everything(shown)
        saver.delete_thread("2")
        assert said(saver, thread="3", ns="inner") == ["inside"]
        saver.delete_thread("3")
        assert b"inside" not in everything(shown)
        assert texts(shown, "mine") == ["a", "b", "of a person"]

    def test_runs_takes_what_only_they_said(self, saver: HeadishSaver, shown: Store) -> None:
        put(saver, human("a"), metadata={"run_id": "r1"})
        kept = put(saver, human("a", "b"), metadata={"run_id": "r2"}, value="kept")
        put(saver, human("a", "b", "secret"), metadata={"run_id": "r3"}, value="secret")
        put(saver, human("secret elsewhere"), thread="2", metadata={"run_id": "r3"})
        saver.delete_for_runs(["r1", "r3"])
        assert [each.config for each in saver.list(None)] == [kept]
        assert said(saver) == ["a", "b"] == texts(shown)
        assert b"secret" not in everything(shown)
        put(saver, human("a", "b", "c"), metadata={"run_id": "r4"})
        assert texts(shown) == ["a", "b", "c"]

    @pytest.mark.parametrize("verb", ["prune", "delete_for_runs"])
    def test_refuses_one_id_in_the_place_of_a_list(self, saver: HeadishSaver, verb: str) -> None:
        put(saver, human("a"), metadata={"run_id": "1"})
        with pytest.raises(InvalidArgument, match="a list of ids"):
            getattr(saver, verb)("1")
        assert said(saver) == ["a"]

    def test_pruning_keeps_the_last_of_each_namespace(self, saver: HeadishSaver, shown: Store) -> None:
        for ns in ("", "inner"):
            put(saver, human("a", "secret"), ns=ns, value="secret")
            put(saver, human("a", "b"), ns=ns, value="kept")
        saver.prune(["1", "no such thread"])
        assert [said(saver, each.config) for each in saver.list(at())] == [["a", "b"], ["a", "b"]]
        assert b"secret" not in everything(shown)
        saver.prune(["1"], strategy="delete")
        assert list(saver.list(None)) == []
        assert b"kept" not in everything(shown)

    def test_what_only_hides_says_so_once(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver:
            put(saver, human("a"), value=1)
            put(saver, human("a", "b"), value=2)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                saver.prune(["1"])
                saver.prune(["1"])
            assert [each.category for each in caught] in ([HidesOnly], [])  # another test may have heard it
            assert len(list(saver.list(at()))) == 1
        with HeadishSaver(tmp_path / "a.db", erase=False) as saver, Store.open(tmp_path / "a.db") as store:
            saver.delete_thread("1")
            assert said(saver) is None
            assert "1" not in store.bookmarks
            assert [turn.text for turn in store.turns()] == ["a", "b"]
            put(saver, human("new"))
            assert said(saver) == ["new"] == texts(store)

    def test_a_turn_by_hand_leaves_its_message_out(self, tmp_path: Path) -> None:
        with HeadishSaver(tmp_path / "a.db") as saver, Store.open(tmp_path / "a.db") as store:
            put(saver, human("a", "secret", "c"))
            store.erase("1~1", reason="they asked", meta=True)
            assert said(saver) == ["a", "c"]
            put(saver, human("a", "c", "d"))
            assert said(saver) == ["a", "c", "d"]


def _added(had: list[Any], new: Any) -> list[Any]:
    return [*had, *(message for some in new for message in some)]


class TestADeltaChannel:
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], DeltaChannel(_added, snapshot_frequency=4)]

    def grow(self, saver: HeadishSaver, steps: int) -> Any:
        def answer(state: Any) -> Any:
            return {"messages": [AIMessage(f"re {state['messages'][-1].content}", id=f"a{len(state['messages'])}")]}

        builder = StateGraph(self.State)
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        graph = builder.compile(checkpointer=saver)
        for step in range(steps):
            graph.invoke({"messages": [HumanMessage(str(step), id=f"h{step}")]}, at())
        return graph

    @pytest.mark.parametrize("erase", [None, True, False])
    @pytest.mark.parametrize("steps", [1, 3, 5, 8])
    def test_keeps_its_state_through_pruning_and_a_copy(self, tmp_path: Path, steps: int, erase: bool | None) -> None:
        with HeadishSaver(tmp_path / "a.db", erase=erase) as saver:
            graph = self.grow(saver, steps)
            before = [each.content for each in graph.get_state(at()).values["messages"]]
            assert len(before) == 2 * steps
            for _ in range(2):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", HidesOnly)
                    saver.prune(["1"])
                assert len(list(saver.list(at(checkpoint_ns="")))) == 1
                assert [each.content for each in graph.get_state(at()).values["messages"]] == before
            saver.copy_thread("1", "2")
            saver.delete_thread("1")
            assert [each.content for each in graph.get_state(at("2")).values["messages"]] == before
            graph.invoke({"messages": [HumanMessage("more", id="more")]}, at("2"))
            assert [each.content for each in graph.get_state(at("2")).values["messages"]] == [
                *before,
                "more",
                "re more",
            ]


def test_a_graph_runs_with_a_database_that_others_use(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a.db") as store, HeadishSaver(tmp_path / "a.db") as saver:
        graph = chatbot(saver)
        for text in ("one", "two"):
            graph.invoke(say(text), at("trip"))
        assert [(turn.meta.role, turn.text) for turn in store.log("trip")][::-1] == [
            ("user", "one"), ("assistant", "you said one"), ("user", "two"), ("assistant", "you said two"),
        ]  # fmt: skip
        assert [each.conversation.name for each in store.conversations.list().entries] == ["trip"]
