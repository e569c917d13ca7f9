"""Whoever is at the other end: nothing of it is believed, nothing is half stored, and every error has its name."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
from blake3 import blake3
from msgspec.structs import replace

from headish import Store
from headish.bundles.live import (
    LIVE,
    AskHead,
    AskPages,
    AskRanges,
    AskTurns,
    Hello,
    IdRange,
    LeaseAnswers,
    LiveHead,
    LiveKind,
    NameLease,
    NameLeases,
    Offer,
    OfferedTurn,
    RangeAnswer,
    RangeAnswers,
    Say,
    TurnMark,
    TurnMarks,
    Wanted,
    Welcome,
)
from headish.bundles.pages import TurnColumns
from headish.bundles.records import SentRecord
from headish.content.frames import FrameWriter
from headish.errors import (
    ForeignConflict,
    HeadishError,
    InvalidBundle,
    MissingParents,
    RemoteRefused,
    RemoteUnavailable,
)
from headish.remotes import commands
from headish.remotes.commands import Pipes
from headish.rows.conversations import find_dated_record
from headish.rows.elsewhere.sealed import sealed_with
from headish.syncing.live import answering
from headish.syncing.live import wire as wire_module
from headish.syncing.live.answering import read_pages
from headish.syncing.live.ranges import FIRST, LAST, cut_range, measure_range
from headish.syncing.live.wire import Wire
from headish.syncing.remotes import read_remotes
from support.ends import Ends
from support.lines import line_to
from support.machines import Machine, state

EMPTY = f"{'0' * 32}.0.0.{'0' * 8}"
ID = "03hazt1vox15wqwz6ee310b73"


@pytest.fixture
def ends(machine: Callable[..., Machine]) -> Ends:
    desk, box = machine("desk"), machine("box")
    desk.add("cmd:x")
    desk.store.add_turn("here", bookmark="main")
    box.store.add_turn("there", bookmark="other")
    return desk, box.store


def call(box: Store, work: Callable[[Wire], Any], **door: Any) -> Any:
    """Call a store as a program that is not headish; what becomes of it."""
    with line_to(box, **door) as line, line("a caller", []), Wire(line.pipes, "the box") as wire:
        return work(wire)


def greeted(wire: Wire) -> Welcome:
    return wire.ask(Hello("default", "stranger"), Welcome)


def look(store: Store, work: Callable[[Any, int], Any]) -> Any:
    """What rows of a store say."""
    return store._read(lambda connection: work(connection, store._number))


def pages_of(store: Store, seq: int) -> Any:
    """A turn by its commit number, as it travels."""
    return look(store, lambda connection, space: read_pages(connection, space, [seq])[1])


def whole(store: Store) -> IdRange:
    found: IdRange = look(store, lambda connection, space: measure_range(connection, space, FIRST, LAST))
    return found


class TestACaller:
    """What a store answers to whoever calls."""

    def refused(self, box: Store, work: Callable[[Wire], Any], error: str, **door: Any) -> None:
        before = state(box)
        with pytest.raises(RemoteRefused) as caught:
            call(box, work, **door)
        assert caught.value.error == error, caught.value
        assert state(box) == before
        assert box.verify().problems == ()

    def test_that_says_no_hello(self, ends: Ends) -> None:
        self.refused(ends[1], lambda wire: wire.ask(AskTurns(0, 10), TurnMarks), "InvalidBundle")

    def test_that_asks_what_nobody_answers(self, ends: Ends) -> None:
        def work(wire: Wire) -> None:
            greeted(wire)
            wire.ask(Wanted(b""), TurnMarks)

        self.refused(ends[1], work, "InvalidBundle")

    def test_that_asks_about_ranges_again_and_again(self, ends: Ends) -> None:
        asked = whole(ends[1])
        reversed_bounds = IdRange(LAST, ID, 0, b"0" * 16)
        for ranges in ((asked, asked), (reversed_bounds,), (IdRange("x", LAST, 0, b"0" * 16),)):

            def work(wire: Wire, ranges: Any = ranges) -> None:
                greeted(wire)
                wire.ask(AskRanges(ranges), RangeAnswers)

            self.refused(ends[1], work, "InvalidBundle")

    def test_that_asks_for_turns_in_no_order(self, ends: Ends) -> None:
        def work(wire: Wire) -> None:
            greeted(wire)
            wire.send(AskPages((2, 1)))
            wire.bundle()

        self.refused(ends[1], work, "InvalidBundle")

    def test_that_asks_for_turns_that_are_not_there_gets_none(self, ends: Ends) -> None:
        def work(wire: Wire) -> list[Any]:
            greeted(wire)
            wire.send(AskPages((5, 2**62)))
            found = list(wire.bundle().parts())
            wire.bye()
            return found

        assert call(ends[1], work) == []

    def test_that_moves_names_it_may_not(self, ends: Ends) -> None:
        _, box = ends
        turn = before = box.bookmarks["other"]
        box.conversations.set("other", title="own")
        record = SentRecord(b"other", 9, 2**40, b'{"title":"theirs"}')
        seen = blake3(look(box, lambda connection, space: find_dated_record(connection, space, b"other"))[2]).digest()

        def work(wire: Wire) -> LeaseAnswers:
            greeted(wire)
            moves = (NameLease(b"other", None, turn), NameLease(b"mine", turn, None), NameLease(b"-x", turn, None))
            answer = wire.ask(NameLeases(moves, (Say(record, seen),)), LeaseAnswers)
            wire.bye()
            return answer

        answer = call(box, work, names="team/*")
        assert [each.outcome for each in answer.names] == ["refused"] * 3
        assert answer.said == (False,)
        assert dict(box.bookmarks) == {"other": before}
        assert box.conversations.get("other").record.title == "own"
        answer = call(box, work)
        assert [each.outcome for each in answer.names] == ["removed", "made", "refused"]

    @pytest.mark.parametrize("revision", [-5, 2**53, 2**63 - 1, 2**64 - 1])
    def test_that_says_a_title_with_a_revision_which_no_store_reaches(self, ends: Ends, revision: int) -> None:
        def work(wire: Wire) -> None:
            greeted(wire)
            says = (Say(SentRecord(b"other", revision, 1, b'{"title":"theirs"}'), b""),)
            wire.ask(NameLeases((), says), LeaseAnswers)

        self.refused(ends[1], work, "InvalidBundle")
        assert ends[1].conversations.set("other", title="own").record.title == "own"

    def test_that_has_seen_a_name_which_is_gone_does_not_bring_it_back(self, ends: Ends) -> None:
        turn = ends[1].bookmarks["other"]

        def work(wire: Wire) -> LeaseAnswers:
            greeted(wire)
            answer = wire.ask(NameLeases((NameLease(b"gone", turn, turn),)), LeaseAnswers)
            wire.bye()
            return answer

        assert [each.outcome for each in call(ends[1], work).names] == ["removed"]
        assert "gone" not in ends[1].bookmarks

    def test_that_writes_to_a_reader(self, ends: Ends, tmp_path: Any) -> None:
        desk, _ = ends
        pages = pages_of(desk.store, 1)

        def send(wire: Wire) -> None:
            greeted(wire)
            wire.send_bundle((), pages)
            wire.next()

        def move(wire: Wire) -> None:
            greeted(wire)
            wire.ask(NameLeases((NameLease(b"other", None, None),)), LeaseAnswers)

        with Store.open(tmp_path / "box.db", read_only=True) as closed:
            for work in (send, move):
                self.refused(closed, work, "ReadOnly")

    def test_that_slips_names_into_a_bundle(self, ends: Ends) -> None:
        def work(wire: Wire) -> None:
            greeted(wire)
            wire._writer.write(LiveKind.HEADER, {})
            wire._writer.write(LiveKind.NAMES, [(b"evil", ends[1].bookmarks["other"], b"0" * 32)])
            wire.next()

        self.refused(ends[1], work, "InvalidBundle")

    def test_that_sends_a_turn_of_a_parent_which_is_not_there(self, ends: Ends) -> None:
        desk, box = ends
        desk.store.add_turn("on", continues="main")
        pages = pages_of(desk.store, 2)

        def work(wire: Wire) -> None:
            greeted(wire)
            wire.send_bundle((), pages)
            wire.next()

        self.refused(box, work, "MissingParents")

    def test_that_sends_what_it_altered(self, ends: Ends) -> None:
        desk, box = ends
        pages = pages_of(desk.store, 1)
        altered = [TurnColumns.of([each._replace(role="system") for each in page.records()]) for page in pages]

        def work(wire: Wire) -> None:
            greeted(wire)
            wire.send_bundle((), altered)
            wire.next()

        self.refused(box, work, "InvalidBundle")

    def test_that_offers_an_id_of_here_with_another_seal(self, ends: Ends) -> None:
        def work(wire: Wire) -> None:
            greeted(wire)
            wire.ask(Offer((OfferedTurn(ends[1].bookmarks["other"], b"0" * 8),)), Wanted)

        self.refused(ends[1], work, "ForeignConflict")

    def test_that_offers_an_id_that_is_none(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        looked_up: list[Any] = []

        def noted(connection: Any, space: int, ids: Any) -> Any:
            looked_up.extend(ids)
            return sealed_with(connection, space, ids)

        monkeypatch.setattr(answering, "sealed_with", noted)
        for turn_id in ("a\0b", "", ID.upper(), "z" * 25):

            def work(wire: Wire, turn_id: str = turn_id) -> None:
                greeted(wire)
                wire.ask(Offer((OfferedTurn(turn_id, b"0" * 8),)), Wanted)

            self.refused(ends[1], work, "InvalidBundle")
        assert looked_up == [], "what no turn is called reaches no statement"

    def test_that_meets_an_error_of_this_machine_is_told_that_it_failed(
        self, ends: Ends, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise PermissionError("/home/me/secret.db")

        def work(wire: Wire) -> None:
            greeted(wire)
            wire.ask(AskHead(), LiveHead)

        monkeypatch.setattr(answering, "_read_head", fail)
        monkeypatch.setattr(threading, "excepthook", lambda _: None)
        with pytest.raises(RemoteRefused, match="it failed; see its log") as caught:
            call(ends[1], work)
        assert (caught.value.error, "secret" in str(caught.value)) == ("PermissionError", False)

    def test_that_sends_a_frame_without_end(self, ends: Ends) -> None:
        def work(wire: Wire) -> None:
            wire._pipes.write(bytes([LiveKind.HELLO]) + b"\xff\xff\xff\xff" + b"\0" * 100)
            wire.next()

        self.refused(ends[1], work, "InvalidBundle")

    def test_that_says_nothing(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.2)
        for begun in (False, True):
            (there, writes), (reads, here) = os.pipe(), os.pipe()
            if begun:
                FrameWriter(Pipes("x", reads, writes), LIVE)  # type: ignore[arg-type]
            with pytest.raises(RemoteUnavailable, match="said nothing"):
                ends[1].remotes.answer(there, here)
            for each in (there, writes, reads, here):
                os.close(each)


class Answers:
    """A store that answers as it is told to: what it says to each question."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"HELLO": Welcome(EMPTY.replace(".0.0.", ".5.5."), False)} | answers

    def __call__(self, reads: int, writes: int) -> None:
        with Wire(Pipes("a caller", reads, writes), "a caller") as wire:
            while (kind := wire.next()[0]) is not LiveKind.BYE:
                answer = self.answers[kind.name]
                if callable(answer):
                    answer(wire)
                else:
                    wire.send(answer)


def no_receipts(wire: Wire) -> None:
    wire.send_bundle((), ())


class TestTheOtherEnd:
    """What a caller makes of what it is answered."""

    def told(self, desk: Machine, error: type[HeadishError], match: str, **answers: Any) -> None:
        before = state(desk.store)
        with line_to(Answers(**{"ASK_RECEIPTS": no_receipts} | answers)), pytest.raises(error, match=match):
            desk.sync()
        assert state(desk.store) == before
        assert desk.store.verify().problems == ()

    def test_that_welcomes_with_something_else(self, ends: Ends) -> None:
        desk, _ = ends
        self.told(desk, InvalidBundle, "a cursor is", HELLO=Welcome("x", True))
        self.told(desk, InvalidBundle, "it says WANTED", HELLO=Wanted(b""))

    def test_that_cuts_ranges_without_end(self, ends: Ends) -> None:
        desk, _ = ends
        parts = (IdRange(FIRST, ID, 1, b"0" * 16), IdRange(ID, LAST, 1, b"0" * 16))
        for cut, match in (
            ((parts[0],), "not that range"),
            (parts[::-1], "not that range"),
            ((parts[0], parts[0]), "not that range"),
            ((IdRange(FIRST, LAST, 9, b"0" * 16), IdRange(LAST, LAST, 9, b"0" * 16)), "ranges that are malformed"),
        ):
            self.told(desk, InvalidBundle, match, ASK_RANGES=RangeAnswers((RangeAnswer(cut=cut),)))
        self.told(desk, InvalidBundle, "other ranges", ASK_RANGES=RangeAnswers(()))

    def test_that_lists_what_it_was_not_asked_for(self, ends: Ends) -> None:
        desk, _ = ends
        own = desk.store.bookmarks["main"]
        for turn, error, match in (
            (TurnMark(1, "zzz", b"0" * 8), InvalidBundle, "not in the range"),
            (TurnMark(1, own, b"0" * 8), ForeignConflict, "another seal"),
        ):
            self.told(desk, error, match, ASK_RANGES=RangeAnswers((RangeAnswer(turns=(turn,)),)))

    def test_that_sends_none_of_what_it_listed(self, ends: Ends) -> None:
        desk, _ = ends
        listed = RangeAnswers((RangeAnswer(turns=(TurnMark(1, ID, b"0" * 8),)),))
        self.told(desk, InvalidBundle, "none of the turns", ASK_RANGES=listed, ASK_PAGES=no_receipts)

    def test_that_sends_a_turn_of_a_parent_which_is_not_here(self, ends: Ends) -> None:
        desk, box = ends
        box.add_turn("on", continues="other")
        pages = pages_of(box, 2)
        listed = RangeAnswers((RangeAnswer(turns=(TurnMark(2, ID, b"0" * 8),)),))
        self.told(
            desk, MissingParents, "continues turns that are not here",
            ASK_RANGES=listed, ASK_PAGES=lambda wire: wire.send_bundle((), pages),
        )  # fmt: skip

    def test_that_names_what_no_name_may_be(self, ends: Ends) -> None:
        desk, _ = ends
        turn = desk.store.bookmarks["main"]
        head = LiveHead(EMPTY, ((b"a\x1b[31m", turn, b"0" * 32), (b"box/x", turn, b"0" * 32)), (), ())  # type: ignore[arg-type]
        same = RangeAnswers((RangeAnswer(same=True),))
        taken = LeaseAnswers((), (), EMPTY, EMPTY)
        before = dict(desk.store.bookmarks)
        answers = Answers(ASK_RECEIPTS=no_receipts, ASK_RANGES=same, ASK_HEAD=head, MOVES=taken)
        with line_to(answers), desk as store:
            done = store.remotes.pull("box")
        assert {each.outcome for each in done.names} == {"refused"}
        assert dict(desk.store.bookmarks) == before

    def test_that_lists_erasures_which_nobody_made_here(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is kept of it is read at every sync."""
        desk, box = ends
        own = desk.store.erase(desk.store.add_turn("gone").id, reason="asked to").receipt
        assert own is not None
        said = (own.id, *(f"{number:025d}" for number in range(10_000)))
        read = answering._read_head
        monkeypatch.setattr(
            answering, "_read_head", lambda *given, **named: replace(read(*given, **named), erased=said)
        )
        with line_to(box):
            desk.sync()
        [remote] = look(desk.store, read_remotes)
        assert [each.erased for each in remote.state.seen.values()] == [(own.id,)]

    def test_that_says_a_terminals_codes(self, ends: Ends) -> None:
        desk, _ = ends
        refusal = wire_module.LiveRefusal("E\x1b[2J", "no \x1b[31m")
        self.told(desk, RemoteRefused, r"\A[^\x00-\x1f]+ refused [^\x00-\x1f]+\Z", HELLO=refusal)

    def test_that_falls_silent(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        desk, _ = ends
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.2)
        self.told(desk, RemoteUnavailable, "said nothing", HELLO=lambda _: threading.Event().wait(0.6))

    def test_that_is_at_work_says_so(self, ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
        desk, box = ends
        monkeypatch.setattr(commands, "SILENCE_SECONDS", 0.4)
        monkeypatch.setattr(wire_module, "BEAT_SECONDS", 0.05)
        read_head = answering._read_head

        def read_slowly(*given: Any, **named: Any) -> Any:
            threading.Event().wait(1.0)
            return read_head(*given, **named)

        monkeypatch.setattr(answering, "_read_head", read_slowly)
        with line_to(box):
            assert desk.sync().pulled.stored == 1


def test_the_parts_of_a_range_are_the_range(machine: Callable[..., Machine]) -> None:
    store = machine("desk").store
    store.add_turns({"content": str(number)} for number in range(333))
    all_of_it = whole(store)
    parts = look(store, lambda connection, space: cut_range(connection, space, all_of_it))
    assert (len(parts), sum(each.count for each in parts)) == (16, 333)
    assert [each.low for each in parts[1:]] == [each.high for each in parts[:-1]]
    assert (parts[0].low, parts[-1].high) == (FIRST, LAST)
