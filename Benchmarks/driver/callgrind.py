"""Counts the instructions of a program under valgrind."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from driver import client
from driver.stage import Stage
from driver.workloads import Workload

SMALL_GET_64 = Workload("small-get-64", "get", "small", 0, 64)
HTTP2_64 = Workload("http2-64", "get", "small-http2", 0, 64, connections=1)
SMALL_GETS = {"HTTP/1.1": SMALL_GET_64, "HTTP/2": HTTP2_64}
SMALL_GET_64_STANDARD = Workload("small-get-64-standard", "get-standard", "small", 0, 64)

# The difference between two runs leaves out what starting and ending cost.
FEW, MANY = 1000, 5000

# The workloads of `bench-serialization` that are counted, and how often one is done.
SERIALIZATION = ("json-decode-1k", "json-encode-1k")
SERIALIZATION_FEW, SERIALIZATION_MANY = 200, 1000

TIME_LIMIT_SECONDS = 120


def instructions_a_request(stage: Stage, name: str, workload: Workload = SMALL_GET_64) -> float:
    """How many instructions one small GET takes with 64 in flight."""
    return (count(stage, name, workload, MANY) - count(stage, name, workload, FEW)) / (MANY - FEW)


def instructions_an_operation(stage: Stage, workload: str) -> float:
    """How many instructions it takes Curlew to do a workload of `bench-serialization` once, without a socket."""
    program = str(stage.programs / "bench-serialization")

    def counted(repetitions: int) -> int:
        return count_command(stage, [program, "--count", workload, "--repetitions", str(repetitions)])

    return (counted(SERIALIZATION_MANY) - counted(SERIALIZATION_FEW)) / (SERIALIZATION_MANY - SERIALIZATION_FEW)


def count(stage: Stage, name: str, workload: Workload, requests: int) -> int:
    """The instructions of a client's whole run."""
    return count_command(stage, client.command(stage, name, workload, requests))


def count_command(stage: Stage, command: list[str]) -> int:
    """The instructions of a whole run, of all its threads."""
    if not shutil.which("valgrind"):
        raise SystemExit("valgrind is needed")
    output = stage.folder / "callgrind.out"
    # The file of an earlier run must not count.
    output.unlink(missing_ok=True)
    program, *words = command
    valgrind = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={output}"]
    ended = subprocess.run(
        [*valgrind, stripped(stage, program), *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS,
        # Dictionaries in the same order in every run.
        env=os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1"})
    total = re.search(r"^(?:totals|summary): (\d+)", output.read_text(), re.MULTILINE) if output.exists() else None
    if ended.returncode != 0 or not total:
        raise SystemExit(f"{Path(program).name} fails under valgrind\n{ended.stderr[-2000:]}")
    return int(total.group(1))


def stripped(stage: Stage, program: str) -> str:
    """A copy without debugging information: valgrind 3.19 stops at the DWARF 5 that clang writes."""
    copy = stage.folder / Path(program).name
    if not copy.exists():
        subprocess.run(["strip", "--strip-debug", "-o", str(copy), program], check=True)
    return str(copy)
