"""A folder that delivers late, a store that answers, a database: three stores have everything in the end, in any
order."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headish import Database, Store
from headish.errors import BarredContent, InvalidBundle, RemoteUnavailable
from headish.remotes.commands import Pipes
from headish.store.keeping.sharing import live
from support.lines import CountedPipes, line_to
from support.machines import CutOff, Machine, cut_off, url_of
from support.relays import relayed
from support.serving import serving
from support.signers import Keys, needs_keygen

NAMES = ("a", "b", "c")
STEPS = ("say", "fork", "name", "title", "sync", "sync", "cut", "carry", "carry", "erase")
IN_A_FOLDER = (*STEPS, "tear")
PAIRS = [("sqlite", "sqlite"), ("sqlite", "postgresql"), ("postgresql", "sqlite"), ("postgresql", "postgresql")]
"""On what the desks are, and on what the database that is their remote."""


class Asking(NamedTuple):
    """What desks call the store that answers, and what goes on while they reach it, cut off or not."""

    there: dict[str, str]
    reach: Callable[..., AbstractContextManager[object]]
    settings: dict[str, bool] = {}


class TestAFolderThatDeliversLate:
    """Three stores, each with a folder of its own between which objects are carried late and in any order. They say,
    name and erase, and syncs are cut off; two have imported the same session."""

    @settings(max_examples=8)
    @given(data=st.data())
    def test_files_have_everything_in_the_end(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("late")
        _converge(data, root, [Store.open(root / f"{name}.db", durability="normal") for name in NAMES])

    @pytest.mark.slow
    @pytest.mark.postgresql
    @settings(max_examples=4)
    @given(data=st.data())
    def test_a_file_and_two_servers_have_everything_in_the_end(
        self, data: st.DataObject, postgresql_url: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("late")
        servers = [Store.open(postgresql_url, space=f"late-{uuid4().hex}") for _ in NAMES[1:]]
        for each in servers:
            each.space = "default"  # a folder is named after the space: each is the only one of its machine
        _converge(data, root, [Store.open(root / "a.db", durability="normal"), *servers])


class TestAFolderWhereAllSign:
    """As above, and each believes only what is signed for the place. Either one begins, or all do before the syncer has
    carried anything: then each takes the id that is left."""

    @pytest.mark.slow
    @needs_keygen
    @settings(max_examples=4)
    @given(data=st.data())
    def test_files_have_everything_in_the_end(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("signed")
        with _signing(root / "ssh"):
            stores = [Store.open(root / f"{name}.db", durability="normal") for name in NAMES]
            _converge(data, root, stores, begins=data.draw(st.sampled_from(["one", "all"])))


class TestADatabaseThatIsOpenedHere:
    """Two stores whose remote is the database of a third one: on either kind each, cut off at any byte of either
    way."""

    @settings(max_examples=8)
    @given(data=st.data())
    def test_files_have_everything_in_the_end(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("database")
        box = root / "c.db"
        stores = [Store.open(root / f"{name}.db", durability="normal") for name in NAMES]
        _converge_live(data, root, stores, _by_database(str(box)))

    @pytest.mark.slow
    @pytest.mark.postgresql
    @pytest.mark.parametrize(("desks", "box"), PAIRS[1:])
    def test_files_and_servers_have_everything_in_the_end(
        self, desks: str, box: str, make_postgresql_database: Callable[[], str],
        tmp_path_factory: pytest.TempPathFactory,
    ) -> None:  # fmt: skip
        servers = [make_postgresql_database() if kind == "postgresql" else None for kind in (desks, box)]

        @settings(max_examples=4)
        @given(data=st.data())
        def converge(data: st.DataObject) -> None:
            root, space = tmp_path_factory.mktemp("database"), f"pair-{uuid4().hex}"
            there = servers[1] or str(root / "c.db")
            stores = [_desk(root, name, space, servers[0]) for name in NAMES[:-1]]
            _converge_live(data, root, [*stores, Store.open(there, space=space)], _by_database(there))

        converge()


class TestAStoreThatAnswers:
    """Two stores that sync with a third one, which answers: on either database, cut off at any byte of either way."""

    @settings(max_examples=8)
    @given(data=st.data())
    def test_files_have_everything_in_the_end(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("live")
        _converge_live(data, root, [Store.open(root / f"{name}.db", durability="normal") for name in NAMES])

    @pytest.mark.slow
    @settings(max_examples=4)
    @given(data=st.data())
    def test_files_have_everything_in_the_end_over_http(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("http")
        stores = [Store.open(root / f"{name}.db", durability="normal") for name in NAMES]
        with answering_at(root / f"{NAMES[-1]}.db", root / "state") as ask:
            _converge_live(data, root, stores, ask)

    @pytest.mark.slow
    @pytest.mark.postgresql
    @settings(max_examples=4)
    @given(data=st.data())
    def test_files_and_servers_have_everything_in_the_end(
        self, data: st.DataObject, postgresql_url: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        root = tmp_path_factory.mktemp("live")
        servers = [Store.open(postgresql_url, space=f"live-{uuid4().hex}") for _ in NAMES[1:]]
        for each in servers:
            each.space = "default"  # both sides of a live remote have the same space
        stores = [Store.open(root / "a.db", durability="normal"), *servers]
        _converge_live(data, root, stores if data.draw(st.booleans()) else stores[::-1])


def _by_command(box: Store) -> Asking:
    """How desks reach a store that answers in this process."""
    return Asking({"url": "cmd:headish serve-stdio"}, partial(line_to, box, trust=True))


def _by_database(url: str) -> Asking:
    """How desks reach a store whose database they open."""
    return Asking({"url": url}, _opened, {"trust": True})


@contextmanager
def _opened(**cuts: int) -> Iterator[None]:
    def pipes(name: str, reads: int, writes: int) -> Pipes:
        cut = {} if name == live.CALLER else cuts
        return CountedPipes(name, reads, writes, cut.get("cut_out"), cut.get("cut_back"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "Pipes", pipes)
        yield


def _desk(root: Path, name: str, space: str, server: str | None) -> Store:
    """A store of a space, which has the database to itself as far as the other side can tell."""
    if server is None:
        return Store.open(root / f"{name}.db", durability="normal", space=space)
    store = Store.open(server, space=f"{space}-{name}")
    store.space = space
    return store


@contextmanager
def _signing(folder: Path) -> Iterator[None]:
    keys = Keys(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADISH_SIGNING_KEY", str(keys.make("anna")))
        patch.setenv("HEADISH_SIGNERS", str(keys.signers("anna@x {anna}")))
        yield


@contextmanager
def answering_at(place: Path, folder: Path) -> Iterator[Asking]:
    """How desks reach a store that is served."""
    with Database.open(place) as database, relayed() as relay, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKEN_OF_THE_BOX", database.access_tokens.add("desks", rights=["sync", "erase"]))
        url = f"http://127.0.0.1:{relay.port}"
        with serving(place, folder, public_urls=(url,)) as made:
            relay.target = made.settings.port
            yield Asking({"url": url, "key_env": "TOKEN_OF_THE_BOX"}, relay.cutting)


def _converge_live(data: st.DataObject, root: Path, stores: list[Store], asking: Asking | None = None) -> None:
    there, reach, chosen = asking or _by_command(stores[-1])
    machines = [Machine(store, root / f"keys-{name}", name) for name, store in zip(NAMES, stores, strict=True)]
    desks = machines[:-1]
    try:
        for each in desks:
            each.add(**there)
            each.set(erasures="apply", **chosen)
        for each in machines:
            each.store.add_turn("imported", bookmark="s", key="s:1")
        for _ in range(data.draw(st.integers(4, 14))):
            step, desk = data.draw(st.sampled_from(STEPS)), data.draw(st.sampled_from(desks))
            if step == "sync":
                with reach():
                    desk.sync()
            elif step in ("cut", "carry"):
                cut = {data.draw(st.sampled_from(["cut_out", "cut_back"])): data.draw(st.integers(0, 4000))}
                with suppress(RemoteUnavailable), reach(**cut):
                    desk.sync()
            else:
                _do(data, root, data.draw(st.sampled_from(machines)), step)
        with reach():
            for each in [*desks, *desks, *desks]:
                each.sync()
            held = [{turn.id: (turn.seal, turn.erased is not None) for turn in store.turns()} for store in stores]
            assert held[0] == held[1] == held[2]
            assert [store.verify().problems for store in stores] == [(), (), ()]
            last = [each.sync() for each in desks]
        assert [(each.pulled.stored, each.pushed.turns) for each in last] == [(0, 0)] * 2
    finally:
        for store in stores:
            store.close()


def _converge(data: st.DataObject, root: Path, stores: list[Store], begins: str = "nobody") -> None:
    """``begins``: who of those that sign is the first to do so; "nobody" signs, or "one", or "all" at once."""
    machines = {name: Machine(store, root / f"keys-{name}", name) for name, store in zip(NAMES, stores, strict=True)}
    signed = {} if begins == "nobody" else {"sign": True, "require_signed": True}
    try:
        for name, each in machines.items():
            each.add(url_of(root / f"box-{name}"), plain=True)
            each.set(erasures="apply", **signed)
            each.store.add_turn("imported", bookmark="s", key="s:1")
            if begins == "one":
                _sync(each)
                _carry(root, lambda _: True)
        for _ in range(data.draw(st.integers(4, 14))):
            _do(data, root, machines[data.draw(st.sampled_from(NAMES))], data.draw(st.sampled_from(IN_A_FOLDER)))
        for number in range(4):
            for each in machines.values():
                _sync(each)
            _carry(root, lambda _: True)
            for each in machines.values() if begins == "all" and number == 0 else ():
                each.set(sign=True)
        held = [{turn.id: (turn.seal, turn.erased is not None) for turn in store.turns()} for store in stores]
        assert held[0] == held[1] == held[2]
        assert [store.verify().problems for store in stores] == [(), (), ()]
        last = [each.sync() for each in machines.values()]
        assert [(each.pulled.stored, each.pushed.turns, each.pulled.waiting) for each in last] == [(0, 0, ())] * 3
        assert _held_later(root) == held[0]
    finally:
        for store in stores:
            store.close()


def _held_later(root: Path) -> dict[str, tuple[str, bool]]:
    """What a machine holds that comes when all is said, and reads nothing but the logs as they are by then."""
    with Store.open(root / "later.db", durability="normal") as store:
        later = Machine(store, root / "keys-later", "later")
        later.add(url_of(root / f"box-{NAMES[0]}"), plain=True)
        later.set(erasures="apply")
        assert later.sync().pulled.waiting == ()
        assert store.verify().problems == ()
        return {turn.id: (turn.seal, turn.erased is not None) for turn in store.turns()}


def _do(data: st.DataObject, root: Path, each: Machine, step: str) -> None:
    store = each.store
    turns = [turn.id for turn in store.turns()]
    if step == "say":
        said, continued = data.draw(st.sampled_from(["x", "y" * 3000])), data.draw(st.sampled_from(turns))
        with suppress(BarredContent):
            store.add_turn(said, continues=continued)
    elif step == "fork":
        parents = data.draw(st.lists(st.sampled_from(turns), min_size=1, max_size=3, unique=True))
        with suppress(BarredContent):
            store.add_turn("both", continues=parents)
    elif step == "name":
        store.bookmarks.set(data.draw(st.sampled_from(["s", "t"])), data.draw(st.sampled_from(turns)))
    elif step == "title":
        store.conversations.set("s", title=data.draw(st.sampled_from(["one", "two"])))
    elif step == "erase":
        meta, content = data.draw(st.booleans()), data.draw(st.booleans())
        store.erase(data.draw(st.sampled_from(turns)), reason="r", meta=meta, content=content)
    elif step == "sync":
        _sync(each)
    elif step == "tear":
        _tear(data, root / f"box-{each.name}", each)
    elif step == "cut":
        with suppress(CutOff), cut_off(data.draw(st.integers(0, 30))):
            _sync(each)
    else:
        # One draw, however many objects lie there: that depends on the ids of devices, which are random.
        chance = Random(data.draw(st.integers(0, 2**16)))
        _carry(root, lambda _: chance.random() < 0.5)


def _sync(each: Machine) -> None:
    """Sync with a folder, and have a head that was torn written anew."""
    try:
        each.sync()
    except InvalidBundle:
        each.sync(accept_rollback=True)


def _tear(data: st.DataObject, box: Path, each: Machine) -> None:
    """Put bytes that nobody reads in the place of a machine's head, or of its next bundle. A head is written anew once
    somebody says so."""
    with each as store:
        [own] = [device for device in store.remotes.devices("box") if device.own]
    of_bundle = data.draw(st.booleans())
    for log in box.glob(f"v1/*/{own.device}"):
        bundles = sorted(log.rglob("*.hb"))
        if bundles and of_bundle:
            bundles[-1].with_name(f"{int(bundles[-1].stem) + 1:06d}.hb").write_bytes(b"torn")
        else:
            (log / "head").write_bytes(b"torn")


def _carry(root: Path, takes: Callable[[Path], bool]) -> None:
    """Carry objects from folder to folder, as a file syncer does: what a device wrote goes to the others."""
    for source in NAMES:
        for path in sorted((root / f"box-{source}").rglob("*")):
            if path.is_file() and takes(path):
                for target in NAMES:
                    there = root / f"box-{target}" / path.relative_to(root / f"box-{source}")
                    if target != source and (not there.exists() or there.stat().st_mtime_ns < path.stat().st_mtime_ns):
                        there.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copy2(path, there)
