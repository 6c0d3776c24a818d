"""All clients through all workloads, in turn."""

from driver import client, metrics
from driver.client import Run
from driver.stage import Stage
from driver.workloads import Workload

# Medians by workload, client and metric.
Results = dict[str, dict[str, dict[str, float]]]


def compare(stage: Stage, workloads: list[Workload], clients: list[str], rounds: int, quick: bool) -> Results:
    """Runs every client once a round, A B C D A B C D, so that what disturbs the machine disturbs them all."""
    results: Results = {}
    client.check_built(stage, {name for workload in workloads for name in workload.clients if name in clients})
    for workload in workloads:
        runs: dict[str, list[Run]] = {name: [] for name in workload.clients if name in clients}
        for number in range(rounds):
            for name in runs:
                print(f"  {workload.name}, round {number + 1} of {rounds}, {name}", flush=True)
                runs[name].append(client.run(stage, name, workload, workload.requests_by(name, quick)))
        results[workload.name] = {name: metrics.medians(workload, found) for name, found in runs.items() if found}
    return results
