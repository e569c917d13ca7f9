"""How the tests are handed to the workers. Used by tests/conftest.py."""

from __future__ import annotations

from functools import cached_property  # noqa: TID251  # nothing forks here

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController


class Scheduling(LoadGroupScheduling):
    """As xdist does, but at the end of a test it counts only what is not done yet, and looks up the place of the next
    one: xdist goes through all that the worker has done, and through the list of all tests. Of 14,000 tests that takes
    half a minute. A worker that replaces a dead one is not handed what was done, either, and waits for no end of it.
    """

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        for scope in [scope for scope, unit in workload.items() if all(unit.values())]:
            del workload[scope]
        return super()._pending_of(workload)

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        node.send_runtest_some([self._places[test] for test, is_done in unit.items() if not is_done])

    @cached_property
    def _places(self) -> dict[str, int]:
        """The place of each test in the list of every worker: xdist has checked that all have the same."""
        assert self.collection is not None
        return {test: place for place, test in enumerate(self.collection)}
