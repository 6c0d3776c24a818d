"""One run of one client."""

import json
import resource
import subprocess
import sys
import time
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
    def successes(self) -> int:
        return self.requests - self.errors

    @property
    def is_complete(self) -> bool:
        return self.wall_seconds > 0 and self.successes > 0


def check_built(stage: Stage, clients: set[str]) -> None:
    """Ends before anything is measured if a program is missing."""
    for client in sorted(clients - {"curl"}):
        if not (stage.programs / f"bench-{client}").exists():
            raise SystemExit(f"bench-{client} is not built in {stage.programs}; `make bench` does that")


def command(stage: Stage, client: str, workload: Workload, requests: int) -> list[str]:
    """The command line of a run."""
    url = stage.urls[workload.target]
    words = [*stage.program(client), workload.kind, url, str(requests), str(workload.concurrency)]
    if workload.connections is not None:
        words += ["--connections", str(workload.connections)]
    if workload.warm_up is not None:
        words += ["--warm-up", str(workload.warm_up)]
    if url.startswith("https:"):
        words += ["--anchors", str(stage.anchors)]
    if workload.second_target is not None:
        words += ["--second-url", stage.urls[workload.second_target]]
    if workload.loops is not None:
        words += ["--loops", str(workload.loops)]
    if workload.hosts is not None:
        words += ["--hosts", str(workload.hosts)]
    if workload.http_version == 3:
        words += ["--http-version", "3"]
    if workload.kind in stage.files:
        words += ["--file", str(stage.files[workload.kind])]
    return words


def run(stage: Stage, client: str, workload: Workload, requests: int) -> Run:
    """Runs a client once."""
    try:
        return run_tool(stage, workload, requests) if client == "curl" else run_program(stage, client, workload, requests)
    finally:
        stage.downloaded.unlink(missing_ok=True)


def tool_command(stage: Stage, workload: Workload, requests: int) -> list[str]:
    """The command line of a run of curl, which prints the size of a large body."""
    url = stage.urls[workload.target]
    words = [*stage.program("curl"), "--silent", "--show-error", "--fail"]
    words += ["--output", str(stage.downloaded) if workload.kind == "download" else "/dev/null"]
    if url.startswith("https:"):
        words += ["--cacert", str(stage.anchors), "--http3-only" if workload.http_version == 3 else "--http2"]
    if workload.is_large:
        return [*words, "--write-out", "%{size_download}", url]
    # The fragment is not sent: all requests are the same.
    return [*words, "--parallel", "--parallel-max", str(workload.concurrency), f"{url}#[1-{requests}]"]


def run_tool(stage: Stage, workload: Workload, requests: int) -> Run:
    """Runs curl once. It prints no figures, so that they are of the whole process, as the system counts them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    try:
        ended = subprocess.run(
            tool_command(stage, workload, requests), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=TIME_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        complain("curl", workload, f"has not ended after {TIME_LIMIT_SECONDS} s")
        return Run(requests, requests)
    wall_seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != 0:
        complain("curl", workload, ended.stderr.strip()[:500])
        return Run(requests, requests)
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(requests, 0, wall_seconds, cpu_seconds, 0, int(ended.stdout or 0))


def run_program(stage: Stage, client: str, workload: Workload, requests: int) -> Run:
    """Runs one of our own programs, which prints its figures."""
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
