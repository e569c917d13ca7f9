"""How fast the store is, each dimension beside its limits, measured in the same run.

There are two limits. ``same_rows``: plain sqlite3 writes (or reads) the same rows, byte for byte, in the same tables
(``samerows.py``); what headish takes beyond it is its own work. ``plain_table``: one table, a row a turn
(``plain.py``); what a program without headish would have. A name that ends in ``_floor`` is the thinnest program that
stores what headish stores (``thin.py``), beside the plain table: no goal can be met below it. Rounds of headish and of
its limits alternate, so a noisy machine slows all; a line gives the medians of the rounds. What is read is compared
with what was said, outside the clock. One line a dimension, ``name=… limit=… key=value …``: ``ratio`` is headish by the
limit, ``goal`` what we ask of the ratio, and ``met`` whether it is so. ``goal_of_peers`` is asked of the ratio to the
OpenAI Agents SDK's session, which ``make bench-peers`` measures. Times are microseconds. The turns are those of
``canonical.py``.

    append_full        one turn a call, continuing a name; a commit waits for the disk
    append_normal      the same with durability normal, where the disk hides less of our own time
    append_by_id       continuing by id: what the name and its log cost is missing here
    bulk_N             add_turns with N turns a transaction, a turn
    fork               continuing turns in the middle of a thread; also what the file grows by
    bytes_per_turn     what the file grows by, a turn a call; its floor has the same rows of ``turn``, without any index
    pages_per_append   pages that an append writes to the log
    load_N             a thread of N turns, contents read, opened anew; also beside opening it and decoding its rows
    read_N             the same with an object that is open; also beside reading its rows and decoding the bytes
    page_50            50 turns in the middle of a thread of 10,000 as a page has them; the limit reads and parses them
    page_10000         the whole page of such a thread in pieces; the limit is its turns and their Markdown parsed
    resolve_N          a thread by name, where the process has read it before
    resolve_first_N    the same, the very first one in the process: statements are compiled, modules loaded
    verify             per turn of a store; the limit reads the rows and makes the three hashes of each
    reply_N            storing a whole answer to a thread of N turns; the limit is a thread of 10
    capture_N          the same for an answer that arrives event by event
    open_calls_N       the calls of the last turn of such a thread
    record_N           N known messages and a new one, for each known message
    record_api_N       the same as the client of an API sends them, beside plain texts
    verify_growth      verify, a turn, in a store of 1,000,000 turns; the limit is one of 10,000
    heads_page         50 heads in the same stores; stats_growth, bookmarks_page, bookmarks_recent_page likewise
    bookmark_lookup    find a turn by its name among 10,000 names
    append_large       append_full in the large store; append_growth is its ratio to append_small
    processes_full     8 processes that append to one name, turns a second, and the size of the log; processes_normal
    threads_full       32 threads on one store, turns a second; the limit is one thread
    import_chatgpt_N   an export of N turns into an empty store, a turn; the limit decodes it and adds the same turns
    import_chatgpt_N_again  the same file once more, and _more: with 1 % more turns; the limit decodes it
    import_claude_code_N_mb  a session of N MB; the limit decodes its lines; _more: ten lines more under --watch
    open_spaces        descriptors that 10,000 open spaces of one database take
    start_version      a process of ``headish --version``; start_log, _list, _resolve, _add of those commands; the limit
                       imports the same libraries; start_floor opens the file, too, reads the rows and prints them
    json_N_integers    add_turn(json=True) of a block of N integers; the limit decodes their text
    cut_N_kept         a budget's cut of N turns, every other one kept, a turn; the limit is a quarter of the turns
    search_index       indexing a turn; the limit reads the rows and puts their texts into a plain FTS5 table
    search_index_bytes what the index takes of a turn; the limit is the turn's text
    search_N           the first N hits of two words, the newest first; the limit finds a turn by its name
    search_ranked      ten hits, the best first
    search_small_space a search in a space of 1,000 turns beside one of 1,000,000; the limit is without it
    bundle_create      writing a space into a bundle, a turn; the limit is add_turns, 500 turns a transaction
    bundle_apply       applying it to an empty store, a turn; the same limit; bundle_apply_checked_floor looks at each
                       id, role and payload, too
    https_nothing_new  the bytes of a sync with a server, with its requests; the limit is a kilobyte
    https_new          the same where 500 turns are new on each side of 100,000; the limit is a bundle of each side's
    https_new_by_ranges  the same where neither side knows how far the other one was
    pg_append          on PostgreSQL, beside plain psycopg; pg_load and pg_bytes_per_turn likewise

Run: ``make bench``, or ``python tests/benchmarks/throughput.py [--quick] [--cpu] [--only NAME]``. ``--cpu`` takes the
processor's time instead of the clock on the wall, for a machine that others use, too: it measures the groups in
which one process works at a time. The wait for the disk is left out, so what a goal for durability full says of a disk
is not answered then.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest does

from benchmarks.clock import Bench, use_cpu

DIMENSIONS = {
    "append": "appending",
    "bulk": "appending",
    "fork": "appending",
    "sizes": "appending",
    "load": "reading",
    "resolve": "reading",
    "verify": "reading",
    "showing": "showing",
    "replies": "growing",
    "record": "growing",
    "large": "growing",
    "processes": "together",
    "threads": "together",
    "spaces": "together",
    "imports": "importing",
    "sessions": "importing",
    "indexing": "searching",
    "searching": "searching",
    "starts": "starting",
    "integers": "wide",
    "cuts": "wide",
    "bundles": "sharing",
    "https": "sharing",
    "postgresql": "servers",
}
"""Each group of dimensions, and the module that holds it. A process that a benchmark starts imports this one first."""
ON_CPU = [
    name
    for name, module in DIMENSIONS.items()
    if module in ("appending", "reading", "showing", "growing", "importing", "starting", "searching", "sharing")
]
"""The groups in which one process works at a time: those whose processor's time says something."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmarks of headish, each beside its limits.")
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--only", choices=DIMENSIONS, help="one group of dimensions")
    parser.add_argument("--cpu", action="store_true", help="the processor's time: for a machine that others use, too")
    arguments = parser.parse_args()
    if arguments.cpu:
        use_cpu()
    folder = Path(tempfile.mkdtemp(prefix="headish-bench-"))
    try:
        bench = Bench(folder, arguments.quick)
        for name in [arguments.only] if arguments.only else ON_CPU if arguments.cpu else DIMENSIONS:
            getattr(import_module(f"benchmarks.{DIMENSIONS[name]}"), name)(bench)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
