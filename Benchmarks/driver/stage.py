"""Everything that the clients talk to, under one temporary folder."""

import contextlib
import tempfile
from pathlib import Path

from driver import certificates, documents
from driver.nginx import Nginx
from driver.slow_server import SlowServer
from driver.workloads import SLOW_SERVER_MILLISECONDS


class Stage(contextlib.ExitStack):
    """The servers, their files and their addresses, for as long as the `with` block lasts."""

    def __init__(self, programs: Path):
        super().__init__()
        self.programs = programs
        self.urls: dict[str, str] = {}

    def __enter__(self) -> "Stage":
        super().__enter__()
        try:
            self.begin()
        except BaseException:
            self.close()
            raise
        return self

    def begin(self) -> None:
        self.folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="curlew-bench-")))
        root = self.folder / "root"
        root.mkdir()
        documents.make(root)
        certificates.make(self.folder)
        self.serve()

    def serve(self) -> None:
        """Starts the servers."""
        if not (self.programs / "bench-server").exists():
            raise SystemExit(f"the clients are not built in {self.programs}; `make bench` does that")
        ports = self.enter_context(Nginx(self.folder)).ports
        slow = self.enter_context(SlowServer(self.programs / "bench-server", SLOW_SERVER_MILLISECONDS)).port
        plain = f"http://127.0.0.1:{ports['plain']}"
        self.urls = {
            "small": f"{plain}/small",
            "small-tls": f"https://127.0.0.1:{ports['tls']}/small",
            "small-tls-resumed": f"https://127.0.0.1:{ports['tls_resumed']}/small",
            "hosts": f"http://127.0.0.1:{ports['hosts']}/small",
            "small-http2": f"https://127.0.0.1:{ports['http2']}/small",
            "json-1k": f"{plain}/json-1k",
            "json-100k": f"{plain}/json-100k",
            "large": f"{plain}/large",
            "large-too": f"http://127.0.0.1:{ports['plain_too']}/large",
            "slow": f"http://127.0.0.1:{slow}/",
            "sink": f"http://127.0.0.1:{slow}/",
            "websocket": f"http://127.0.0.1:{slow}/",
        }

    def program(self, client: str) -> list[str]:
        """The beginning of a client's command line."""
        return ["curl"] if client == "curl" else [str(self.programs / f"bench-{client}")]

    @property
    def anchors(self) -> Path:
        return self.folder / "authority.pem"

    @property
    def downloaded(self) -> Path:
        """Where a client writes what it fetches."""
        return self.folder / "downloaded"

    @property
    def files(self) -> dict[str, Path]:
        """The file that a workload reads or writes."""
        return {"upload": self.folder / "root" / "large", "download": self.downloaded}
