"""A small tool server, run as a process: over stdio, over HTTP on loopback (``--http``), and a rude one (``--rude``).

The first two are made with the package that others make theirs with; ``--old`` keeps the second to the protocol before
2026-07-28, which has sessions and answers in event streams. The rude one is written by hand, because the package does
not let a server say what the protocol forbids; ``--endless`` makes its list of tools so. ``--started FILE`` writes the
process's id into a file before anything else.

Used by tests/tools/servers, and by the tool loop of tests/answers and tests/cli.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LARGE_BYTES, HUGE_BYTES = 2 * 1024 * 1024, 9 * 1024 * 1024
NUMBER = {"type": "number"}
PAGES: list[list[dict[str, Any]]] = [
    [
        {
            "name": "add",
            "title": "Addition",
            "description": "Adds two numbers.",
            "inputSchema": {"type": "object", "required": ["a", "b"], "properties": {"a": NUMBER, "b": NUMBER}},
        },
        {"name": "fail", "inputSchema": {"type": "object"}},
        {"name": "picture", "inputSchema": {"type": "object"}},
        {"name": "files", "inputSchema": {"type": "object"}},
    ],
    [
        {"name": "structured", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
        {"name": "pid", "inputSchema": {"type": "object"}},
        {"name": "place", "inputSchema": {"type": "object"}},
    ],
    [
        {"name": "hang", "inputSchema": {"type": "object"}},
        {"name": "leave", "inputSchema": {"type": "object"}},
        {"name": "meet", "inputSchema": {"type": "object"}},
        {"name": "large", "inputSchema": {"type": "object"}},
        {"name": "huge", "inputSchema": {"type": "object"}},
        {"name": "no___base64", "inputSchema": {"type": "object"}},
        {"name": "crash", "inputSchema": {"type": "object"}},
    ],
]
TOOLS = [tool for page in PAGES for tool in page]

RUDE_TOOLS = [
    {"zeta": 1, "name": "nothing", "inputSchema": {"type": "object", "x-order": ["b", "a"]}, "alpha": {"n": None}},
    {"inputSchema": {"type": "object"}, "name": "wrong"},
    {"inputSchema": {"type": "object"}, "name": "chatter"},
    {"inputSchema": {"type": "object"}, "name": "endless"},
    {"inputSchema": {"type": "object"}, "name": "unknown"},
    {"inputSchema": {"type": "object"}, "name": "bytes"},
]
RUDE_ANSWERS: dict[str, str] = {
    "nothing": '{"content": []}',
    "wrong": '{"content": "this should be an array"}',
    "chatter": '{"content": [{"type": "text", "text": "said after all"}]}',
    "endless": '{"content": [], "structuredContent": {"height": NaN}}',
    "unknown": '{"content": [{"type": "hologram", "data": "…"}]}',
    "bytes": '{"content": [{"type": "text", "text": "\udcff"}]}',
}


async def answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a tool of the polite server answers."""
    if name == "hang":
        print("hanging", file=sys.stderr, flush=True)
        try:
            await asyncio.sleep(3600)
        finally:
            print("let go", file=sys.stderr, flush=True)
    if name == "meet":
        await met.wait()
    if name == "leave":
        os._exit(3)
    if name == "crash":
        raise ValueError("the tool itself is broken")
    blocks, rest = ANSWERS[name](arguments)
    return {"content": blocks, **rest}


met = asyncio.Barrier(2)
"""Two calls of ``meet`` answer together, one alone never does."""


def text(said: object) -> dict[str, Any]:
    return {"type": "text", "text": str(said)}


def variable(name: str) -> dict[str, Any]:
    return text(f"{name} is {os.environ.get(name, 'not set')}")


def files(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    notes = {"uri": "file:///notes.txt", "mimeType": "text/plain", "text": "remember"}
    paper = {"uri": "file:///a/my%20paper.pdf?page=1", "mimeType": "application/pdf", "blob": "JVBERi0="}
    return [
        {"type": "resource", "resource": notes},
        {"type": "resource", "resource": paper},
        {"type": "resource", "resource": {"uri": "data:", "blob": "AAEC"}},
        {"type": "resource_link", "name": "the map", "uri": "https://example.org/map"},
    ]


ANSWERS: dict[str, Any] = {
    "add": lambda arguments: ([text(arguments["a"] + arguments["b"])], {}),
    "fail": lambda arguments: ([text("no such peak")], {"isError": True}),
    "picture": lambda arguments: (
        [
            text("a dot:"),
            {"type": "image", "mimeType": "image/png", "data": PIXEL},
            {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
        ],
        {},
    ),
    "files": lambda arguments: (files(arguments), {}),
    "structured": lambda arguments: ([], {"structuredContent": {"height": 8849, "of": "Everest"}}),
    "pid": lambda arguments: ([text(os.getpid())], {}),
    "place": lambda arguments: ([*map(variable, ("SECRET", "OPEN")), text(os.getcwd())], {}),
    "meet": lambda arguments: ([text("met")], {}),
    "large": lambda arguments: ([text("x" * LARGE_BYTES)], {}),
    "huge": lambda arguments: ([text("x" * HUGE_BYTES)], {}),
    "no___base64": lambda arguments: ([{"type": "image", "mimeType": "image/png", "data": "not base64!"}], {}),
}


def make_server() -> Any:
    import mcp_types
    from mcp.server import Server

    async def list_tools(context: Any, params: Any) -> Any:
        page = int(params.cursor or 0) if params else 0
        following = str(page + 1) if page + 1 < len(PAGES) else None
        tools = [mcp_types.Tool.model_validate(tool) for tool in PAGES[page]]
        return mcp_types.ListToolsResult(tools=tools, next_cursor=following)

    async def call_tool(context: Any, params: Any) -> Any:
        return mcp_types.CallToolResult.model_validate(await answer(params.name, params.arguments or {}))

    return Server("calculator", on_list_tools=list_tools, on_call_tool=call_tool)


def serve_stdio() -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        server = make_server()
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


def serve_http() -> None:
    """On a free port, which is printed, and so is the end of a session. Requests without the right key are refused."""
    import socket

    import uvicorn

    app = make_server().streamable_http_app()

    def status_of(headers: list[tuple[bytes, bytes]]) -> int:
        if (b"authorization", b"Bearer right") not in headers:
            return 401
        return 404 if "--old" in sys.argv and (b"mcp-protocol-version", b"2026-07-28") in headers else 200

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope.get("method") == "DELETE":
            print("DELETE", flush=True)
        status = status_of(scope["headers"]) if scope["type"] == "http" else 200
        if status == 200:
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(guarded, log_level="critical")).run(sockets=[listening])


def serve_rudely() -> None:
    print("what do you want?", file=sys.stderr, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        if request.get("params", {}).get("name") == "chatter":
            print("Debugging: this is no JSON")
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"]})[:-1] + ", " + rude_body(request) + "}"
        sys.stdout.buffer.write(body.encode(errors="surrogateescape") + b"\n")
        sys.stdout.flush()


def rude_body(request: dict[str, Any]) -> str:
    if request["method"] == "initialize":
        said = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        return f'"result": {json.dumps(said | {"serverInfo": {"name": "rude", "version": "1"}})}'
    if request["method"] == "tools/list":
        endless = {"nextCursor": "again"} if "--endless" in sys.argv else {}
        return f'"result": {json.dumps({"tools": RUDE_TOOLS} | endless)}'
    if request["method"] == "tools/call":
        return f'"result": {RUDE_ANSWERS[request["params"]["name"]]}'
    return '"error": {"code": -32601, "message": "never heard of it"}'


if __name__ == "__main__":
    if "--started" in sys.argv:
        Path(sys.argv[sys.argv.index("--started") + 1]).write_text(str(os.getpid()))
    (serve_http if "--http" in sys.argv else serve_rudely if "--rude" in sys.argv else serve_stdio)()
