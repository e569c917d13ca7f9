"""Writes explanation/compared.md: what each store of conversations has, and how fast it is beside ours.

Each line of the table of features names a test that holds it true of headish: a test sees that it is there. The figures
are the lines of ``make bench-peers`` that stand in ``figures/peers.txt``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures" / "peers.txt"
NOTE = "<!-- Written by docs/generate.py; change docs/compared.py or docs/figures/peers.txt, `make docs`. -->"

PINNED = ROOT / "requirements" / "peers.txt"


class Compared(NamedTuple):
    """A peer: in which version its sources were read for the table of features, and the package that is measured."""

    name: str
    read: str
    package: str | None = None


PEERS = (
    Compared("gpt2099, xs", "gpt2099 0.6, xs 0.13"),
    Compared("llm", "0.32", "llm"),
    Compared("Agents SDK", "0.22", "openai-agents"),
    Compared("LangGraph checkpoint", "4.2", "langgraph-checkpoint-sqlite"),
    Compared("ADK", "1.4", "google-adk"),
    Compared("Pydantic AI", "2.68"),
)
MEASURED_ALONE = Compared("LangChain's community package", "", "langchain-community")


class Feature(NamedTuple):
    """What can be had: how headish has it, the test that holds it true, and a word on each peer, in their order."""

    name: str
    ours: str
    test: str
    theirs: tuple[str, str, str, str, str, str]


FEATURES = (
    Feature(
        "A message is stored once, whatever leads to it", "yes",
        "tests/concurrency/test_races.py::TestTheSameListRecorded",
        ("bytes alone", "yes", "within a session", "no; a channel type in beta", "no", "yes"),
    ),
    Feature(
        "Branch from any turn", "yes",
        "tests/store/test_copying.py::TestWhatGoes",
        ("yes", "inside the library", "before a user's turn", "yes", "rewinds", "yes"),
    ),
    Feature(
        "A turn that continues several", "yes, each ancestor once",
        "tests/history/test_walking.py::TestWalk",
        ("yes; ancestors come twice", "no", "no", "states, not threads", "no", "no"),
    ),
    Feature(
        "Names that move, with a log and an undo", "yes",
        "tests/concurrency/test_races.py::TestRename",
        ("names alone", "threads", "branch ids", "thread ids", "session ids", "ids; the branches that were left"),
    ),
    Feature(
        "Compare-and-swap", "on names, records and objects",
        "tests/concurrency/test_races.py::TestObjects",
        ("no", "no", "on a clear", "no", "on a session", "on a conversation"),
    ),
    Feature(
        "Options that a thread hands down", "yes, and can be unset",
        "tests/history/test_walking.py::TestOptions",
        ("yes", "no", "no", "for a run", "state by prefix", "no"),
    ),
    Feature(
        "Edit, hide or sum up without losing the original", "yes",
        "tests/searching/test_seen.py::TestHiddenTurns",
        ("no", "no", "compaction rewrites", "older checkpoints stay", "no", "branches off"),
    ),
    Feature(
        "Full-text search over words, tools and documents", "yes, in every branch",
        "tests/searching/test_searching.py::TestWhatIsFound",
        ("no", "prompts and answers", "of user's turns", "no", "no", "no"),
    ),
    Feature(
        "Semantic search", "no",
        "",
        ("no", "yes", "no", "in its store", "in its memory", "no"),
    ),
    Feature(
        "Requests for several providers from one history", "six",
        "tests/providers/test_nothing_is_lost.py",
        ("five", "by plugins", "by LiteLLM", "no", "by LiteLLM", "yes, many"),
    ),
    Feature(
        "An answer that breaks off is kept", "yes, after a kill, too",
        "tests/answers/test_journal.py::TestAWriterThatIsKilled",
        ("each chunk, for good", "no", "no", "pending writes", "no", "no"),
    ),
    Feature(
        "Erasure with a receipt", "yes, off the disk",
        "tests/erasing/test_turns.py::TestReceipts",
        ("no", "no", "deletes rows", "deletes rows", "deletes rows", "in memory"),
    ),
    Feature(
        "Every record can be verified", "yes",
        "tests/verify/test_verify.py",
        ("of payloads", "in the library", "no", "no", "no", "no"),
    ),
    Feature(
        "Follow what others write, without gaps", "yes",
        "tests/feeds/test_following.py::TestOrder",
        ("yes, but where a reader lags", "no", "no", "no", "no", "no"),
    ),
    Feature(
        "Backup that is verified, and restore", "yes",
        "tests/backups/test_backups.py::TestThereAndBack",
        ("an export", "of the file", "no", "no", "no", "no"),
    ),
    Feature(
        "Tenants kept apart", "spaces",
        "tests/store/test_database.py",
        ("no", "no", "by session id", "by thread id", "by user", "by scope"),
    ),
    Feature(
        "PostgreSQL", "yes, distributed, too",
        "tests/database/test_statements.py",
        ("no", "no", "yes", "yes", "yes", "no"),
    ),
    Feature(
        "Encryption of what is stored", "only what an adapter's serializer does",
        "tests/integrations/langgraph/test_saver.py::TestPut",
        ("no", "no", "yes, a wrapper", "yes, a serializer", "no", "no"),
    ),
    Feature(
        "A durable back end of the framework itself", "for five frameworks",
        "tests/integrations/langgraph/test_conformance.py",
        ("its own", "its own", "yes", "yes", "yes", "none: in memory"),
    ),
)  # fmt: skip
"""Read in the sources of those versions; what they do not have, they may have now."""

BETTER = """
- **gpt2099 and xs** run programs when something is written (actions, services), and serve their store over HTTP and
  iroh. headish only tells what was written.
- **llm** has models, templates, fragments and embeddings by plugins; headish calls six kinds of API and embeds
  nothing. It works inside llm: [use headish inside llm](../how-to/llm.md).
- **The Agents SDK's** SQLite session writes one row for an item where headish writes four, so many turns in one
  call, and loads, take it less time. It has sessions in Redis and Dapr, and a wrapper that encrypts.
- **LangGraph's** savers give a state back in less time, for ours makes messages of blocks. They take any value
  without looking at it, and encrypt by a serializer that ours takes, too, but then keeps no turns.
- **ADK** has artifacts with versions, memory and evaluation around its sessions.
- **Pydantic AI's** store knows no bytes: in memory, nothing is faster.
- Most of them bring an agent. headish brings none: it keeps what yours say.
"""

PAGE = """# Beside other stores of conversations

What each has that people miss in the others, and what it costs. The cells are short; the sources were read in 2026, in
[these versions](#versions). A test holds each line true of headish; `docs/compared.py` names it.

{features}

## Where they are better

{better}

## How fast

Ratios, headish by the peer, medians of rounds that take turns: below 1 headish takes less. Times are the
processor's, of `make bench-peers BENCH="--quick --cpu"`: what is waited for on a disk depends on the disk.

{figures}

`append` is one turn a call, `bulk` a turn of a hundred in one call, `load` a thread with a new object. In `put` and
`get`, LangGraph's adapter of headish stands beside LangGraph's own saver: a step of a graph that says one message,
at that step. A put of ours at step 400 takes {own} times what it takes at step 100.

## Versions

The features were read in one version of each, and the speed is measured with the version that `requirements/peers.txt`
pins, also on the page about [performance](performance.md). Where the two differ, a feature may have come since.

{versions}
"""

TITLES = {
    "agents_sqlite": "Agents SDK, `SQLiteSession`", "agents_sqlalchemy": "Agents SDK, `SQLAlchemySession`",
    "langchain_sql": "LangChain, `SQLChatMessageHistory`",
    "langgraph_sqlite": "LangGraph, `SqliteSaver`, as a list of turns",
    "langgraph_saver": "LangGraph, `SqliteSaver`, by `HeadishSaver`",
    "llm_logs": "llm, `LogStore`", "google_adk_sqlite": "ADK, `SqliteSessionService`",
}  # fmt: skip


def write_compared() -> str:
    """The page."""
    figures = [dict(field.split("=", 1) for field in line.split()) for line in FIGURES.read_text("utf-8").splitlines()]
    own = next(each["own"] for each in figures if "own" in each)
    page = PAGE.format(features=_features(), better=BETTER.strip(), figures=_figures(figures), own=own,
                       versions=_versions())  # fmt: skip
    return page.replace("\n", f"\n\n{NOTE}\n", 1)


def _features() -> str:
    rows = [("", "headish", *(peer.name for peer in PEERS)), ("---",) * (len(PEERS) + 2)]
    rows += [(each.name, f"**{each.ours}**", *each.theirs) for each in FEATURES]
    return _table(rows)


def _figures(figures: list[dict[str, str]]) -> str:
    names = list(dict.fromkeys(each["name"] for each in figures))
    found = {(each["peer"], each["name"]): each["ratio"] for each in figures}
    peers = [peer for peer in TITLES if any(peer == each["peer"] for each in figures)]
    rows = [("peer", *names), ("---",) * (len(names) + 1)]
    rows += [(TITLES[peer], *(found.get((peer, name), "") for name in names)) for peer in peers]
    return _table(rows)


def _versions() -> str:
    rows = [("", "features read in", "speed measured with"), ("---",) * 3]
    rows += [(each.name, each.read, _measured(each)) for each in (*PEERS, MEASURED_ALONE)]
    return _table(rows)


def _measured(peer: Compared) -> str:
    if peer.package is None:
        return ""
    found = re.search(rf"^{peer.package}(?:\[.*\])?==(\S+)", PINNED.read_text("utf-8"), re.MULTILINE)
    assert found, f"{PINNED.name} has no {peer.package}"
    return f"`{peer.package}` {found[1]}"


def _table(rows: list[tuple[str, ...]]) -> str:
    return "\n".join("|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in rows)
