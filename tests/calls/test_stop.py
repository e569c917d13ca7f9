"""``Stop`` keeps its promise: any thread and any signal handler may call it."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

from headish.calls.deadline import Stop

AT_EVERY_LINE = """
import signal, socket, sys
from headish.calls.deadline import Deadline, Stop, Timeouts

stop = Stop()
signal.signal(signal.SIGINT, lambda *_: stop.now())

def trace(frame, event, _):
    if event == "line" and frame.f_code.co_filename.endswith(("threading.py", "deadline.py")):
        sys.settrace(None)
        signal.raise_signal(signal.SIGINT)
        sys.settrace(trace)
    return trace

here, there = socket.socketpair()
deadline = Deadline(Timeouts(), stop)
deadline.watch(here)
sys.settrace(trace)
stop.now()
stop.wait(60)
deadline.cancel()
sys.settrace(None)
assert stop.asked
assert there.recv(1) == b"", "the connection was cut"
"""


@pytest.mark.slow
def test_a_signal_handler_may_stop_a_call_at_every_line_of_a_stop() -> None:
    run = subprocess.run([sys.executable, "-c", AT_EVERY_LINE], check=False, timeout=60)
    assert run.returncode == 0


def test_a_stop_ends_the_wait_of_every_thread_and_every_later_wait() -> None:
    stop = Stop()
    waits = [threading.Thread(target=stop.wait, args=(3600,)) for _ in range(3)]
    for wait in waits:
        wait.start()
    stop.now()
    for wait in waits:
        wait.join(60)
    assert not any(wait.is_alive() for wait in waits)
    stop.wait(3600)
    assert stop.asked


def test_a_wait_ends_after_its_time() -> None:
    stop = Stop()
    stop.wait(0.01)
    stop.wait(-1)
    assert not stop.asked


def test_a_wait_that_is_interrupted_leaves_no_later_one_waiting() -> None:
    for line in range(1, 8):
        stop, lines = Stop(), 0
        stop.now()

        def interrupt(frame: FrameType, event: str, _: object, at: int = line) -> Any:
            nonlocal lines
            if event == "line" and frame.f_code is Stop.wait.__code__:
                lines += 1
                if lines == at:
                    raise KeyboardInterrupt
            return interrupt

        with suppress(KeyboardInterrupt):
            sys.settrace(interrupt)
            try:
                stop.wait(0)
            finally:
                sys.settrace(None)
        later = threading.Thread(target=stop.wait, args=(3600,), daemon=True)
        later.start()
        later.join(10)
        assert not later.is_alive(), f"interrupted at line {line} of the wait"
