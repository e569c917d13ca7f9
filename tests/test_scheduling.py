"""How the tests are handed to the workers: each once, whether or not a worker dies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from support.scheduling import Scheduling

TESTS = [*(f"a.py::one[{number}]" for number in range(20)), *(f"b.py::two[{number}]@group" for number in range(5))]


class Worker:
    """A worker that runs nothing: what it was handed, and which of it is not done."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.left: list[int] = []
        self.shutting_down, self.gateway = False, SimpleNamespace(id="gw")

    def send_runtest_some(self, places: list[int]) -> None:
        self.given += [TESTS[place] for place in places]
        self.left += places

    def shutdown(self) -> None:
        self.shutting_down = True


def started(scheduling: Any, worker: Any) -> Worker:
    scheduling.add_node(worker)
    scheduling.add_node_collection(worker, TESTS)
    return worker  # type: ignore[no-any-return]


def two_workers() -> tuple[Any, list[Worker]]:
    option = SimpleNamespace(loadscopereorder=True)
    scheduling = Scheduling(SimpleNamespace(getvalue=lambda _: ["popen"] * 2, option=option))  # type: ignore[arg-type]
    workers = [started(scheduling, Worker()) for _ in range(2)]
    scheduling.schedule()
    return scheduling, workers


def run(scheduling: Any, workers: list[Worker]) -> None:
    """Each ends what it has, in turn, until nobody has anything."""
    while busy := [worker for worker in workers if worker.left]:
        for worker in busy:
            scheduling.mark_test_complete(worker, worker.left.pop(0))


def test_each_test_is_run_once_and_a_group_by_one_worker() -> None:
    scheduling, workers = two_workers()
    run(scheduling, workers)
    assert sorted(workers[0].given + workers[1].given) == sorted(TESTS)
    assert [sum("group" in test for test in worker.given) for worker in workers] == [5, 0]
    assert scheduling.tests_finished


def test_the_worker_in_the_place_of_a_dead_one_runs_what_that_left() -> None:
    scheduling, workers = two_workers()
    for _ in range(8):
        scheduling.mark_test_complete(workers[1], workers[1].left.pop(0))
    dead = workers.pop()
    running = TESTS[dead.left[0]]
    assert scheduling.remove_node(dead) == running
    workers.append(started(scheduling, Worker()))
    scheduling.schedule()
    run(scheduling, workers)
    done = {TESTS[place] for place in set(map(TESTS.index, dead.given)) - set(dead.left)}
    assert sorted(workers[0].given + workers[1].given) == sorted(set(TESTS) - done)
    assert scheduling.tests_finished
