"""The page about TypeScript, with types made of the OpenAPI document: ``make test-typescript``.

    python -m serve.typescript.check --packages FOLDER --work FOLDER

Makes the types, has the compiler check the page's program in its strictest manner, and runs that against a server.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from headish import Database
from support.serving import serving

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs/how-to/use-from-typescript.md"
DOCUMENT = ROOT / "docs/reference/openapi.json"
PRINTS = """\
user What is the capital of Peru?
assistant Lima.
travel 2 Lima.
[ 'travel' ] What is the capital of Peru?
BookmarkMoved true
user travel
"""
REFUSED = (
    'headish.POST("/add_turn", { body: { text: "no such argument" } });',
    'headish.POST("/add_turn", { body: {} });',
    'headish.POST("/add_turn", { body: { content: "a" }, params: { header: { "If-Match": 5 } } });',
    'headish.POST("/hide", { body: { first: "@", viewer: "nobody" } });',
    'headish.GET("/get", {});',
    'headish.GET("/no_such_verb");',
    'headish.GET("/stats").then((answer) => answer.data?.no_such_field);',
)
"""Each is what a type must not let through."""


def prepare(packages: Path, work: Path) -> None:
    """The page's program, the types, and lines that must be refused."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "node_modules").symlink_to(packages / "node_modules")
    (work / "package.json").write_text('{"type": "module"}')
    shutil.copy(HERE / "tsconfig.json", work)
    blocks = re.findall(r"^```ts\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    (work / "page.ts").write_text("\n".join(blocks))
    expected = "".join(f"// @ts-expect-error\n{line}\n" for line in REFUSED)
    (work / "refused.ts").write_text(f"{blocks[0]}\n{expected}")
    flags = ["--default-non-nullable=false", "--output", "headish.d.ts"]
    tool(work, "openapi-typescript/bin/cli.js", str(DOCUMENT), *flags)


def tool(work: Path, program: str, *arguments: str) -> None:
    subprocess.run(["node", f"node_modules/{program}", *arguments], cwd=work, check=True, stdout=subprocess.DEVNULL)


def run(work: Path) -> str:
    """What the page's program prints, beside a server of its own."""
    with Database.open(work / "talk.db") as database:
        database.store().close()
        token = database.access_tokens.add("typescript", rights=["read", "write"])
    with serving(work / "talk.db", work / "state") as served:
        known = os.environ | {"HEADISH_URL": served.url, "HEADISH_TOKEN": token, "NO_COLOR": "1"}
        done = subprocess.run(["node", "out/page.js"], cwd=work, env=known, capture_output=True, text=True, timeout=120)
    print(done.stderr, end="", file=sys.stderr)
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packages", type=Path, required=True, help="the folder where node has its packages")
    parser.add_argument("--work", type=Path, required=True, help="where the types and the program are made")
    given = parser.parse_args()
    work = given.work.resolve()
    prepare(given.packages.resolve(), work)
    try:
        subprocess.run(["node", "node_modules/typescript/bin/tsc", "--project", "."], cwd=work, check=True)
    except subprocess.CalledProcessError:
        return 1
    if (printed := run(work)) != PRINTS:
        print(f"the page prints\n{printed}and should print\n{PRINTS}")
        return 1
    print(f"the page about TypeScript compiles, prints what it should, and {len(REFUSED)} mistakes are refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
