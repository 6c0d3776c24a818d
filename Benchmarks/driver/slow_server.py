"""The package's own server: answers late, drops what is uploaded, and echoes the messages of WebSockets."""

import subprocess
from pathlib import Path

from driver.processes import start, stop


class SlowServer:
    """A server that lives as long as the `with` block."""

    def __init__(self, program: Path, milliseconds: int):
        self.command = [str(program), str(milliseconds)]
        self.port = 0
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "SlowServer":
        self.process = start(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.strip().isdigit():
            stop(self.process)
            raise SystemExit("bench-server does not start")
        self.port = int(line)
        return self

    def __exit__(self, *_) -> None:
        stop(self.process)
