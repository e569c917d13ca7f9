"""Each verb that writes, by its name in tests/concurrency/test_every_verb.py, and those that are left out."""

from __future__ import annotations

from soak.verbs.asked import ASKED
from soak.verbs.elsewhere import ELSEWHERE
from soak.verbs.parts import PARTS
from soak.verbs.turns import TURNS
from soak.verbs.verb import Verb

VERBS: dict[str, Verb] = {**TURNS, **PARTS, **ASKED, **ELSEWHERE}
_AT_EACH_MOMENT = "it writes files of a remote, too: syncing/test_cut_off.py ends it at each of its moments"
_KEYS = "it changes keys that lie in files of a remote: syncing/test_keys_and_places.py, syncing/test_cut_off.py"
_PENDING = "what is pending comes from another store: syncing/live/test_erasures.py has two people decide on it at once"
LEFT_OUT = {
    **dict.fromkeys(("Remotes.push", "Remotes.pull"), _AT_EACH_MOMENT),
    **dict.fromkeys(("Remotes.invite", "Remotes.revoke"), _KEYS),
    **dict.fromkeys(("Remotes.erase_pending", "Remotes.dismiss_pending"), _PENDING),
    "Remotes.answer": "it needs a store at the other end: syncing/live/test_databases.py kills either end",
    "Database.secure": "it changes a database once: database/isolation/test_securing.py takes each part of it away",
    "Database.distribute": "it needs Citus, and changes a database once: database/test_spreading.py",
    "restore": "it fills a new database: soak/keeping.py kills it, in `make soak`",
}
"""What cannot be struck in the same way, why, and the tests that strike it otherwise."""
