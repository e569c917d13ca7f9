"""The kinds of trouble, in the order in which they take turns."""

from __future__ import annotations

from collections.abc import Callable

from soak import calling, gateways, importing, keeping, ownership, rounds
from soak.rounds import Round, Soak

KINDS: dict[str, Callable[[Soak], Round]] = {
    "kills": rounds.kill_writers,
    "faults": rounds.fail_the_disk,
    "restarts": rounds.restart_the_server,
    "full disks": rounds.fill_the_disk,
    "interrupts": rounds.interrupt,
    "forks": rounds.fork_writers,
    "forks beside threads": ownership.fork_beside_threads,
    "hard links": ownership.link_the_file,
    "owners": ownership.own_the_database,
    "erasures": rounds.erase_beside_writers,
    "backups": keeping.kill_backups,
    "restores": keeping.kill_restores,
    "follows": keeping.kill_followers,
    "imports": importing.kill_imports,
    "gateways": gateways.kill_servers,
    "full spools": gateways.fill_spools,
    "callers": calling.end_callers,
}
