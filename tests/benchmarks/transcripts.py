"""How fast transcripts are read and written, each dimension beside its limit, measured in the same run.

The limit of reading is looking for the format's tokens in the same bytes and decoding them as UTF-8; that of writing is
looking for the tokens in the same texts and encoding them. Rounds of headish and of the limit alternate; a line gives
the medians. One line a dimension, ``name=… format=… key=value …``; ``ratio`` is headish by its limit.

    read_chat      many short messages, as people write them: headers and messages are what costs here
    read_body      one message of 50 MB: the cost of a byte
    stream_chat    the same many messages, in chunks of 1 KB
    stream_body    the same long one, in chunks of 1 KB
    write_chat     many short messages to text
    write_body     one long message to text

Run: ``make bench``, or ``python tests/benchmarks/transcripts.py [--quick]``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

from headish.transcripts import FORMATS, Transcript, emit, parse
from headish.transcripts.formats import open_parser

TOKENS = {
    "v0.1": (b"<|im_start|>", b"<|im_end|>"),
    "rwkv": (b"<<USER>>", b"<<USER_END>>", b"<<ASSISTANT>>", b"<<ASSISTANT_END>>"),
}
FRAME_TOKENS = (b"<|start|>", b"<|channel|>", b"<|message|>", b"<|call|>", b"<|return|>", b"<|end|>")
SENTENCE = "Lima is the capital of Peru; it lies on the coast, between the Rímac and the sea. "
FRAMES = {
    "v0.1": ("<|im_start|>user\n{}\n<|im_end|>\n", "<|im_start|>assistant\n{}\n<|im_end|>\n"),
    "2.0": ("<|start|>user<|message|>{}<|end|>\n\n", "<|start|>assistant<|channel|>final<|message|>{}<|end|>\n\n"),
    "2.2": ("<|start|>user<|message|>{}<|end|>\n", "<|start|>assistant<|channel|>final<|message|>{}<|end|>\n"),
    "harmony": ("<|start|>user<|message|>{}<|end|>", "<|start|>assistant<|channel|>final<|message|>{}<|end|>"),
    "rwkv": ("<<USER>>\n{}\n<<USER_END>>\n\n", "<<ASSISTANT>>\n{}\n<<ASSISTANT_END>>\n\n"),
}
CHUNK = 1024
Work = Callable[[], object]


def chat(format: str, count: int) -> bytes:
    """A transcript of many messages of one to four sentences."""
    frames = FRAMES[format]
    return "".join(frames[at % 2].format(SENTENCE * (1 + at % 4)) for at in range(count)).encode()


def body(format: str, megabytes: float) -> bytes:
    """A transcript of one long message."""
    return FRAMES[format][0].format(SENTENCE * int(megabytes * 1e6 / len(SENTENCE.encode()))).encode()


def limit_of_reading(format: str, data: bytes) -> None:
    """Look for every token, and decode."""
    for token in TOKENS.get(format, FRAME_TOKENS):
        at = data.find(token)
        while at >= 0:
            at = data.find(token, at + len(token))
    data.decode()


def limit_of_writing(format: str, transcript: Transcript) -> None:
    """Look for every token in each text, and encode."""
    tokens = [token.decode() for token in TOKENS.get(format, FRAME_TOKENS)]
    for message in transcript.messages:
        for block in message.content:
            text: str = block.text  # type: ignore[union-attr]
            for token in tokens:
                text.find(token)
            text.encode()


def stream(format: str, data: bytes) -> None:
    parser = open_parser(format)
    for at in range(0, len(data), CHUNK):
        parser.feed(data[at : at + CHUNK])
        parser.take_events()
    parser.end_input()
    parser.finish()


def measure(name: str, format: str, size: int, rounds: int, work: Work, limit: Work) -> None:
    """Run both in turn, and print a line of their medians."""
    own: list[float] = []
    other: list[float] = []
    for _ in range(rounds):
        for times, run in ((own, work), (other, limit)):
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
    took, least = statistics.median(own), statistics.median(other)
    rates = f"mb_s={size / took / 1e6:.0f} limit_mb_s={size / least / 1e6:.0f}"
    print(f"name={name} format={format} {rates} ratio={took / least:.1f}")


def measure_all(kind: str, format: str, data: bytes, rounds: int) -> None:
    """Reading, reading in chunks, and writing of one transcript."""
    transcript = parse(data, format)
    looked, encoded = partial(limit_of_reading, format, data), partial(limit_of_writing, format, transcript)
    measure(f"read_{kind}", format, len(data), rounds, partial(parse, data, format), looked)
    measure(f"stream_{kind}", format, len(data), rounds, partial(stream, format, data), looked)
    measure(f"write_{kind}", format, len(data), rounds, partial(emit, transcript, format), encoded)


def main() -> None:
    arguments = argparse.ArgumentParser(description="Benchmarks of transcripts, each beside its limit.")
    arguments.add_argument("--quick", action="store_true", help="small sizes, for a look")
    quick = arguments.parse_known_args()[0].quick
    for format in FORMATS:
        measure_all("chat", format, chat(format, 500 if quick else 20_000), 3 if quick else 7)
        measure_all("body", format, body(format, 1 if quick else 50), 3 if quick else 7)


if __name__ == "__main__":
    main()
