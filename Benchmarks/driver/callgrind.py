"""Counts the instructions of a client under valgrind."""

import re
import shutil
import subprocess
from pathlib import Path

from driver import client
from driver.stage import Stage
from driver.workloads import Workload

SMALL_GET_64 = Workload("small-get-64", "get", "small", 0, 64)
SMALL_GET_64_STANDARD = Workload("small-get-64-standard", "get-standard", "small", 0, 64)

# The difference between two runs leaves out what starting and ending cost.
FEW, MANY = 1000, 5000

TIME_LIMIT_SECONDS = 120


def instructions_a_request(stage: Stage, name: str, workload: Workload = SMALL_GET_64) -> float:
    """How many instructions one small GET takes with 64 in flight."""
    return (count(stage, name, workload, MANY) - count(stage, name, workload, FEW)) / (MANY - FEW)


def count(stage: Stage, name: str, workload: Workload, requests: int) -> int:
    """The instructions of a whole run, of all its threads."""
    if not shutil.which("valgrind"):
        raise SystemExit("valgrind is needed")
    output = stage.folder / "callgrind.out"
    program, *words = client.command(stage, name, workload, requests)
    valgrind = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={output}"]
    ended = subprocess.run(
        [*valgrind, stripped(stage, program), *words],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS)
    total = re.search(r"^(?:totals|summary): (\d+)", output.read_text(), re.MULTILINE) if output.exists() else None
    if ended.returncode != 0 or not total:
        raise SystemExit(f"bench-{name} fails under valgrind\n{ended.stderr[-2000:]}")
    return int(total.group(1))


def stripped(stage: Stage, program: str) -> str:
    """A copy without debugging information: valgrind 3.19 stops at the DWARF 5 that clang writes."""
    copy = stage.folder / Path(program).name
    if not copy.exists():
        subprocess.run(["strip", "--strip-debug", "-o", str(copy), program], check=True)
    return str(copy)
