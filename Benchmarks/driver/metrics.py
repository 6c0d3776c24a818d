"""What is made of the runs."""

import statistics
from collections.abc import Callable

from driver.client import Run
from driver.workloads import Workload

Figure = Callable[[Run], float]

def of_each(noun: str) -> dict[str, Figure]:
    """The figures of requests, messages or sockets. A failed one does not count."""
    return {
        f"{noun}s/s": lambda run: run.successes / run.wall_seconds,
        f"cpu us/{noun}": lambda run: run.cpu_seconds * 1e6 / run.successes,
    }


OF_BYTES: dict[str, Figure] = {
    "MB/s": lambda run: run.bytes / 1e6 / run.wall_seconds,
    "cpu s/GB": lambda run: run.cpu_seconds * 1e9 / run.bytes,
}

OF_ALL: dict[str, Figure] = {"peak RSS MB": lambda run: run.peak_rss_bytes / 1e6}


def medians(workload: Workload, runs: list[Run]) -> dict[str, float]:
    """The median of every metric. Errors alone are the most of any run: a median would hide a bad one."""
    complete = [run for run in runs if run.is_complete]
    figures = OF_BYTES if workload.is_large else of_each(workload.noun)
    # Of a tool the memory is not known.
    if all(run.peak_rss_bytes for run in complete):
        figures = figures | OF_ALL
    found = {name: statistics.median(map(figure, complete)) for name, figure in figures.items() if complete}
    return found | {"errors": max(run.errors for run in runs)}
