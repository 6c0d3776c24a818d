"""One run of one client."""

import json
import subprocess
import sys
from dataclasses import dataclass

from driver.stage import Stage
from driver.workloads import Workload

# No run takes so long unless something hangs.
TIME_LIMIT_SECONDS = 300

# What a client ends with that has printed its figures, errors among them.
SOME_REQUESTS_FAILED = 3


@dataclass(frozen=True)
class Run:
    """What a run took. A run that did not end well has no figures, and all its requests are errors."""

    requests: int
    errors: int
    wall_seconds: float = 0
    cpu_seconds: float = 0
    peak_rss_bytes: int = 0
    bytes: int = 0

    @property
    def is_complete(self) -> bool:
        return self.wall_seconds > 0 and self.errors < self.requests


def command(stage: Stage, client: str, workload: Workload, requests: int) -> list[str]:
    """The command line of a run."""
    url = stage.urls[workload.target]
    words = [str(stage.programs / f"bench-{client}"), workload.kind, url, str(requests), str(workload.concurrency)]
    if workload.connections is not None:
        words += ["--connections", str(workload.connections)]
    if workload.warm_up is not None:
        words += ["--warm-up", str(workload.warm_up)]
    if url.startswith("https:"):
        words += ["--anchors", str(stage.anchors)]
    if workload.kind == "upload":
        words += ["--file", str(stage.upload)]
    return words


def run(stage: Stage, client: str, workload: Workload, requests: int) -> Run:
    """Runs a client once."""
    try:
        ended = subprocess.run(
            command(stage, client, workload, requests), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=TIME_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        complain(client, workload, f"has not ended after {TIME_LIMIT_SECONDS} s")
        return Run(requests, requests)
    if ended.stderr:
        complain(client, workload, ended.stderr.strip()[:500])
    if ended.returncode not in (0, SOME_REQUESTS_FAILED):
        complain(client, workload, f"ended with {ended.returncode}")
    try:
        figures = json.loads(ended.stdout)
    except json.JSONDecodeError:
        complain(client, workload, "printed no figures")
        return Run(requests, requests)
    return Run(**{name: figures[name] for name in Run.__dataclass_fields__})


def complain(client: str, workload: Workload, text: str) -> None:
    print(f"! {workload.name}, {client}: {text}", file=sys.stderr, flush=True)
