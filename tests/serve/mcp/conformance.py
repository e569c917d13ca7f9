"""The protocol's own conformance suite against ``/mcp``: ``make test-mcp``.

    python -m serve.mcp.conformance --suite FOLDER

The suite expects a server made for it, with tools, prompts and resources of its own that exercise all of the protocol.
``APART`` names the checks that such a server alone can pass, with what headish does not offer. The exit code is 1 where
another check fails, and where one of these passes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import support.serving
from headish import Database, Store

REVISIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
_PROMPTS, _RESOURCES = "no prompts are offered", "no resources are offered"
_TEXT = "a result is one text"
_ASKS = "no tool asks the client for anything"
_SUITES_OWN = "it needs a tool of the suite's own"
APART = {
    "completion-complete": "nothing is completed: no prompts, no resources",
    "logging-set-level": "no log is sent to a client",
    "tools-call-with-logging": "no log is sent to a client",
    "tools-call-with-progress": "no progress is told: a look-up takes milliseconds",
    "prompts-list": _PROMPTS,
    "prompts-get-simple": _PROMPTS,
    "prompts-get-with-args": _PROMPTS,
    "prompts-get-embedded-resource": _PROMPTS,
    "prompts-get-with-image": _PROMPTS,
    "sep-2322-non-tool-incomplete": _PROMPTS,
    "resources-list": _RESOURCES,
    "resources-read-text": _RESOURCES,
    "resources-read-binary": _RESOURCES,
    "resources-templates-read": _RESOURCES,
    "resources-subscribe": _RESOURCES,
    "resources-unsubscribe": _RESOURCES,
    "sep-2549-prompts-list-caching-hints": _PROMPTS,
    "sep-2549-resources-list-caching-hints": _RESOURCES,
    "sep-2549-resources-templates-list-caching-hints": _RESOURCES,
    "tools-call-image": _TEXT,
    "tools-call-audio": _TEXT,
    "tools-call-embedded-resource": _TEXT,
    "tools-call-mixed-content": _TEXT,
    "tools-call-sampling": _ASKS,
    "tools-call-elicitation": _ASKS,
    "elicitation-sep1034-general": _ASKS,
    "elicitation-sep1330-general": _ASKS,
    "sep-2322-elicitation-incomplete": _ASKS,
    "sep-2322-list-roots-incomplete": _ASKS,
    "sep-2322-sampling-incomplete": _ASKS,
    "sep-2322-respect-client-capabilities": _ASKS,
    "sep-2322-multi-round-r1": _ASKS,
    "sep-2322-multiple-inputs-incomplete": _ASKS,
    "sep-2322-request-state-incomplete": _ASKS,
    "sep-2322-result-type-included": _ASKS,
    "sep-2322-reject-tampered-state": _ASKS,
    "sep-2575-server-rejects-undeclared-capability": _SUITES_OWN,
    "sep-2575-missing-capability-http-400": _SUITES_OWN,
    "json-schema-2020-12-tool-found": _SUITES_OWN,
    "sep-2243-server-no-xmcp-tool": "no argument of a tool is a header",
    "sep-2243-server-decode-base64": "no argument of a tool is a header",
    "sep-2243-server-validate-param-match": "no argument of a tool is a header",
    "sep-2243-server-reject-invalid-param-chars": "no argument of a tool is a header",
    "sep-2243-server-reject-param-mismatch": "no argument of a tool is a header",
}


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server that believes each request to show a token: the suite cannot show one."""
    with Store.open(folder / "talk.db") as store:
        store.add_turn("How do we deploy?", bookmark="work/plan")
    with Database.open(folder / "talk.db") as database:
        token = database.access_tokens.add("suite", rights=["read", "write"])
    made = support.serving.make_server

    def with_token(*given: Any) -> Any:
        server = made(*given)
        app = server.config.app

        async def admitted(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                scope = scope | {"headers": [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]}
            await app(scope, receive, send)

        server.config.app = admitted
        return server

    support.serving.make_server = with_token
    with support.serving.serving(folder / "talk.db", folder / "state") as server:
        yield f"{server.url}/mcp"


def run(suite: Path, revision: str, address: str, folder: Path) -> list[dict[str, Any]]:
    """All checks of a revision, as the suite tells them."""
    (node, *_) = [*map(str, suite.glob("node_modules/node-*/bin/node")), "node"]
    program = suite / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    asked = ["--url", address, "--suite", "all", "--spec-version", revision, "--output-dir", str(folder)]
    done = subprocess.run([node, program, "server", *asked], capture_output=True, text=True, timeout=600, check=False)
    told = [json.loads(path.read_bytes()) for path in sorted(folder.glob("*/checks.json"))]
    if not told or "=== SUMMARY ===" not in done.stdout:
        raise SystemExit(f"the suite did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [check for checks in told for check in checks]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--suite", type=Path, required=True, help="the folder where node has its packages")
    suite = parser.parse_args().suite.resolve()
    failed: Counter[str] = Counter()
    with TemporaryDirectory() as name, served(Path(name)) as address:
        for revision in REVISIONS:
            checks = run(suite, revision, address, Path(name) / revision)
            wrong = [check for check in checks if check["status"] == "FAILURE"]
            failed.update(check["id"] for check in wrong)
            passed = sum(check["status"] == "SUCCESS" for check in checks)
            apart = sum(check["id"] in APART for check in wrong)
            print(f"{revision}: {passed} passed, {apart} are about what is not offered, {len(wrong) - apart} failed")
            for check in wrong:
                if check["id"] not in APART:
                    print(f"  {check['id']}: {check.get('errorMessage')} {json.dumps(check.get('details'))[:500]}")
    unneeded = APART.keys() - failed.keys()
    for each in sorted(unneeded):
        print(f"  {each} passes: it need not be listed")
    return int(bool(unneeded or failed.keys() - APART.keys()))


if __name__ == "__main__":
    sys.exit(main())
