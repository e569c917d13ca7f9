"""The messages of a WebSocket, read from bytes however they were cut, and from bytes that are none."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame
from websockets.frames import Opcode as Code

from headish.gateway.recording import messages
from headish.gateway.recording.messages import HeldBytes, MessageReader, Opcode, SocketMessage, UnreadableFrames
from headish.gateway.recording.sockets import SocketBegin, SocketCalls
from headish.gateway.spool import ResponseHead, SpooledCall, SpoolFrame, SpoolKind
from support.sockets import completed, create, created
from support.spools import BEGUN, new_id

KEY = "sk-proj-abcdefghijklmnop0123456789"
TEXTS = st.lists(st.text(max_size=300), min_size=1, max_size=5)


def framed(texts: list[str], *, mask: bool = False, packed: bool = False, parts: int = 1) -> bytes:
    """Messages as a well kept library writes them, each in so many frames, with a ping behind each frame."""
    extensions = [PerMessageDeflate(False, False, 15, 15)] if packed else []
    written = b""
    for text in texts:
        data = text.encode()
        size = len(data) // parts + 1
        pieces = [data[at : at + size] for at in range(0, max(1, len(data)), size)]
        for number, piece in enumerate(pieces):
            code = Code.CONT if number else Code.TEXT
            frame = Frame(code, piece, fin=number == len(pieces) - 1)
            written += frame.serialize(mask=mask, extensions=extensions)
            written += Frame(Code.PING, b"p").serialize(mask=mask, extensions=extensions)
    return written


def read(data: bytes, cuts: int = 1, *, packed: bool = False) -> list[SocketMessage]:
    reader = MessageReader(HeldBytes(), is_packed=packed)
    return [each for at in range(0, len(data), cuts) for each in reader.feed(data[at : at + cuts])]


@given(TEXTS, st.booleans(), st.booleans(), st.integers(1, 3), st.integers(1, 200))
def test_what_was_written_is_read_however_it_was_cut(
    texts: list[str], mask: bool, packed: bool, parts: int, cuts: int
) -> None:
    data = framed(texts, mask=mask, packed=packed, parts=parts)
    found = read(data, cuts, packed=packed)
    assert [each.data.decode() for each in found if each.opcode is Opcode.TEXT] == texts
    assert sum(each.size for each in found) == len(data)
    assert all(each.data == b"p" for each in found if each.opcode is Opcode.PING)


@given(st.binary(max_size=300), st.booleans(), st.integers(1, 50))
def test_any_bytes_are_messages_or_unreadable(data: bytes, packed: bool, cuts: int) -> None:
    try:
        read(data, cuts, packed=packed)
    except UnreadableFrames as error:
        assert str(error)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xf1\x00", "a frame does not follow"),
        (b"\x83\x00", "a frame does not follow"),
        (b"\xc1\x00", "compressed and should not be"),
        (b"\x80\x00", "without a beginning"),
        (b"\x01\x00\x01\x00", "begins within another"),
        (b"\x09\x00", "a control frame"),
        (b"\x89\x7e\x00\x7e", "a control frame"),
        (b"\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", "more than"),
        (b"\x81\x7f" + (64 * 1024 * 1024 + 1).to_bytes(8), "more than"),
    ],
)
def test_what_is_no_frame_says_why(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableFrames, match=why):
        read(data)


def test_what_unpacks_to_too_much_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "BODY_LIMIT_BYTES", 1000)
    for size in (1000, 1001):
        packer = zlib.compressobj(wbits=-15)
        packed = (packer.compress(b"a" * size) + packer.flush(zlib.Z_SYNC_FLUSH)).removesuffix(b"\0\0\xff\xff")
        frame = bytes((0xC1, len(packed))) + packed
        if size > 1000:
            with pytest.raises(UnreadableFrames, match="more than 1,000 bytes"):
                read(frame, packed=True)
        else:
            assert len(read(frame, packed=True)[0].data) == 1000


def test_what_all_of_them_hold_has_a_limit_and_goes_with_them() -> None:
    held = HeldBytes(1000)
    readers = [MessageReader(held, is_packed=False) for _ in range(3)]
    begun = b"\x01\x7e\x01\x90" + b"a" * 400
    for reader in readers[:2]:
        assert list(reader.feed(begun)) == []
    with pytest.raises(UnreadableFrames, match="hold more than"):
        list(readers[2].feed(begun))
    readers[2].drop()
    readers[0].drop()
    assert next(readers[1].feed(b"\x80\x00")).data == b"a" * 400
    assert list(MessageReader(held, is_packed=False).feed(b"\x01\x7e\x03\xdf" + b"a" * 991)) == []


class Recorded:
    """The calls that the bytes of a WebSocket become."""

    def __init__(self, *, packed: bool = False) -> None:
        self.missed: list[str] = []
        self.calls: dict[str, SpooledCall] = {}
        begin = SocketBegin(BEGUN, ResponseHead(status=101, at=1), [KEY], packed)
        self.socket = SocketCalls(begin, new_id, self.missed.append, HeldBytes())

    def take(self, frames: Iterator[SpoolFrame]) -> None:
        for frame in frames:
            if frame.kind is SpoolKind.BEGIN:
                self.calls[frame.call] = SpooledCall(frame.call, BEGUN)
            else:
                assert self.calls[frame.call].end is None
                self.calls[frame.call].take(frame)


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=80)), max_size=20), st.booleans())
def test_hostile_bytes_end_every_call_and_raise_nothing(chunks: list[tuple[bool, bytes]], ends: bool) -> None:
    recorded = Recorded()
    recorded.take(recorded.socket.sent(framed([json.dumps(create("hello"))], mask=True), 1))
    for is_client, data in chunks:
        recorded.take((recorded.socket.sent if is_client else recorded.socket.came)(data, 2))
    recorded.take(recorded.socket.end("broken", 3, None) if ends else recorded.socket.stop("no room", 3))
    assert recorded.calls
    assert all(call.end is not None for call in recorded.calls.values())
    assert recorded.socket.open == 0


@given(
    st.lists(
        st.recursive(
            st.none()
            | st.integers()
            | st.text(max_size=5)
            | st.sampled_from(["type", "error", "response.create", "response.completed", "stream_id", "status"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["type", "stream_id", "status", "x"]), inner, max_size=4)
            ),
            max_leaves=6,
        ),
        max_size=10,
    )
)
def test_any_json_of_either_side_ends_every_call_and_raises_nothing(said: list[object]) -> None:
    recorded = Recorded()
    for each in said:
        text = framed([json.dumps(each)])
        recorded.take(recorded.socket.sent(text, 1))
        recorded.take(recorded.socket.came(text, 1))
    recorded.take(recorded.socket.end("ok", 2, None))
    assert all(call.end is not None for call in recorded.calls.values())


def test_a_key_goes_from_every_part_of_it() -> None:
    recorded = Recorded(packed=True)
    asked = framed([json.dumps(create(f"my key is {KEY}"))], mask=True, packed=True)
    came = framed([json.dumps({**created(KEY), "x": KEY}), json.dumps(completed("r"), indent=1)], packed=True)
    for at in range(len(asked)):
        recorded.take(recorded.socket.sent(asked[at : at + 1], 1))
    for at in range(len(came)):
        recorded.take(recorded.socket.came(came[at : at + 1], 1))
    [call] = recorded.calls.values()
    assert KEY.encode() not in call.request + call.response
    assert call.response.count(b"***") == 2
    assert call.response.count(b"\n\n") == 2, "JSON of several lines is one event"


def test_a_provider_that_closes_without_a_code_is_told_so() -> None:
    recorded = Recorded()
    recorded.take(recorded.socket.sent(framed([json.dumps(create("hello"))], mask=True), 1))
    recorded.take(recorded.socket.came(b"\x88\x00", 2))
    recorded.take(recorded.socket.end("broken", 3, None))
    [call] = recorded.calls.values()
    assert call.end is not None
    assert call.end.error == "the provider closed the WebSocket: 1005"


def test_requests_without_answers_have_a_limit() -> None:
    recorded = Recorded()
    recorded.take(recorded.socket.sent(framed([json.dumps(create("hello"))] * 70), 1))
    assert (len(recorded.calls), len(recorded.missed)) == (64, 1)
