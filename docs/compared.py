"""Write explanation/compared.md: the features of other stores of conversations, and their speed beside headish's.

Each row of the table of features names the test that checks it for headish; a test checks that it exists. The
figures are lines of ``make bench-peers``, kept in ``figures/peers.txt``.
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
    """A peer: the version whose sources were read for the table of features, and the measured package, if any."""

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
    """A feature: how headish has it, the test that checks that, and a note on each peer, in the order of ``PEERS``."""

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
        "tests/history/test_appending.py::TestContinues::test_a_fork_is_one_turn_and_one_link",
        ("yes", "inside the library", "before a user's turn", "yes", "rewinds", "yes"),
    ),
    Feature(
        "A turn that continues several", "yes, each ancestor once",
        "tests/history/test_walking.py::TestWalk::test_a_branch_stays_whole_and_in_the_listed_order",
        ("yes; ancestors come twice", "no", "no", "states, not threads", "no", "no"),
    ),
    Feature(
        "Names that move, with a log and an undo", "yes",
        "tests/rows/test_bookmarks.py::TestUndo",
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
        "tests/history/test_overlays.py::TestASummary",
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
        "tests/providers/test_all.py::test_every_case_of_ours_is_continued_on_every_provider",
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
        "tests/verify/test_verify.py::test_whatever_is_written_anywhere_verify_and_reading_do_not_break",
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
        "Sync between machines that each write", "through a folder, ssh or a server",
        "tests/syncing/test_convergence.py::TestAFolderThatDeliversLate",
        ("no", "no", "no", "no", "no", "no"),
    ),
    Feature(
        "Tenants kept apart", "spaces",
        "tests/store/test_database.py::TestStores::test_spaces_are_apart",
        ("no", "no", "by session id", "by thread id", "by user", "by scope"),
    ),
    Feature(
        "PostgreSQL", "yes, distributed, too",
        "tests/database/test_spreading.py::test_on_citus_everything_is_spread_and_goes_on",
        ("no", "no", "yes", "yes", "yes", "no"),
    ),
    Feature(
        "Encryption of what is stored", "only what an adapter's serializer does",
        "tests/integrations/langgraph/test_saver.py::TestPut",
        ("no", "no", "yes, a wrapper", "yes, a serializer", "no", "no"),
    ),
    Feature(
        "A durable back end of the framework itself", "for five frameworks",
        "tests/integrations/langgraph/test_conformance.py::test_every_case_passes",
        ("its own", "its own", "yes", "yes", "yes", "none: in memory"),
    ),
)  # fmt: skip
"""The features, as read in the sources of those versions."""

BETTER = """
- **gpt2099 and xs** run programs when something is written (actions, services), and serve their store over iroh.
  headish reports what was written and runs nothing.
- **llm** has models, templates, fragments and embeddings by plugins. headish calls six kinds of API and embeds nothing;
  it [works inside llm](../how-to/llm.md).
- **The Agents SDK's** SQLite session writes one row for an item, headish four: it takes
  [less time in bulk and for loading, and fewer bytes](#how-fast). The SDK also has sessions in Redis and
  Dapr, and a wrapper that encrypts.
- **LangGraph's** savers give a state back [faster](#how-fast), take any value without looking at it, and encrypt by a
  serializer. headish takes that serializer, too, but then keeps no turns.
- **ADK** has artifacts with versions, memory and evaluation around its sessions.
- **Pydantic AI's** store lives in memory, and nothing is faster.
- Most of them bring an agent; headish keeps what yours say.
"""

PAGE = """# Beside other stores of conversations

We read the sources of the others in 2026, in [these versions](#versions).

{features}

## What others do better

{better}

## How fast

Each figure is headish divided by the peer: medians of `make bench-peers BENCH=--cpu`, in processor time, without the
wait for the disk.

{figures}

Loading reads a thread of 1,000 turns with a new object.

Beside LangGraph's own `SqliteSaver`, `HeadishSaver` takes {put_100} times as long to put step 100 of a graph that says
one message per step, {put_400} times for step 400, {get_400} times to get that one, and {bytes_400} times the bytes.
Its put of step 400 takes {own} times its put of step 100.

## Versions

A version that was measured and is newer than the one that was read may have gained features.

{versions}
"""

TITLES = {
    "agents_sqlite": "Agents SDK, `SQLiteSession`", "agents_sqlalchemy": "Agents SDK, `SQLAlchemySession`",
    "langchain_sql": "LangChain, `SQLChatMessageHistory`",
    "langgraph_sqlite": "LangGraph, `SqliteSaver`, as a list of turns",
    "llm_logs": "llm, `LogStore`", "google_adk_sqlite": "ADK, `SqliteSessionService`",
}  # fmt: skip
MEASURED = {"append": "append a turn", "bulk": "one of 100 in a call", "bytes": "bytes", "load_1000": "load"}
SAVER = "langgraph_saver"


def write_compared() -> str:
    """Return the text of the page."""
    figures = [dict(field.split("=", 1) for field in line.split()) for line in FIGURES.read_text("utf-8").splitlines()]
    saver = {each["name"]: each["ratio"] for each in figures if each["peer"] == SAVER}
    own = next(each["own"] for each in figures if "own" in each)
    page = PAGE.format(features=_features(), better=BETTER.strip(), figures=_figures(figures), own=own, **saver,
                       versions=_versions())  # fmt: skip
    return page.replace("\n", f"\n\n{NOTE}\n", 1)


def _features() -> str:
    rows = [("", "headish", *(peer.name for peer in PEERS)), ("---",) * (len(PEERS) + 2)]
    rows += [(each.name, f"**{each.ours}**", *each.theirs) for each in FEATURES]
    return _table(rows)


def _figures(figures: list[dict[str, str]]) -> str:
    ratios = {(each["peer"], each["name"]): each["ratio"] for each in figures}
    rows = [("peer", *MEASURED.values()), ("---",) * (len(MEASURED) + 1)]
    rows += [(title, *(ratios[peer, name] for name in MEASURED)) for peer, title in TITLES.items()]
    return _table(rows)


def _versions() -> str:
    rows = [("", "features read in", "speed measured with"), ("---",) * 3]
    rows += [(each.name, each.read, _measured(each)) for each in (*PEERS, MEASURED_ALONE)]
    return _table(rows)


def _measured(peer: Compared) -> str:
    if peer.package is None:
        return ""
    match = re.search(rf"^{peer.package}(?:\[.*\])?==(\S+)", PINNED.read_text("utf-8"), re.MULTILINE)
    # A figure without a version could not be checked.
    assert match, f"{PINNED.name} has no {peer.package}"
    return f"`{peer.package}` {match[1]}"


def _table(rows: list[tuple[str, ...]]) -> str:
    return "\n".join("|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in rows)
